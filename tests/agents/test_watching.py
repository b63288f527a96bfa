"""A saved agent file is noticed, however it is saved (agent-file.md, Where it is found)."""

import asyncio
import errno
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from abey.daemon.agent_news import AgentNews
from abey.protocol.notifications import ConfigChanged
from abey.runtime.agents.registry import Registry
from abey.runtime.agents.watching import Watch, Watching, watch_folders


def text(slug: str = "one", description: str = "") -> str:
    model = {"provider": "scripted", "script": [{"text": "hi"}]}
    return json.dumps({"slug": slug, "description": description, "model": model})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config" / "agents").mkdir(parents=True)
    return tmp_path / "config" / "agents"


class Heard:
    """What a client is told, and a way to wait for it."""

    def __init__(self) -> None:
        self.news: list[ConfigChanged] = []
        self._more = asyncio.Event()

    def tell(self, news: ConfigChanged) -> None:
        self.news.append(news)
        self._more.set()

    async def until(self, wanted: Callable[[ConfigChanged], bool]) -> ConfigChanged:
        async with asyncio.timeout(10):
            while not (self.news and wanted(self.news[-1])):
                self._more.clear()
                await self._more.wait()
        return self.news[-1]

    async def described(self, description: str) -> None:
        await self.until(lambda news: [item.description for item in news.items] == [description])


@asynccontextmanager
async def watching(folder: Path) -> AsyncIterator[Heard]:
    heard = Heard()
    news = AgentNews(Registry(folder.parent), heard.tell)
    news.start()
    try:
        yield heard
    finally:
        await news.close()


def in_place(folder: Path) -> None:
    (folder / "a.json").write_text(text(description="new"))


def by_rename(folder: Path) -> None:
    (folder / "a.json.tmp").write_text(text(description="new"))
    os.replace(folder / "a.json.tmp", folder / "a.json")


def as_vim_does(folder: Path) -> None:
    os.rename(folder / "a.json", folder / "a.json~")
    (folder / "a.json").write_text(text(description="new"))
    (folder / "a.json~").unlink()


def folder_replaced(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "a.json").write_text(text(description="new"))


def parent_replaced(folder: Path) -> None:
    folder.parent.rename(folder.parent.with_name("old"))
    folder.mkdir(parents=True)
    (folder / "a.json").write_text(text(description="new"))


@pytest.mark.parametrize("save", [in_place, by_rename, as_vim_does, folder_replaced, parent_replaced])
async def test_a_save_is_told_of(folder: Path, save: Callable[[Path], None]) -> None:
    (folder / "a.json").write_text(text(description="old"))
    async with watching(folder) as heard:
        save(folder)
        await heard.described("new")
        (folder / "a.json").write_text(text(description="newer"))
        await heard.described("newer")


async def test_a_change_of_a_links_target_and_another_target_are_told_of(folder: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_text(text(description=name))
    (folder / "a.json").symlink_to(tmp_path / "first" / "x.json")
    async with watching(folder) as heard:
        (tmp_path / "first" / "x.json").write_text(text(description="changed"))
        await heard.described("changed")
        (folder / "b").symlink_to(tmp_path / "second" / "x.json")
        os.replace(folder / "b", folder / "a.json")
        await heard.described("second")


async def test_a_folder_that_appears_later_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "agents"
    async with watching(folder) as heard:
        folder.mkdir(parents=True)
        (folder / "a.json").write_text(text(description="there"))
        await heard.described("there")


async def test_a_broken_file_is_told_of_and_the_others_stay(folder: Path) -> None:
    (folder / "a.json").write_text(text("first"))
    (folder / "b.json").write_text(text("second"))
    async with watching(folder) as heard:
        (folder / "b.json").write_text("{")
        news = await heard.until(lambda news: [item.state for item in news.items] == ["ok", "stale"])
        assert [(Path(one.path).name, one.diagnostics[0].severity) for one in news.diagnostics] == [("b.json", 1)]
        (folder / "b.json").write_text(text("second"))
        news = await heard.until(lambda news: [item.state for item in news.items] == ["ok", "ok"])
        assert news.diagnostics == ()


async def test_a_thousand_saves_are_few_changes_and_the_last_one_counts(folder: Path) -> None:
    (folder / "a.json").write_text(text())
    async with watching(folder) as heard:
        for number in range(1000):
            (folder / "a.json").write_text(text(description=str(number)))
            if number % 50 == 0:
                await asyncio.sleep(0)
        await heard.described("999")
        assert len(heard.news) < 50


async def test_a_save_that_changes_nothing_is_not_told_of(folder: Path) -> None:
    (folder / "a.json").write_text(text())
    async with watching(folder) as heard:
        (folder / "a.json").write_text(text())
        (folder / "z.json").write_text(text("last"))
        news = await heard.until(lambda news: len(news.items) == 2)
        assert heard.news == [news]


async def test_without_a_watch_to_spare_files_are_still_looked_at(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def exhausted(_: tuple[Path, ...]) -> AsyncIterator[object]:
        raise OSError(errno.ENOSPC, "OS file watch limit reached")
        yield

    assert await told_by(folder, exhausted) == ["agents"]
    assert [record.message for record in caplog.records if "cannot be watched" in record.message] == [
        "agent files cannot be watched: [Errno 28] OS file watch limit reached; they are looked at every 0.5 s"
    ]


async def test_the_watch_itself_says_so_soon(folder: Path) -> None:
    assert await told_by(folder, watch_folders) == ["agents"]


async def told_by(folder: Path, watch: Watch) -> list[str]:
    registry, told = Registry(folder.parent), asyncio.Event()

    async def changed() -> None:
        told.set()

    task = asyncio.create_task(Watching(registry.stamps, registry.folders, changed, watch).run())
    try:
        await asyncio.sleep(0)
        (folder / "a.json").write_text(text())
        async with asyncio.timeout(10):
            await told.wait()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return [path.name for path in registry.folders() if path == folder]
