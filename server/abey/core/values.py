"""`replace` of dataclasses, faster: the fold makes some copies for every record of a journal."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any


class Referable:
    """The base of values that can be referred to weakly, and are copied as fast as the others."""

    __slots__ = ("__weakref__",)


_copiers: dict[tuple[Any, ...], Callable[..., Any]] = {}
"""By a class and the names of the members that change: (value, one new member after the other) -> the copy."""

if TYPE_CHECKING:
    # so that the members are checked
    from dataclasses import replace as replace
else:

    def replace(value: Any, /, **changes: Any) -> Any:
        """The same value with other members. Its class is a dataclass with slots that keeps all that its `__init__` is
        given. Raises TypeError for a member that there is not."""
        key = (value.__class__, *changes)
        copy = _copiers.get(key)
        if copy is None:
            copy = _copiers[key] = _copier(*key)
        return copy(value, *changes.values())


def _copier(kind: Any, *changed: str) -> Callable[..., Any]:
    """What copies a value of a class with these members changed.

    A frozen class sets each member with a call. Its copies are made as values of a class of the same shape that is not
    frozen, by plain assignments, and become values of its own when they are complete.
    """
    names = [field.name for field in fields(kind)]
    if unknown := set(changed) - set(names):
        raise TypeError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    # numbered: a member may have any name
    given = {name: f"given{place}" for place, name in enumerate(changed)}
    sets = [f"    new.{name} = {given.get(name, f'old.{name}')}" for name in names]
    lines = [f"def copy({', '.join(('old', *given.values()))}):", "    new = thawed()", *sets]
    made: dict[str, Any] = {"kind": kind, "thawed": _thawed(kind)}
    exec("\n".join([*lines, "    new.__class__ = kind", "    return new"]), made)
    copy: Callable[..., Any] = made["copy"]
    return copy


@cache
def _thawed(kind: Any) -> Any:
    """The same class, but that its members can be set."""
    return type(kind.__name__, kind.__bases__, {"__slots__": kind.__slots__})
