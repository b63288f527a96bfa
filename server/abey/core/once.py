"""A function of values that never change, computed once for each of them: nobody sees that but the clock."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

V = TypeVar("V")
R = TypeVar("R")


class _Given(weakref.ref[Any]):
    """What was given for a value; thousands of them are kept, so that it is one object and no more."""

    __slots__ = ("key", "result")
    key: int
    result: Any


def once(function: Callable[[V], R]) -> Callable[[V], R]:
    """The same function. What it gave for a value is kept as long as that value lives, which can be referred to weakly:
    for this very one and not for its equals, since to find that two are equal costs as much as both are long."""
    given: dict[int, _Given] = {}

    def forget(one: _Given) -> None:
        given.pop(one.key, None)

    @wraps(function)
    def of(value: V) -> R:
        known = given.get(id(value))
        if known is None or known() is not value:
            result = function(value)
            known = _Given(value, forget)
            known.key, known.result = id(value), result
            given[known.key] = known
        found: R = known.result
        return found

    return of
