"""A file is read again only if it may have changed, and a save that changes nothing gives the same agent."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from abey.errors import UnknownAgent
from abey.runtime.agents import files
from abey.runtime.agents.entries import KEPT, SETTLED_NS, Entries


def agent(prompt: str = "one", **members: Any) -> str:
    model = {"provider": "scripted", "script": [{"text": "hi"}]}
    return json.dumps({"slug": "a", "systemPrompt": prompt, "model": model, **members})


class Reads:
    """Entries over a disk that counts, and a clock that a test sets: at first long after every save."""

    def __init__(self) -> None:
        self.count = 0
        self.now_ns: int | None = None
        self.entries = Entries(self._read, self._now)

    def _read(self, path: Path) -> str:
        self.count += 1
        return files.read_text(path)

    def _now(self) -> int:
        return self.now_ns if self.now_ns is not None else 1 << 62

    def counted(self, path: Path) -> int:
        """How often the file is read when it is asked for three times."""
        before = self.count
        for _ in range(3):
            self.entries.at(path)
        return self.count - before


@pytest.fixture
def reads() -> Reads:
    return Reads()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.json").write_text(agent())
    return tmp_path / "a.json"


def touched(path: Path) -> None:
    os.utime(path)


def written_again(path: Path) -> None:
    path.write_text(path.read_text())


def replaced(path: Path) -> None:
    path.with_name("new").write_text(path.read_text())
    path.with_name("new").replace(path)


def respelled(path: Path) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()), indent=4) + "// the same\n")


@pytest.mark.parametrize("save", [touched, written_again, replaced, respelled])
def test_a_save_that_changes_nothing_is_read_once_and_gives_the_same_agent(
    path: Path, reads: Reads, save: Callable[[Path], None]
) -> None:
    assert reads.counted(path) == 1
    before = reads.entries.at(path).agent
    save(path)
    assert (reads.counted(path), reads.entries.at(path).agent is before) == (1, True)


def renamed_with_its_time(path: Path) -> None:
    path.with_name("new").write_text(agent("two"))
    keep_time(path, path.with_name("new"))
    path.with_name("new").replace(path)


def in_place_with_its_time(path: Path) -> None:
    before = path.stat()
    path.write_text(agent("two"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def keep_time(source: Path, target: Path) -> None:
    os.utime(target, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))


@pytest.mark.parametrize("save", [renamed_with_its_time, in_place_with_its_time])
def test_a_change_of_the_same_length_that_keeps_the_time_is_seen(
    path: Path, reads: Reads, save: Callable[[Path], None]
) -> None:
    seen = [reads.entries.at(path)]
    save(path)
    seen.append(reads.entries.at(path))
    assert [one.agent and one.agent.system_prompt for one in seen] == ["one", "two"]


def test_a_file_that_was_just_saved_is_read_until_its_stamp_can_be_believed(path: Path, reads: Reads) -> None:
    saved = path.stat().st_ctime_ns
    reads.now_ns = saved
    assert reads.counted(path) == 3
    reads.now_ns = saved + SETTLED_NS + 1
    assert (reads.counted(path), reads.counted(path)) == (1, 0)


def test_a_time_far_ahead_does_not_have_a_file_read_again_and_again(path: Path, reads: Reads) -> None:
    saved = path.stat().st_ctime_ns
    os.utime(path, ns=(0, saved + 1_000_000 * SETTLED_NS))
    reads.now_ns = path.stat().st_ctime_ns + SETTLED_NS + 1
    assert (reads.counted(path), reads.counted(path)) == (1, 0)
    in_place_with_its_time(path)
    found = reads.entries.at(path).agent
    assert found is not None and found.system_prompt == "two"


def test_what_is_known_of_a_file_is_new_until_it_is_read(path: Path, reads: Reads) -> None:
    script = path.with_name("script.json")
    script.write_text("[]")
    path.write_text(agent(model={"provider": "scripted", "script": "script.json"}))
    seen = [reads.entries.is_new(path)]
    for save in (lambda: None, lambda: touched(path), lambda: touched(script), path.unlink):
        reads.entries.at(path)
        save()
        seen.append(reads.entries.is_new(path))
    assert seen == [True, False, True, True, False]


def test_a_file_whose_mode_forbids_it_is_stale_and_good_again_with_its_mode(path: Path, reads: Reads) -> None:
    states = []
    for mode in (0o600, 0, 0o600):
        path.chmod(mode)
        entry = reads.entries.at(path)
        states.append(
            (entry.agent is not None and entry.agent.stale is not None, [one.code for one in entry.current.findings])
        )
    expected = (True, ["unreadable"]) if os.geteuid() else (False, [])
    assert states == [(False, []), expected, (False, [])]


def test_a_script_that_was_just_saved_is_read_again_with_its_file(path: Path, reads: Reads) -> None:
    script = path.with_name("script.json")
    script.write_text('[{"text": "1"}]')
    path.write_text(agent(model={"provider": "scripted", "script": "script.json"}))
    reads.now_ns = script.stat().st_ctime_ns
    hashes = []
    for text in ("1", "2", "3"):
        script.write_text(f'[{{"text": "{text}"}}]')
        entry = reads.entries.at(path)
        hashes.append(entry.agent and entry.agent.config["model"]["script"])
    assert hashes == [[{"text": "1"}], [{"text": "2"}], [{"text": "3"}]]
    assert (reads.entries.included_in([path.parent]), reads.entries.included_in([])) == ({script}, set())


def test_not_every_file_is_remembered_for_good(tmp_path: Path, path: Path, reads: Reads) -> None:
    reads.entries.at(path)
    for number in range(KEPT):
        link = tmp_path / f"{number}.json"
        link.symlink_to(tmp_path)
        reads.entries.at(link)
    before = reads.count
    reads.entries.at(path)
    assert reads.count == before + 1


def test_a_file_that_was_read_or_sought_is_held_under_its_real_path(reads: Reads, path: Path, tmp_path: Path) -> None:
    link, gone = tmp_path / "link.json", tmp_path / "gone.json"
    link.symlink_to(path)
    reads.entries.at(link)
    with pytest.raises(UnknownAgent):
        reads.entries.at(gone)
    real = os.path.realpath(tmp_path)
    assert [reads.entries.holds(f"{real}/{name}") for name in ("a.json", "gone.json", "link.json", "other.json")] == [
        True,
        True,
        False,
        False,
    ]
