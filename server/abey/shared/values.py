"""Dataclasses whose values are made and copied fast: an event makes hundreds of them, and a record some copies."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

V = TypeVar("V")


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


def copier(kind: type[V], *members: str) -> Callable[..., V]:
    """What copies a value of this class with these members changed: (value, the new ones in this order) -> the copy. It
    is made once for a place that copies often: to find one by its names costs `replace` as much as the copy. Raises
    TypeError for a member that there is not."""
    return _compiled(kind, members, members, {name: name for name in members})


class _Copiers(dict[tuple[Any, ...], Callable[..., Any]]):
    """By a class and the names of the members that change: (value, the new members by name) -> the copy."""

    def __missing__(self, key: tuple[Any, ...]) -> Callable[..., Any]:
        kind, *names = key
        copy = self[key] = _compiled(kind, names, ["_changes"], {name: f"_changes[{name!r}]" for name in names})
        return copy


_copiers = _Copiers()


def _compiled(
    kind: type[V], changed: Sequence[str], parameters: Sequence[str], given: Mapping[str, str]
) -> Callable[..., V]:
    """A function that copies by plain assignments: of a value, and of what its parameters give for what changes."""
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # a dataclass is no type
    if unknown := set(changed) - set(names):
        raise TypeError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    sets = [f"    _new.{name} = {given.get(name, f'_old.{name}')}" for name in names]
    lines = [f"def copy({', '.join(['_old', *parameters])}):", "    _new = _made(_kind)", *sets, "    return _new"]
    known: dict[str, Any] = {"_kind": kind, "_made": object.__new__}
    exec("\n".join(lines), known)
    copy: Callable[..., V] = known["copy"]
    return copy
