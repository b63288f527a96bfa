"""The tables: what is kept, replaced, dropped and found, and how large it is."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from support.harness.stories import Story

from abey.core.replay import fold
from abey.core.session import Session
from abey.core.waiting import issued_tokens
from abey.runtime.index.database import UNKNOWN, Change, Database
from abey.runtime.index.file import IndexFailed
from abey.runtime.index.rows import folder_of, plain, row_of
from abey.runtime.index.schema import Filter
from abey.runtime.index.words import Query, query_of
from abey.runtime.store.io import FileIO
from abey.runtime.store.store import Store

NOW = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "index.sqlite", FileIO("process"))


def session(folder: Path, name: str, steps: int) -> Session:
    story = Story(name, Random(name), fat=0)
    story.create(Store(folder, FileIO("process")))
    for _ in range(steps):
        story.go_on()
    found = fold(story.acknowledged)
    assert found is not None
    return found


def test_a_row_is_right_while_stamp_and_time_are(tmp_path: Path, database: Database) -> None:
    one, two = session(tmp_path, "one", 5), session(tmp_path, "two", 5)
    database.put([Change(one, "1-1-1"), Change(two, UNKNOWN)], NOW)
    stamps = {"one": "1-1-1", "two": UNKNOWN, "three": "3-3-3"}
    assert database.differing(stamps, NOW) == ("two", "three")
    assert database.differing({**stamps, "one": "1-2-1"}, NOW) == ("one", "two", "three")
    assert database.rows(["one", "two", "four"]) == {
        "one": row_of(one, "1-1-1", NOW),
        "two": row_of(two, UNKNOWN, NOW),
    }
    assert database.differing({}, NOW) == ()
    assert database.rows(["one"]) == {}


def test_a_session_that_is_put_again_is_found_by_what_it_says_now(tmp_path: Path, database: Database) -> None:
    one = session(tmp_path, "one", 5)
    database.put([Change(one, "1-1-1")], NOW)
    assert database.matching(query_of("hello")) == {"one"}
    other = session(tmp_path / "other", "one", 0)
    database.put([Change(other, "1-1-1")], NOW)
    assert database.matching(query_of("hello done")) == frozenset()
    assert database.matching(query_of("hel")) == {"one"}


def test_records_are_added_only_to_the_revision_that_they_follow(tmp_path: Path, database: Database) -> None:
    story = Story("one", Random(1), fat=0)
    story.create(Store(tmp_path, FileIO("process")))
    first = fold(story.acknowledged)
    assert first is not None
    database.put([Change(first, "1")], NOW)
    for _ in range(40):
        story.go_on()
    whole = fold(story.acknowledged)
    assert whole is not None
    database.put([Change(whole, "2", first.revision, story.acknowledged[first.revision :])], NOW)
    added = {word: database.matching(query_of(word)) for word in ("done", "line", "ran", "nothing")}
    tokens = database.tokens("")
    database.put([Change(whole, "2", first.revision, ())], NOW)
    assert {word: database.matching(query_of(word)) for word in added} == added
    assert database.tokens("") == tokens
    assert added["done"] == {"one"}


def test_every_token_is_found_by_its_beginning(tmp_path: Path, database: Database) -> None:
    sessions = [session(tmp_path, name, 60) for name in ("one", "two")]
    database.put([Change(one, one.id) for one in sessions], NOW)
    tokens = {token: one.id for one in sessions for token in issued_tokens(one)}
    assert len(tokens) > 8
    assert all(database.tokens(token[:12]) == {token: owner} for token, owner in tokens.items())
    assert database.tokens("zz") == {}


def test_any_text_can_be_kept_and_compared(tmp_path: Path, database: Database) -> None:
    one = session(tmp_path, "one", 1)
    odd = one.created.model_copy(update={"agent": "\ud83d 😀'\"\\", "cwd": "/a%_\udc80/b//c/."})
    database.put([Change(replace(one, created=odd), "1")], NOW)

    def under(folder: str) -> bool:
        return bool(database.select(Filter(folders=(folder_of(folder),))))

    folders = ("/a%_\udc80/b/c", "/a%_\udc80", "/", "/a%_\udc80/b/", "/a%", "/a__\udc80", "a", "")
    assert [folder for folder in folders if under(folder)] == list(folders[:4])
    assert [bool(database.select(Filter(agent=plain(agent)))) for agent in ("\ud83d 😀'\"\\", "?")] == [True, False]
    assert database.select(Filter(folders=())) == ()


def test_a_closed_index_is_asked_nothing_more(database: Database) -> None:
    database.close()
    database.close()
    with pytest.raises(IndexFailed):
        database.matching(Query((), "x"))
