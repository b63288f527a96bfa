"""Dataclasses whose values are made and copied fast: an event makes hundreds of them, and a record some copies."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any


class Referable:
    """The base of values that can be referred to weakly, and are copied as fast as the others."""

    __slots__ = ("__weakref__",)


if TYPE_CHECKING:
    # so that the members are checked, and that nothing sets one
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def dataclass(*, frozen: bool = False, eq: bool = True, **asked: Any) -> Any:
        """That of the standard library. A frozen class is the same but for the guard of its members, for which each
        would be set by a call: that nothing sets them is checked before it runs."""
        return dataclasses.dataclass(eq=eq, unsafe_hash=frozen and eq, **asked)

    def replace(value: Any, /, **changes: Any) -> Any:
        """The same value with other members. Its class is a dataclass with slots that keeps all that its `__init__` is
        given. Raises TypeError for a member that there is not."""
        return _copiers[value.__class__, *changes](value, changes)


class _Copiers(dict[tuple[Any, ...], Callable[..., Any]]):
    """By a class and the names of the members that change: (value, the new members by name) -> the copy."""

    def __missing__(self, key: tuple[Any, ...]) -> Callable[..., Any]:
        copy = self[key] = _copier(*key)
        return copy


_copiers = _Copiers()


def _copier(kind: Any, *changed: str) -> Callable[..., Any]:
    """What copies a value of a class with these members changed, by plain assignments."""
    names = [field.name for field in dataclasses.fields(kind)]
    if unknown := set(changed) - set(names):
        raise TypeError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    sets = [f"    new.{name} = " + (f"changes[{name!r}]" if name in changed else f"old.{name}") for name in names]
    lines = ["def copy(old, changes):", "    new = made(kind)", *sets, "    return new"]
    known: dict[str, Any] = {"kind": kind, "made": object.__new__}
    exec("\n".join(lines), known)
    copy: Callable[..., Any] = known["copy"]
    return copy
