"""What work costs, as a number that no other work on the machine changes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def calls_counted() -> Iterator[Callable[[], int]]:
    """How many functions this thread has called so far, and generators gone on with; what it has others do is not
    counted."""
    made = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        yield lambda: made
    finally:
        sys.setprofile(None)


def calls_made(work: Callable[[], object]) -> int:
    """How many calls it takes until `work` returns."""
    with calls_counted() as count:
        work()
        return count()


def grows(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times more it costs to do four times as much: about 4 where each piece costs the same. `work` prepares
    what is then done."""
    return calls_made(work(4 * size)) / calls_made(work(size))
