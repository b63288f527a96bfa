"""What only grows is never copied: rows, names and tables beside what they stand for."""

from hypothesis import given
from hypothesis import strategies as st

from abey.core.rows import Fold, Names, Row, Table, folded

BEHIND: Fold[int, tuple[int, ...]] = Fold((), lambda before, value: (*before, value))


class Counted:
    """A fold that knows how often it was asked for a step."""

    def __init__(self) -> None:
        self.steps = 0
        self.fold: Fold[int, int] = Fold(0, self._step)

    def _step(self, before: int, value: int) -> int:
        self.steps += 1
        return before + value


def grown(length: int) -> Row[int]:
    row: Row[int] = Row()
    for value in range(length):
        row = row.with_next(value)
    return row


@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from(["next", "last", "then", "first"]), st.integers(0, 3))))
def test_a_row_is_the_sequence_that_it_stands_for_whatever_has_grown_from_it(
    moves: list[tuple[int, str, int]],
) -> None:
    rows, told = [Row[int]()], [tuple[int, ...]()]
    for at, move, value in moves:
        row, was = rows[at % len(rows)], told[at % len(rows)]
        if move == "next":
            rows.append(row.with_next(value))
            told.append((*was, value))
        elif move == "last" and row.tail:
            rows.append(row.with_last(value))
            told.append((*was[:-1], value))
        elif move == "then":
            settled = was[: len(was) - len(row.tail)]
            rows.append(row.then((value, value), (value,)))
            told.append((*settled, value, value, value))
        elif move == "first":
            rows.append(row.first(value))
            told.append(was[:value])
        assert rows == told
        assert [row.folded(BEHIND) for row in rows] == told
    for row, was in zip(rows, told, strict=True):
        assert (len(row), row.last, tuple(row), tuple(reversed(row))) == (
            len(was),
            was[-1] if was else None,
            was,
            was[::-1],
        )
        assert ([row[at] for at in range(-len(was), len(was))], row[1:3]) == ([*was, *was], was[1:3])


@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from("abc"))))
def test_names_are_the_set_that_they_stand_for_whatever_has_grown_from_it(moves: list[tuple[int, str]]) -> None:
    names, told = [Names()], [set[str]()]
    for at, name in moves:
        names.append(names[at % len(names)].with_name(name))
        told.append(told[at % len(told)] | {name})
        assert [({one for one in "abcd" if one in known}, len(known)) for known in names] == [
            (was, len(was)) for was in told
        ]


@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from("abc"), st.integers(0, 3))))
def test_a_table_is_the_mapping_that_it_stands_for_whatever_has_grown_from_it(
    moves: list[tuple[int, str, int]],
) -> None:
    tables, told = [Table[int]({"a": 7})], [{"a": 7}]
    for at, name, value in moves:
        tables.append(tables[at % len(tables)].set(name, value))
        told.append({**told[at % len(told)], name: value})
        assert tables == told
        assert [[table.get(name) for name in "abcd"] for table in tables] == [
            [was.get(name) for name in "abcd"] for was in told
        ]


def test_what_a_fold_has_seen_it_does_not_see_again() -> None:
    row, counted = grown(100), Counted()
    seen = [counted.steps for _ in range(2) if row.folded(counted.fold) == sum(range(100))]
    more = row.with_next(100)
    assert (seen, more.folded(counted.fold), counted.steps) == ([100, 101], sum(range(101)), 103)


def test_rows_that_begin_empty_share_nothing() -> None:
    first, second = grown(3), grown(3)
    assert (first.with_next(7), second.with_next(8), Row()) == ((0, 1, 2, 7), (0, 1, 2, 8), ())


def test_any_sequence_can_be_folded() -> None:
    assert (folded(BEHIND, [1, 2]), folded(BEHIND, Row.of([1, 2])), folded(BEHIND, ())) == ((1, 2), (1, 2), ())
