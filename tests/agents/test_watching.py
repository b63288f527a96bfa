"""A saved agent file is noticed, however it is saved (agent-file.md, Where it is found)."""

import asyncio
import errno
import json
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from abey.daemon.agent_news import AgentNews
from abey.daemon.services import lent_by
from abey.errors import DaemonDraining
from abey.protocol.handshake import AgentsClientCapabilities, InitializationOptions
from abey.protocol.notifications import ConfigChanged
from abey.protocol.transcript import Client
from abey.rpc.editor import Editor
from abey.rpc.peer import Peer
from abey.runtime.agents import files
from abey.runtime.agents.aside import Aside
from abey.runtime.agents.entries import Entries
from abey.runtime.agents.registry import Registry
from abey.runtime.agents.watching import MOST_WATCHED, Watch, Watching, watch_folders
from abey.runtime.agents.workspaces import Trusted, Workspaces


def text(slug: str = "one", description: str = "") -> str:
    model = {"provider": "scripted", "script": [{"text": "hi"}]}
    return json.dumps({"slug": slug, "description": description, "model": model})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config" / "agents").mkdir(parents=True)
    return tmp_path / "config" / "agents"


class Heard:
    """What a client is told, and a way to wait for it; how often the disk was read."""

    def __init__(self) -> None:
        self.news: list[ConfigChanged] = []
        self.reads = 0
        self.was_read = threading.Event()
        self.look: Callable[[], None] = lambda: None
        self._more = asyncio.Event()

    def read(self, path: Path) -> str:
        self.reads += 1
        self.was_read.set()
        return files.read_text(path)

    def tell(self, message: bytes) -> None:
        told = json.loads(message)
        assert told["method"] == "agents/configChanged"
        self.news.append(ConfigChanged.model_validate(told["params"]))
        self._more.set()

    async def until(self, wanted: Callable[[ConfigChanged], bool]) -> ConfigChanged:
        async with asyncio.timeout(10):
            while not (self.news and wanted(self.news[-1])):
                self._more.clear()
                await self._more.wait()
        return self.news[-1]

    async def described(self, description: str) -> None:
        await self.until(lambda news: [item.description for item in news.items] == [description])


def peer(heard: Heard, *folders: Path, trusting: bool = False) -> Peer:
    return Peer(
        id="c1",
        client=Client(id="c1", name="test", kind="vscode"),
        capabilities=AgentsClientCapabilities(protocol_versions=("1.0",)),
        options=InitializationOptions(workspace_trusted=trusting),
        send=heard.tell,
        editor=Editor(folders=folders),
    )


@asynccontextmanager
async def watching(
    folder: Path, *opened: Path, trusting: bool = False, trusted: Trusted | None = None
) -> AsyncIterator[Heard]:
    heard = Heard()
    who = peer(heard, *opened, trusting=trusting)
    workspaces = Workspaces(trusted or Nobody(), lambda: lent_by(who), lambda: who.editor.folders)
    news = AgentNews(Registry(folder.parent, workspaces, Entries(heard.read)), lambda: (who,))
    await news.joined(who)
    news.start()
    heard.look = news.look
    try:
        yield heard
    finally:
        await news.close()


class Nobody:
    """A user who trusts nothing."""

    def covers(self, folder: Path) -> bool:
        return False

    def covers_any(self) -> bool:
        return False

    def is_too_wide(self, real: str | Path) -> bool:
        return False


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


async def test_a_link_to_a_link_is_followed_to_its_end(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text(description="old"))
    (tmp_path / "y.json").symlink_to(tmp_path / "x.json")
    (folder / "a.json").symlink_to(tmp_path / "y.json")
    async with watching(folder) as heard:
        (tmp_path / "x.json").write_text(text(description="new"))
        await heard.described("new")
        (tmp_path / "z.json").write_text(text(description="newer"))
        (tmp_path / "y").symlink_to(tmp_path / "z.json")
        os.replace(tmp_path / "y", tmp_path / "y.json")
        await heard.described("newer")


async def test_a_folder_that_is_swapped_behind_a_link_is_told_of(folder: Path) -> None:
    """As Kubernetes mounts a ConfigMap: a.json -> ..data/a.json, ..data -> ..1, and `..data` is renamed over."""
    for number in ("1", "2"):
        (folder / f"..{number}").mkdir()
        (folder / f"..{number}" / "a.json").write_text(text(description=number))
    (folder / "..data").symlink_to("..1")
    (folder / "a.json").symlink_to("..data/a.json")
    async with watching(folder) as heard:
        (folder / "..data_tmp").symlink_to("..2")
        os.replace(folder / "..data_tmp", folder / "..data")
        shutil.rmtree(folder / "..1")
        await heard.described("2")


async def test_a_script_that_a_file_includes_is_a_part_of_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text("[]")
    model = {"provider": "scripted", "script": "../../script.json"}
    (folder / "a.json").write_text(json.dumps({"slug": "one", "model": model}))
    async with watching(folder) as heard:
        (tmp_path / "script.json").write_text('[{"text": "hi"}]')
        first = await heard.until(lambda news: news.items[0].state == "ok")
        (tmp_path / "script.json").write_text('[{"txt": "hi"}]')
        second = await heard.until(lambda news: news.items[0].state == "stale")
        assert first.items[0].config_hash == second.items[0].config_hash


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


def nothing(path: Path) -> None:
    path.write_bytes(b"")


def with_bom(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf{")


def other_bytes(path: Path) -> None:
    path.write_bytes(b"\xff\xfe{\0}\0")


def large(path: Path) -> None:
    path.write_bytes(b" " * (2 << 20))


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe_instead(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


@pytest.mark.parametrize("spoil", [nothing, with_bom, other_bytes, large, folder_instead, pipe_instead, link_to_itself])
async def test_whatever_becomes_of_one_file_the_others_are_live(folder: Path, spoil: Callable[[Path], None]) -> None:
    for name in ("a", "b", "c"):
        (folder / f"{name}.json").write_text(text(name))
    async with watching(folder) as heard:
        spoil(folder / "b.json")
        await heard.until(lambda news: [item.state for item in news.items] == ["ok", "stale", "ok"])
        (folder / "c.json").write_text(text("c", "new"))
        await heard.until(lambda news: news.items[2].description == "new")
        if not (folder / "b.json").is_file():
            (folder / "b.json").rmdir() if (folder / "b.json").is_dir() else (folder / "b.json").unlink()
        (folder / "b.json").write_text(text("b", "mended"))
        news = await heard.until(lambda news: [item.state for item in news.items] == ["ok", "ok", "ok"])
        assert ([item.description for item in news.items], news.diagnostics) == (["", "mended", "new"], ())


async def test_a_file_that_leads_nowhere_is_gone_and_the_others_stay(folder: Path) -> None:
    (folder / "a.json").write_text(text("a"))
    (folder / "b.json").write_text(text("b"))
    async with watching(folder) as heard:
        (folder / "b.json").unlink()
        (folder / "b.json").symlink_to("nowhere")
        await heard.until(lambda news: [item.slug for item in news.items] == ["a"])


async def test_a_thousand_saves_are_few_reads_and_few_changes_and_the_last_one_counts(folder: Path) -> None:
    (folder / "a.json").write_text(text())
    async with watching(folder) as heard:
        for number in range(1000):
            (folder / "a.json").write_text(text(description=str(number)))
            if number % 10 == 0:
                await asyncio.sleep(0.02)
        took = [await until_described(heard, "999")]
        assert (len(heard.news) < 50, heard.reads < 100) == (True, True)
        while min(took) >= 1 and len(took) < 3:  # a busy machine may hold up one of them
            (folder / "a.json").write_text(text(description=f"again {len(took)}"))
            took.append(await until_described(heard, f"again {len(took)}"))
        assert min(took) < 1


async def until_described(heard: Heard, description: str) -> float:
    """How many seconds it took."""
    before = asyncio.get_running_loop().time()
    await heard.described(description)
    return asyncio.get_running_loop().time() - before


async def test_a_touch_is_read_and_not_told_of(folder: Path) -> None:
    (folder / "a.json").write_text(text())
    (folder / "b.json").write_text(text("two"))
    os.utime(folder / "a.json", ns=(0, 0))
    async with watching(folder) as heard:
        heard.was_read.clear()
        os.utime(folder / "a.json")
        assert await asyncio.to_thread(heard.was_read.wait, 10)
        (folder / "whole").write_text(text("two", "told"))
        os.replace(folder / "whole", folder / "b.json")
        news = await heard.until(lambda news: True)
        assert (heard.news, news.items[1].description) == ([news], "told")


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
        "agent files cannot be watched: [Errno 28] OS file watch limit reached; they are looked at every 0.8 s"
    ]


async def test_the_watch_itself_says_so_soon(folder: Path) -> None:
    assert await told_by(folder, watch_folders) == ["agents"]


async def told_by(folder: Path, watch: Watch) -> list[str]:
    registry, told = Registry(folder.parent), asyncio.Event()

    async def changed() -> None:
        told.set()

    task = asyncio.create_task(Watching(registry.stamps, registry.folders, changed, registry.aside, watch).run())
    try:
        await asyncio.sleep(0)
        (folder / "a.json").write_text(text())
        async with asyncio.timeout(10):
            await told.wait()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return [path.name for path in registry.folders() if path == folder]


async def test_who_subscribed_is_told_of_changes_and_of_nothing_else(folder: Path) -> None:
    (folder / "a.json").write_text(text())
    heard = Heard()
    registry, told = Registry(folder.parent, entries=Entries(heard.read)), asyncio.Event()
    calls = 0

    def hear() -> None:
        nonlocal calls
        calls += 1
        told.set()

    registry.subscribe(hear)
    news = AgentNews(registry, tuple)
    news.start()
    assert await asyncio.to_thread(heard.was_read.wait, 10)
    heard.was_read.clear()
    os.utime(folder / "a.json")
    assert await asyncio.to_thread(heard.was_read.wait, 10)
    (folder / "a.json").write_text(text(description="new"))
    async with asyncio.timeout(10):
        await told.wait()
    await news.close()
    assert (calls, registry.agents()["one"].config["description"]) == (1, "new")


async def test_folders_beyond_those_that_are_watched_are_looked_at(tmp_path: Path) -> None:
    many = {tmp_path / str(number): number for number in range(MOST_WATCHED + 10)}
    watched: list[tuple[Path, ...]] = []
    told: asyncio.Queue[int] = asyncio.Queue()
    stamp = 0

    async def never(folders: tuple[Path, ...]) -> AsyncIterator[object]:
        watched.append(folders)
        await asyncio.Event().wait()
        yield

    async def changed() -> None:
        told.put_nowait(stamp)

    task = asyncio.create_task(Watching(lambda: stamp, lambda: many, changed, Aside(), never).run())
    async with asyncio.timeout(10):
        seen = [await told.get()]
        stamp = 1
        while 1 not in seen:
            seen.append(await told.get())
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert watched == [tuple(many)[:MOST_WATCHED]]


async def test_a_look_that_fails_is_told_of_in_the_log_and_the_next_one_counts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = asyncio.Event()
    looks = 0

    def stamps() -> int:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise RuntimeError("the disk is odd")
        return looks

    async def changed() -> None:
        told.set()

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(Watching(stamps, dict, changed, Aside()).run())
        await told.wait()
        task.cancel()
    assert [record.message for record in caplog.records] == ["agent files could not be looked at"]


async def test_a_disk_that_hangs_holds_up_only_who_asks_for_it(folder: Path) -> None:
    (folder / "a.json").write_text(text())
    reading, go_on = threading.Event(), threading.Event()

    def slow(path: Path) -> str:
        reading.set()
        assert go_on.wait(10)
        return files.read_text(path)

    registry = Registry(folder.parent, entries=Entries(slow))
    news = AgentNews(registry, tuple)
    news.start()
    assert await asyncio.to_thread(reading.wait, 10)
    asking = [asyncio.create_task(registry.aside.run(registry.list)) for _ in range(20)]
    async with asyncio.timeout(10):
        done = [await asyncio.to_thread(int, number) for number in "123"]
    assert (done, go_on.is_set(), [task.done() for task in asking]) == ([1, 2, 3], False, [False] * 20)
    go_on.set()
    assert [len((await task).items) for task in asking] == [1] * 20
    await news.close()


async def test_what_is_asked_for_when_the_daemon_ends_is_refused() -> None:
    aside = Aside()
    assert await aside.run(int, "7") == 7
    aside.close()
    with pytest.raises(DaemonDraining):
        await aside.run(int, "7")


async def test_a_workspace_that_a_client_trusts_is_live_for_it(folder: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".abey" / "agents").mkdir(parents=True)
    async with watching(folder, work, trusting=True) as heard:
        (work / ".abey" / "agents" / "a.json").write_text(text(description="theirs"))
        await heard.described("theirs")


async def test_a_workspace_that_nobody_trusts_is_not_looked_at(folder: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".abey" / "agents").mkdir(parents=True)
    (work / ".abey" / "agents" / "a.json").write_text(text(description="theirs"))
    async with watching(folder, work) as heard:
        before = heard.reads
        (folder / "b.json").write_text(text(description="mine"))
        await heard.described("mine")
        assert heard.reads - before <= 2 * len(heard.news) + 2


class Everything(Nobody):
    """A user who begins to trust, and ends it."""

    def __init__(self) -> None:
        self.trusts = False

    def covers(self, folder: Path) -> bool:
        return self.trusts

    def covers_any(self) -> bool:
        return self.trusts


async def test_trust_that_is_given_or_taken_is_news(folder: Path, tmp_path: Path) -> None:
    work, user = tmp_path / "work", Everything()
    (work / ".abey" / "agents").mkdir(parents=True)
    (work / ".abey" / "agents" / "a.json").write_text(text(description="theirs"))
    async with watching(folder, work, trusted=user) as heard:
        user.trusts = True
        heard.look()
        await heard.described("theirs")
        user.trusts = False
        heard.look()
        await heard.until(lambda news: news.items == ())
        assert len(heard.news) == 2


class Counted(Aside):
    runs = 0

    async def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return await super().run(function, *args, **kwargs)


async def test_a_look_at_what_has_not_changed_is_one_thread_that_wakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abey.runtime.agents.watching.LOOK_SECONDS", 0.001)
    monkeypatch.setattr("abey.runtime.agents.watching.SETTLE_SECONDS", 0.0)
    runs: list[int] = []
    enough, aside, loop = asyncio.Event(), Counted(), asyncio.get_running_loop()

    def stamps() -> int:
        runs.append(aside.runs)
        if len(runs) == 20:
            loop.call_soon_threadsafe(enough.set)
        return 0

    async def changed() -> None:
        """Once, after the first look."""

    run = asyncio.create_task(Watching(stamps, dict, changed, aside, watch_folders).run())
    await enough.wait()
    run.cancel()
    await asyncio.wait([run])
    aside.close()
    assert runs[:20] == [*range(2, 22)]  # the first of all was for the folders, before anything was looked at
