"""Sequences, sets and tables that only grow: what one grew from is shared with it, never copied, and folded once.

Laws
- A value of these never changes, whatever grows from it; a row equals every tuple of the same values.
- What two of them have in common they share, as long as one grew from the other; what is empty shares nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Generic, TypeVar, overload

from pydantic_core.core_schema import CoreSchema, is_instance_schema

from abey.shared.values import dataclass

V = TypeVar("V")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class Fold(Generic[V, R]):
    """What is made of a sequence, one value after the other. `step` changes nothing of what it is given."""

    start: R
    step: Callable[[R, V], R]


class _Beginning(Generic[V]):
    """The values that rows share, and of each fold over them how far it is and what it has come to. It only grows."""

    __slots__ = ("folds", "values")

    def __init__(self, values: list[V]) -> None:
        self.values = values
        self.folds: dict[Fold[V, Any], tuple[int, Any]] = {}

    def with_at(self, place: int, value: V) -> "_Beginning[V]":
        """One that has `value` at `place`, and the same before it: this one, unless another row has grown here."""
        if place == 0:
            return _Beginning([value])
        if place == len(self.values):
            self.values.append(value)
        return self if self.values[place] is value else _Beginning([*self.values[:place], value])

    def folded(self, fold: Fold[V, R], length: int) -> R:
        done, known = self.folds.get(fold, (0, fold.start))
        if done > length:
            done, known = 0, fold.start
        result: R = known
        for value in self.values[done:length]:
            result = fold.step(result, value)
        self.folds[fold] = (length, result)
        return result


class Row(Sequence[V]):
    """A beginning that it may share with others, and its tail: a few values that may yet be exchanged."""

    __slots__ = ("_beginning", "_length", "last", "tail")

    def __init__(self, values: Iterable[V] = (), tail: tuple[V, ...] = ()) -> None:
        beginning = _Beginning(list(values))
        self._grow(beginning, len(beginning.values), tail)

    def _grow(self, beginning: _Beginning[V], length: int, tail: tuple[V, ...]) -> None:
        self._beginning, self._length, self.tail = beginning, length, tail
        self.last: V | None = tail[-1] if tail else beginning.values[length - 1] if length else None

    @classmethod
    def of(cls, values: Sequence[V]) -> "Row[V]":
        """With the last one as its tail."""
        return cls(values[:-1], tuple(values[-1:]))

    def then(self, settled: Iterable[V], tail: tuple[V, ...]) -> "Row[V]":
        """Its beginning, more that is settled now, and another tail."""
        beginning, length = self._beginning, self._length
        for value in settled:
            beginning = beginning.with_at(length, value)
            length += 1
        row: Row[V] = Row.__new__(Row)
        row._grow(beginning, length, tail)
        return row

    def with_next(self, value: V) -> "Row[V]":
        """With one more, which is the tail."""
        return self.then(self.tail, (value,))

    def with_last(self, value: V) -> "Row[V]":
        """With another one in the place of the last, which is in the tail."""
        row: Row[V] = Row.__new__(Row)
        row._beginning, row._length, row.tail = self._beginning, self._length, (*self.tail[:-1], value)
        row.last = value
        return row

    def first(self, count: int) -> "Row[V]":
        """So many of them. It shares nothing: two that go on from one place fold what is theirs."""
        return self if count >= len(self) else Row.of(self[:count])

    def begun(self, fold: Fold[V, R]) -> R:
        """What the fold makes of all but the tail."""
        return self._beginning.folded(fold, self._length)

    def folded(self, fold: Fold[V, R]) -> R:
        result = self._beginning.folded(fold, self._length)
        for value in self.tail:
            result = fold.step(result, value)
        return result

    def __len__(self) -> int:
        return self._length + len(self.tail)

    @overload
    def __getitem__(self, place: int) -> V: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[V, ...]: ...
    def __getitem__(self, place: int | slice) -> V | tuple[V, ...]:
        if isinstance(place, slice):
            return tuple(self)[place]
        at = place if place >= 0 else place + len(self)
        if not 0 <= at < len(self):
            raise IndexError(f"a row of {len(self)} has nothing at {place}")
        return self._beginning.values[at] if at < self._length else self.tail[at - self._length]

    def __iter__(self) -> Iterator[V]:
        return chain(islice(self._beginning.values, self._length), self.tail)

    def __reversed__(self) -> Iterator[V]:
        yield from reversed(self.tail)
        values = self._beginning.values
        for place in range(self._length - 1, -1, -1):
            yield values[place]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Row) and other._beginning is self._beginning and other._length == self._length:
            return bool(other.tail == self.tail)
        if not isinstance(other, Row | tuple):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> CoreSchema:
        """Of a member that is never read from outside."""
        return is_instance_schema(cls)


class Names:
    """A set of names that shares what it grew from."""

    __slots__ = ("_count", "_places")

    def __init__(self, places: dict[str, int] | None = None, count: int = 0) -> None:
        """`places` numbers names in the order in which they came: the first `count` are in the set."""
        self._places = {} if places is None else places
        self._count = count

    def __contains__(self, name: str) -> bool:
        return self._places.get(name, self._count) < self._count

    def __len__(self) -> int:
        return self._count

    def with_name(self, name: str) -> "Names":
        places, count = self._places, self._count
        place = places.get(name)
        if place is not None and place < count:
            return self
        if place != count:
            if len(places) > count or not count:  # another set has grown here, or may
                places = dict(islice(places.items(), count))
            places[name] = count
        return Names(places, count + 1)


class _Told(Generic[V]):
    """What tables share: of each name what it was set to and in which table, oldest first. They are numbered."""

    __slots__ = ("last", "values")

    def __init__(self, values: dict[str, tuple[tuple[int, V], ...]]) -> None:
        self.values = values
        self.last = 0


class Table(Mapping[str, V]):
    """Values by name. A name may be set again, and is never taken out."""

    __slots__ = ("_number", "_told")

    def __init__(self, values: Mapping[str, V]) -> None:
        self._told = _Told({name: ((0, value),) for name, value in values.items()})
        self._number = 0

    def set(self, name: str, value: V) -> "Table[V]":
        told = self._told if self._number == self._told.last else Table(dict(self))._told
        told.last += 1
        told.values[name] = (*told.values.get(name, ()), (told.last, value))
        table: Table[V] = Table.__new__(Table)
        table._told, table._number = told, told.last
        return table

    def __getitem__(self, name: str) -> V:
        for number, value in reversed(self._told.values[name]):
            if number <= self._number:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, values in [*self._told.values.items()] if values[0][0] <= self._number)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))


def folded(fold: Fold[V, R], values: Sequence[V]) -> R:
    """What the fold makes of them. What rows share is gone through once."""
    if isinstance(values, Row):
        return values.folded(fold)
    result = fold.start
    for value in values:
        result = fold.step(result, value)
    return result
