"""What a measurement gives: numbers by name, such as `cpu.inside.400`."""

from collections.abc import Callable
from pathlib import Path

from bench.sizes import Size

Figures = dict[str, float]
Measure = Callable[[Size, Path], Figures]
"""Measures once, in an empty folder on the disk that counts."""
