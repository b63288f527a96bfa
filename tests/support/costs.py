"""What work costs, as a number that no other work on the machine changes."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_made(work: Callable[[], object]) -> int:
    """How many functions are called, and generators gone on with, until `work` returns."""
    made = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made


def grows(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times more it costs to do four times as much: about 4 where each piece costs the same. `work` prepares
    what is then done."""
    return calls_made(work(4 * size)) / calls_made(work(size))
