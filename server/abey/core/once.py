"""A function of values that never change, computed once for each of them: nobody sees that but the clock."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

V = TypeVar("V")
R = TypeVar("R")


def once(function: Callable[[V], R]) -> Callable[[V], R]:
    """The same function. What it gave for a value is kept as long as that value lives, which can be referred to weakly:
    for this very one and not for its equals, since to find that two are equal costs as much as both are long."""
    given: dict[int, tuple[weakref.ref[Any], R]] = {}

    @wraps(function)
    def of(value: V) -> R:
        key = id(value)
        known = given.get(key)
        if known is not None and known[0]() is value:
            return known[1]
        result = function(value)
        given[key] = weakref.ref(value, lambda _: given.pop(key, None)), result
        return result

    return of
