"""Pages of a transcript: those of the whole list of items, built of no more items than are shown."""

from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.long_sessions import AT, Long, units

from abey.core import views
from abey.core.machine import Machine
from abey.core.replay import apply
from abey.core.session import Session
from abey.core.views import items
from abey.daemon.reading import Reading
from abey.daemon.services import Services
from abey.errors import InvalidArguments
from abey.protocol.journal import ModelRequested, Record
from abey.protocol.queries import TranscriptParams
from abey.rpc.peer import Peer


def session(turns: int) -> Session:
    """Each step of it has an id of its own."""
    revisions, step = count(1), 0
    found: Session | None = None
    for unit in units("s1", Long(turns)):
        for data in unit:
            step += isinstance(data, ModelRequested)
            own = {"step_id": f"s{step}"} if "step_id" in type(data).model_fields else {}
            found = apply(found, Record(next(revisions), AT, data.model_copy(update=own)))
    assert found is not None
    return found


SESSION = session(12)
ALL = [item.item_id for item in items(SESSION)]
NOBODY = cast(Peer, None)


async def page(of: Session, **params: Any) -> tuple[list[str], bool]:
    async def look(_: str) -> tuple[Machine, None]:
        return Machine(of), None

    services = SimpleNamespace(sessions=SimpleNamespace(look=look), now=lambda machine: machine)
    reading = Reading(cast(Services, services), cast(Any, None), cast(Any, None))
    found = await reading.transcript(NOBODY, TranscriptParams(session_id="s1", **params))
    return [item.item_id for item in found.items], found.has_more


@given(st.none() | st.sampled_from(ALL), st.none() | st.sampled_from(ALL), st.integers(1, 200))
async def test_a_page_is_the_part_of_the_transcript_that_was_asked_for(
    before: str | None, after: str | None, limit: int
) -> None:
    between = ALL[0 if after is None else ALL.index(after) + 1 : None if before is None else ALL.index(before)]
    expected = between[:limit] if after is not None else between[-limit:]
    assert await page(SESSION, before=before, after=after, limit=limit) == (expected, len(expected) < len(between))


@pytest.mark.parametrize("place", [{"before": "x.0"}, {"after": "x.0"}, {"after": ""}, {"before": ""}])
async def test_an_item_that_is_not_there_is_refused(place: dict[str, str]) -> None:
    with pytest.raises(InvalidArguments, match="the transcript has no item"):
        await page(SESSION, **place)


async def test_the_newest_page_builds_no_more_items_of_a_longer_session(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    build = views._item

    def building(*given: Any, **more: Any) -> Any:
        built.append("item")
        return build(*given, **more)

    monkeypatch.setattr(views, "_item", building)
    counts = []
    for turns in (12, 120):
        long = session(turns)
        built.clear()
        await page(long, limit=20)
        counts.append(len(built))
    assert counts[0] == counts[1] <= 20 + 1 + len(ALL) // 12
