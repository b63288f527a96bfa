"""Rows of the table of figures: what was measured, what came out, how much was tried, and how long it took."""

import time
from dataclasses import dataclass, field
from random import Random


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    figure: str
    size: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.what} | {self.figure} | {self.size} | {self.seconds:.1f}"


@dataclass(slots=True)
class Figures:
    """`seed` makes every random choice of a run; `large` asks for the sizes that take long."""

    seed: int
    large: bool
    rows: list[Row] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """The clock of the next row starts."""
        self._began = time.monotonic()

    def size(self, normal: int, large: int) -> int:
        return large if self.large else normal

    def chance(self, what: str) -> Random:
        """The random choices of one test: the same for the same seed."""
        return Random(f"{self.seed}:{what}")

    def note(self, what: str, figure: object, size: str) -> None:
        """Adds a row with the seconds since `begin`."""
        self.rows.append(Row(what, str(figure), size, time.monotonic() - self._began))
        print(f"\n{self.rows[-1]}", flush=True)
