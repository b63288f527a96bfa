"""A function of values that never change, computed once for each (abey.core.once)."""

from dataclasses import dataclass

from abey.core.once import once


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Value:
    text: str


def test_it_is_computed_once_for_each_value_and_for_an_equal_one_again() -> None:
    asked: list[Value] = []

    @once
    def length(value: Value) -> int:
        asked.append(value)
        return len(value.text)

    first, equal = Value("abc"), Value("abc")
    assert [length(one) for one in (first, first, equal, first, Value("x"))] == [3, 3, 3, 3, 1]
    assert [id(one) for one in asked[:2]] == [id(first), id(equal)]
    assert asked == [first, equal, Value("x")]


def test_what_is_gone_is_forgotten_though_another_value_takes_its_place() -> None:
    @once
    def text(value: Value) -> str:
        return value.text

    assert [text(Value(str(number))) for number in range(1000)] == [str(number) for number in range(1000)]
