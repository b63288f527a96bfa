"""Lists: a session that is not in memory is shown as if it were, whatever had happened to it."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.harness.stories import AGENT, Story
from support.listed import Listed
from support.shell import CLIENT, outcome, versioned
from support.world import agent, answer, text_parts

from abey.core import events as e
from abey.core.session import open_calls
from abey.errors import UnknownToken
from abey.runtime.index.words import query_of, session_texts, words_of


async def told(listed: Listed) -> dict[str, Any]:
    """All that the lists say."""
    filters: list[dict[str, Any]] = [
        {},
        {"archived": True},
        {"query": "done"},
        {"query": "missing"},
        {"query": "hello xxx"},
        {"query": "é"},
        {"under": ["/"]},
        {"under": ["/w"], "state": "partialUserTurn"},
        {"attention": "approval"},
        {"attention": "uncertain"},
        {"agent": "b"},
        {"limit": 3, "cursor": "2"},
    ]
    lists = {str(one): await listed.shown(**one) for one in filters}
    return lists | {"pending": await listed.waiting(), "external": await listed.waiting(kinds=["external"])}


def stories(state: Path, count: int, steps: int, fat: float = 0) -> None:
    """Sessions that were left at any point of anything."""
    store = Listed(state, []).store
    store.save_config(AGENT.config_hash, {})
    for number in range(count):
        story = Story(f"s{number:02d}", Random(f"{number} of {steps}"), fat=fat)
        story.create(store)
        for _ in range(steps * number // count):
            story.go_on()
        story.close()


def reading(state: Path) -> Listed:
    listed = Listed(state, [])
    listed.source.known[""] = AGENT  # what the stories' records name
    return listed


async def test_what_is_told_of_sessions_on_disk_is_what_is_told_of_them_in_memory(tmp_path: Path) -> None:
    stories(tmp_path, count=24, steps=40)
    cold = reading(tmp_path)
    unloaded = await told(cold)
    assert cold.sessions.entries == {}
    await cold.close()
    warm = reading(tmp_path)
    again = await told(warm)
    assert warm.sessions.entries == {}
    assert (unloaded, again) == (again, await told(await reading(tmp_path).load_all()))
    assert len(unloaded["{}"]["items"]) == 24
    assert len(unloaded["pending"]["items"]) > 5


async def test_sessions_in_memory_and_on_disk_stand_in_one_list(tmp_path: Path) -> None:
    stories(tmp_path, count=12, steps=40)
    whole = await told(await reading(tmp_path).load_all())
    mixed = reading(tmp_path)
    for session_id in ("s03", "s04", "s11"):
        await mixed.sessions.get(session_id)
    assert await told(mixed) == whole
    assert sorted(mixed.sessions.entries) == ["s03", "s04", "s11"]


async def test_what_was_written_behind_is_what_is_read_from_the_journals(tmp_path: Path) -> None:
    replies = [answer(("c1", "run", '{"x": "größe"}'), ("c2", "ask", "{}"), text="Élan"), answer(text="warm in Paris")]
    first = Listed(tmp_path, replies)
    live = (await first.start()).live
    for _ in range(2):
        await outcome(await first.drive(live))
        assert await first.ids(query="hello nothing") == []
    await first.close()

    async def seen(listed: Listed) -> list[Any]:
        queries = ["grosse", "elan", "hel", "nothing", "ran hello", "t"]
        return [await listed.shown(), *[await listed.ids(query=query) for query in queries], await listed.waiting()]

    behind = Listed(tmp_path, [])
    found = await seen(behind)
    assert found[1:-1] == [["s1"], ["s1"], ["s1"], [], ["s1"], ["s1"]]
    assert behind.sessions.entries == {}
    (tmp_path / "index.sqlite").unlink()
    assert await seen(Listed(tmp_path, [])) == found


async def test_work_that_was_in_flight_is_shown_as_after_a_restart(tmp_path: Path) -> None:
    first = Listed(tmp_path, [answer(("c1", "run", "{}"))])
    first.tools.instant = False
    live = (await first.start()).live
    await outcome(await first.drive(live))
    await first.drive(live)
    await first.until(lambda: first.tools.running)
    (running,) = (await first.shown())["items"]
    assert (running["activity"], running["pending"]) == ("tools", [])
    await first.index.close()

    second = Listed(tmp_path, [])
    (shown,) = (await second.shown())["items"]
    assert second.sessions.entries == {}
    assert (shown["activity"], [call["kind"] for call in shown["pending"]]) == ("idle", ["uncertain"])
    assert [await second.shown()] == [await (await Listed(tmp_path, []).load_all()).shown()]
    await first.scheduler.close()


async def test_a_call_that_expires_meanwhile_is_not_waited_for(tmp_path: Path) -> None:
    first = Listed(tmp_path, [answer(("c1", "soon", "{}"), ("c2", "ask", "{}"))])
    live = (await first.start()).live
    await outcome(await first.drive(live))
    await outcome(await first.drive(live))
    assert len((await first.waiting())["items"]) == 2
    await first.close()

    later = Listed(tmp_path, [])
    assert len((await later.waiting())["items"]) == 2
    later.clock.advance(60)
    assert [call["callId"] for call in (await later.waiting())["items"]] == ["c2"]
    loaded = Listed(tmp_path, [])
    loaded.clock.advance(60)
    await loaded.load_all()
    assert await later.shown() == await loaded.shown()
    assert later.sessions.entries == {}


async def test_the_agent_is_told_as_it_is_now(tmp_path: Path) -> None:
    first = Listed(tmp_path, [answer(("c1", "ask", "{}"))])
    live = (await first.start()).live
    await outcome(await first.drive(live))
    await outcome(await first.drive(live))
    await first.close()
    states: list[Any] = []
    for change in ("same", "saved", "gone", "lost"):
        pair = []
        for listed in (Listed(tmp_path, []), Listed(tmp_path, [])):
            if change == "saved":
                listed.source.save(versioned(agent(tools=())))
            elif change in ("gone", "lost"):
                listed.source.only = None
            if change == "lost":
                shutil.rmtree(tmp_path / "configs", ignore_errors=True)
                listed.source.known.clear()
            pair.append(listed)
        outside = await pair[0].shown(), await pair[0].waiting()
        await pair[1].load_all()
        assert outside == (await pair[1].shown(), await pair[1].waiting())
        (shown,) = outside[0]["items"]
        states.append((shown["configState"], "argumentsSchema" in shown["pending"][0], len(outside[0]["damaged"])))
    assert states == [("ok", True, 0), ("ok", False, 0), ("stale", True, 0), ("stale", False, 1)]


async def test_damaged_sessions_are_listed_with_the_others(tmp_path: Path) -> None:
    stories(tmp_path, count=6, steps=40)
    journal = tmp_path / "sessions/s03/journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:4], b"x" + lines[4], *lines[5:]]))
    (tmp_path / "sessions/nothing").mkdir()
    outside = await told(reading(tmp_path))
    assert outside == await told(await reading(tmp_path).load_all())
    assert [one["sessionId"] for one in outside["{}"]["damaged"]] == ["nothing", "s03"]
    assert "s03" in [one["sessionId"] for one in outside["{}"]["items"]]


async def test_contents_that_are_missing_are_shown_so_until_they_are_back(tmp_path: Path) -> None:
    stories(tmp_path, count=6, steps=40, fat=0.5)
    whole = await told(reading(tmp_path))
    (tmp_path / "index.sqlite").unlink()
    for blobs in (tmp_path / "sessions").glob("*/blobs"):
        blobs.rename(blobs.with_name("elsewhere"))
    lacking = await told(reading(tmp_path))
    assert lacking == await told(await reading(tmp_path).load_all()) != whole
    for blobs in (tmp_path / "sessions").glob("*/elsewhere"):
        blobs.rename(blobs.with_name("blobs"))
    assert await told(reading(tmp_path)) == whole


async def test_a_journal_that_was_changed_behind_the_index_is_read_again(tmp_path: Path) -> None:
    stories(tmp_path, count=6, steps=40)
    before = reading(tmp_path)
    await told(before)
    await before.close()
    shutil.rmtree(tmp_path / "sessions/s01")
    store = before.store
    longer = Story("s04", Random(7), fat=0)
    longer.take_over(store)
    for _ in range(5):
        longer.go_on()
    longer.close()
    torn = tmp_path / "sessions/s05/journal.jsonl"
    torn.write_bytes(torn.read_bytes()[:-30])
    after = reading(tmp_path)
    found = await told(after)
    assert after.sessions.entries == {}
    assert found == await told(await reading(tmp_path).load_all())
    assert sorted(await after.ids()) == ["s00", "s02", "s03", "s04", "s05"]


async def test_pages_go_through_all_sessions_once_newest_first(tmp_path: Path) -> None:
    stories(tmp_path, count=9, steps=10)
    listed = reading(tmp_path)
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await listed.shown(limit=2, cursor=cursor)
        found += [one["sessionId"] for one in page["items"]]
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert found == [f"s{number:02d}" for number in reversed(range(9))] == await listed.ids()


async def test_what_all_have_used_is_told_on_every_page(tmp_path: Path) -> None:
    stories(tmp_path, count=12, steps=30)
    listed = reading(tmp_path)
    every, page = await listed.shown(), await listed.shown(limit=2)
    used = {name: sum(one["usage"][name] for one in every["items"]) for name in ("inputTokens", "outputTokens")}
    assert every["usage"] == page["usage"] == used
    assert used["inputTokens"] > 0
    await listed.close()


async def test_a_query_finds_the_sessions_in_which_all_its_words_stand(tmp_path: Path) -> None:
    stories(tmp_path, count=16, steps=40)
    listed = reading(tmp_path)
    texts = {
        session_id: words_of(session_texts((await reading(tmp_path).sessions.get(session_id)).machine.session))
        for session_id in listed.store.ids()
    }
    for query in ("done", "hello", "hell", "ell", "HELLO line", "é line done", "y" * 64, "line nothing", "ran"):
        wanted = sorted((one for one, known in texts.items() if query_of(query).fits(known)), reverse=True)
        assert await listed.ids(query=query) == wanted, query


async def test_a_new_title_is_found_and_the_old_one_is_not(tmp_path: Path) -> None:
    listed = Listed(tmp_path, [])
    live = (await listed.start()).live
    await listed.start("s2")
    await listed.scheduler.submit(live, e.Update("Quarterly figures", None, CLIENT))
    assert [await listed.ids(query=query) for query in ("quarterly", "t")] == [["s1"], ["s2"]]
    await listed.scheduler.submit(live, e.Update("Weekly", None, CLIENT))
    assert [await listed.ids(query=query) for query in ("quarterly", "week")] == [[], ["s1"]]
    await listed.close()
    assert await Listed(tmp_path, []).ids(query="weekly") == ["s1"]


async def test_a_session_without_a_title_is_found_by_its_first_input_and_no_more_by_its_agent(tmp_path: Path) -> None:
    listed = Listed(tmp_path, [])
    live = (await listed.start(title="a", prompt=None)).live
    assert [await listed.ids(query=query) for query in ("a", "warm")] == [["s1"], []]
    line = "How " + "warm " * 20
    await listed.scheduler.submit(live, e.Send(e.NewInput(text_parts(line), "i1"), None, CLIENT))
    for one in (listed, Listed(tmp_path, [])):
        shown = (await one.shown())["items"]
        assert [one["title"] for one in shown] == [line[:79] + "…"]
        assert [await one.ids(query=query) for query in ("a", "how warm")] == [[], ["s1"]]
    await listed.close()


async def test_an_input_that_says_the_title_again_has_nothing_read_again(tmp_path: Path) -> None:
    listed = Listed(tmp_path, [])
    live = (await listed.start(title="a", prompt=None)).live
    numbers = []
    for place in range(3):
        new = e.NewInput(text_parts("How warm"), f"i{place}")
        await listed.scheduler.submit(live, e.Send(new, None, CLIENT))
        assert await listed.ids(query="how warm") == ["s1"]
        with closing(sqlite3.connect(listed.file)) as file:
            numbers += file.execute("SELECT no FROM sessions").fetchone()
    await listed.close()
    assert numbers == [numbers[0]] * 3


async def test_every_list_reads_the_files_of_agents_aside(tmp_path: Path) -> None:
    first = Listed(tmp_path, [answer(("c1", "ask", "{}"))])
    live = (await first.start()).live
    await outcome(await first.drive(live))
    await outcome(await first.drive(live))
    await first.start("s2")
    await first.close()
    for load in (False, True):
        listed = Listed(tmp_path, [])
        if load:
            await listed.load_all()
        for look in (listed.shown, listed.waiting):
            listed.source.asked.clear()
            assert await look() != {"items": []}
            asked = listed.source.asked
            assert {asked[place - 1] for place, one in enumerate(asked) if one == "by_file"} == {"prepare"}
        await listed.close()


async def test_sessions_that_are_put_away_are_listed_on_request(tmp_path: Path) -> None:
    listed = Listed(tmp_path, [])
    live = (await listed.start()).live
    await listed.start("s2")
    await listed.scheduler.submit(live, e.Update(None, True, CLIENT))
    for one in (listed, Listed(tmp_path, [])):
        assert [await one.ids(), sorted(await one.ids(archived=True))] == [["s2"], ["s1", "s2"]]


async def test_a_token_of_a_session_on_disk_is_known_by_its_beginning_and_for_ever(tmp_path: Path) -> None:
    first = Listed(tmp_path, [answer(("c1", "ask", "{}"))])
    live = (await first.start()).live
    await outcome(await first.drive(live))
    await outcome(await first.drive(live))
    await first.start("s2")
    (call,) = open_calls(live.machine.session)
    assert call.verdict is not None
    token = call.verdict.token
    await first.close()
    for _ in ("index", "no index"):
        second = Listed(tmp_path, [answer(text="ok")])
        found, whole = await second.sessions.of_token(token[:10])
        assert (found.id, whole) == ("s1", token)
        assert list(second.sessions.entries) == ["s1"]
        for wrong in (token[:7], "f" * 32, "\ud83d" * 9):
            with pytest.raises(UnknownToken):
                await second.sessions.of_token(wrong)
        await second.close()
        second.file.unlink()
