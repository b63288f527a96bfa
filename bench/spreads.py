"""Figures of several tries, as one value and how far they lie apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some values, and the least and the largest of them."""

    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value."""
    return Spread(median(values), min(values), max(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that so large a share of them does not exceed; of at least one value."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
