"""A portable value is judged whole before anything is made of it (machine.md, Seeds)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from abey.core.portable import entries_of
from abey.errors import InvalidSeed
from abey.protocol.base import Json
from abey.protocol.seeds import Seed

MOST_LEVELS = 100
"""Of arrays and objects in each other: far fewer than a record may have."""
MOST_TOLD = 20
"""Faults that are told of one seed."""

Place = Sequence[int | str]


def seed_of(value: Json) -> Seed:
    """The seed that a JSON value is. Raises InvalidSeed, whose `errors` name the places of what is wrong.

    Whether a provider would take the transcript is not asked.
    """
    unfit = next(_unfit(value), None)
    if unfit is not None:
        raise _refused([unfit])
    try:
        seed = Seed.model_validate(value)
        entries_of(seed.transcript)
    except ValidationError as error:
        under = ("transcript",) if error.title != Seed.__name__ else ()
        raise _refused([_told(under, each) for each in error.errors(include_url=False)]) from None
    return seed


def _refused(faults: Sequence[str]) -> InvalidSeed:
    return InvalidSeed(f"the seed is not valid: {faults[0]}", errors=list(faults[:MOST_TOLD]))


def _unfit(value: Json) -> Iterator[str]:
    """What is no JSON, or too deep to be kept, level by level."""
    level: list[tuple[Place, Any]] = [((), value)]
    for _ in range(MOST_LEVELS + 1):
        for place, one in level:
            if not _is_json(one):
                yield f"{_spelled(place)}: not JSON"
        level = [inner for place, one in level for inner in _contents(place, one)]
        if not level:
            return
    yield f"{_spelled(level[0][0][:6])}…: nested deeper than {MOST_LEVELS} levels"


def _is_json(value: Any) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case dict():
            return all(isinstance(name, str) for name in value)
        case _:
            return value is None or isinstance(value, str | int | list)


def _contents(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    match value:
        case dict():
            yield from (((*place, name), inner) for name, inner in value.items())
        case list():
            yield from (((*place, index), inner) for index, inner in enumerate(value))


def _told(under: Place, error: Mapping[str, Any]) -> str:
    """One fault: its place, and what is wrong there; what stands there is not repeated."""
    place, kind = _place((*under, *error["loc"])), str(error["type"])
    context = error.get("ctx", {})
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        place = (*place, str(context["discriminator"]).strip("'"))
    words = f"one of {context['expected_tags']}" if kind == "union_tag_invalid" else _WORDS.get(kind)
    return f"{_spelled(place)}: {words or error['msg'].removeprefix('Value error, ')}"


_WORDS = {
    "dict_type": "an object is expected",
    "extra_forbidden": "there is no such member",
    "missing": "it is missing",
    "model_attributes_type": "an object is expected",
    "model_type": "an object is expected",
    "tuple_type": "a list is expected",
    "union_tag_not_found": "it is missing",
}


def _place(where: Place) -> Place:
    """`where` without the names of alternatives: each stands behind that of which there are some."""
    place: list[int | str] = []
    before: int | str = ""
    for step in where:
        if isinstance(step, int) or not (isinstance(before, int) or before == "event"):
            place.append(step)
        before = step
    return place


def _spelled(place: Place) -> str:
    """As `transcript[3].candidate.output[0].type`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return text.removeprefix(".") or "the seed"
