"""When documents are written: of opened sessions alone, soon after a change, and not once for each."""

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.raw_peer import until
from support.session_pages import call, page, pending, said

from abey.daemon.plain.documents import Documents
from abey.daemon.plain.folder import Folder
from abey.daemon.plain.papers import Papers
from abey.errors import UnknownSession
from abey.language.sessions.names import Name
from abey.language.sessions.page import Page


class Sessions:
    """Pages of sessions as they are now; `reads` counts how often they were looked at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages: dict[str, Page] = {"s1": page(said("go"), call(), waits=(pending(),))}
        self.reads = 0

    async def read(self, session_id: str) -> Page:
        self.reads += 1
        if session_id not in self.pages:
            raise UnknownSession(f"no session {session_id}")
        return self.pages[session_id]


class Desk:
    """What was told."""

    def __init__(self, sessions: Sessions, papers: Papers | None = None) -> None:
        self.gone: list[Sequence[Name]] = []
        self.written: list[str] = []
        pages: Any = sessions
        papers = papers or Papers(Folder(sessions.folder))
        self.documents = Documents(pages, papers, lambda one: one in sessions.pages, 0.02)
        self.documents.on_gone, self.documents.on_written = self.gone.append, self.written.append


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path / "documents")


async def started(sessions: Sessions) -> Desk:
    desk = Desk(sessions)
    desk.documents.start()
    await desk.documents.close()
    return desk


async def test_many_changes_are_written_once(sessions: Sessions) -> None:
    desk = await started(sessions)
    await desk.documents.open("s1")
    for _ in range(100):
        desk.documents.changed("s1")
        await asyncio.sleep(0)
    await desk.documents.close()
    assert (sessions.reads, desk.written, desk.gone) == (2, ["s1", "s1"], [])


async def test_of_a_session_that_nobody_opened_nothing_is_looked_at(sessions: Sessions) -> None:
    desk = await started(sessions)
    desk.documents.changed("s1")
    await desk.documents.settle("s1")
    await desk.documents.close()
    assert (sessions.reads, sessions.folder.exists()) == (0, False)


async def test_a_session_that_was_opened_in_an_earlier_daemon_is_followed(sessions: Sessions) -> None:
    await Desk(sessions).documents.open("s1")
    desk = Desk(sessions)
    desk.documents.start()
    desk.documents.changed("s1")
    sessions.pages["s1"] = page(said("go"), call(state="denied"))
    await until(lambda: desk.gone == [[Name("s1", 1)]])
    assert os.listdir(sessions.folder) == ["s1.abey.md"]


async def test_a_session_that_went_while_no_daemon_ran_leaves_no_documents(sessions: Sessions) -> None:
    await Desk(sessions).documents.open("s1")
    sessions.pages.clear()
    desk = await started(sessions)
    assert (os.listdir(sessions.folder), [set(names) for names in desk.gone]) == ([], [{Name("s1"), Name("s1", 1)}])


async def test_a_session_that_goes_takes_its_documents_along(sessions: Sessions) -> None:
    desk = await started(sessions)
    await desk.documents.open("s1")
    sessions.pages.clear()
    desk.documents.changed("s1")
    await desk.documents.close()
    assert (os.listdir(sessions.folder), [set(names) for names in desk.gone]) == ([], [{Name("s1"), Name("s1", 1)}])


async def test_what_is_in_the_way_stops_nobody(sessions: Sessions, caplog: pytest.LogCaptureFixture) -> None:
    desk = await started(sessions)
    await desk.documents.open("s1")
    for name in os.listdir(sessions.folder):
        (sessions.folder / name).unlink()
    sessions.folder.rmdir()
    sessions.folder.write_text("a file")
    desk.documents.changed("s1")
    await desk.documents.close()
    assert [one.message.partition(":")[0] for one in caplog.records if one.levelname == "WARNING"] == [
        "the documents of session s1 are not written"
    ]


async def test_what_is_in_the_way_of_one_session_stops_no_other(
    sessions: Sessions, caplog: pytest.LogCaptureFixture
) -> None:
    await Desk(sessions).documents.open("s1")
    (sessions.folder / "gone.abey.md").mkdir()
    desk = await started(sessions)
    sessions.pages["s1"] = page(said("go"), call(state="denied"))
    desk.documents.changed("s1")
    await desk.documents.close()
    assert (sorted(os.listdir(sessions.folder)), desk.gone) == (["gone.abey.md", "s1.abey.md"], [[Name("s1", 1)]])
    assert [one.message.partition(":")[0] for one in caplog.records if one.levelname == "WARNING"] == [
        "the documents of session gone are not removed"
    ]


class Watched(Papers):
    """Writes nothing before it may; `most` is how many were at it at once."""

    def __init__(self) -> None:
        super().__init__(Folder(Path("/nowhere")))
        self.may = threading.Event()
        self.written: list[str] = []
        self.most = 0
        self._now: list[str] = []

    def sweep(self) -> None: ...

    def sessions(self) -> frozenset[str]:
        return frozenset()

    def write(self, page: Page, sent: str = "") -> Sequence[Name]:
        self._now.append(sent)
        self.most = max(self.most, len(self._now))
        self.may.wait(10)
        self.written.append(sent)
        self._now.remove(sent)
        return ()


async def test_who_gives_up_waiting_leaves_no_second_writer_behind(sessions: Sessions) -> None:
    papers = Watched()
    desk = Desk(sessions, papers)
    given_up = asyncio.create_task(desk.documents.open("s1", "one"))
    await until(lambda: papers.most == 1)
    given_up.cancel()
    second = asyncio.create_task(desk.documents.open("s1", "two"))
    await until(lambda: given_up.done() and not second.done())
    papers.may.set()
    await second
    assert (papers.written, papers.most, given_up.cancelled()) == (["one", "two"], 1, True)


async def test_many_sessions_that_change_at_once_are_written_one_after_the_other(sessions: Sessions) -> None:
    papers = Watched()
    papers.may.set()
    desk = Desk(sessions, papers)
    ids = [f"s{n}" for n in range(30)]
    sessions.pages = dict.fromkeys(ids, sessions.pages["s1"])
    for one in ids:
        await desk.documents.open(one)
    papers.most = 0
    papers.may.clear()
    for one in ids:
        desk.documents.changed(one)
    await until(lambda: papers.most > 0)
    for _ in range(50):
        for one in ids:
            desk.documents.changed(one)
        await asyncio.sleep(0.001)
    papers.may.set()
    await desk.documents.close()
    assert (papers.most, len(papers.written) <= 3 * len(ids)) == (1, True)
