"""The table: ratios first, each figure with its target, and what was measured beside it."""

from collections.abc import Iterator, Mapping, Sequence

from bench.spreads import Spread
from bench.targets import ABSOLUTE, RATIOS, TARGETS, Target, shown

_HEAD = ("figure", "median", "least to most", "target", "", "beside it")


def rows(found: Mapping[str, Spread], targets: Sequence[Target] = TARGETS) -> Iterator[tuple[str, ...]]:
    """Those of what was measured."""
    for target in targets:
        if target.figure in found:
            one = found[target.figure]
            unit = f" {target.unit}" if target.unit else ""
            beside = (f"{name} {shown(found[name].median)}" for name in target.beside if name in found)
            yield (
                target.what,
                f"{shown(one.median)}{unit}",
                f"{shown(one.least)} to {shown(one.most)}",
                target.words,
                "met" if target.is_met(one) else "NOT MET",
                ", ".join(beside),
            )


def table(found: Mapping[str, Spread]) -> str:
    """For people, in Markdown."""
    lines = [*rows(found, RATIOS), *rows(found, ABSOLUTE)]
    return markdown(_HEAD, lines)


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table whose columns are as wide as they need to be."""
    widths = [max(len(line[at]) for line in (head, *lines)) for at in range(len(head))]
    shown_lines = [head, ["-" * width for width in widths], *lines]
    return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in shown_lines)
