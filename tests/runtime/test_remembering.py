"""`rules.json`: what it keeps, and what it does where it cannot (machine.md, Remembered rules)."""

import errno
import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from support.world import World

from abey.core.remembering import made
from abey.errors import RecordFailed
from abey.protocol.policy import AskedRule, Rule
from abey.runtime.remembering import Remembering
from abey.runtime.store.io import FileIO

NOW = "2026-01-01T00:00:00.000Z"


def rule(tool: str = "ask", **more: Any) -> Rule:
    asked = {"tool": tool, "disposition": "runSync", "scope": "user", **more}
    return made(AskedRule.model_validate(asked), session_id=None, origin="by hand", now=NOW)


def store(folder: Path, io: FileIO | None = None) -> Remembering:
    return Remembering(folder / "config" / "rules.json", io or FileIO("process"))


def file_of(folder: Path) -> Path:
    return folder / "config" / "rules.json"


def test_what_is_remembered_is_there_for_the_next_daemon_and_for_its_owner_only(tmp_path: Path) -> None:
    kept = store(tmp_path)
    kept.remember(rule("a"))
    kept.remember(rule("b", match={"/x": {"glob": "*"}}))
    again = store(tmp_path)
    assert (again.items(), again.fault) == (kept.items(), None)
    assert [one.tool for one in again.items()] == [one.tool for one in sorted(again.items(), key=lambda r: r.rule_id)]
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file_of(tmp_path), file_of(tmp_path).parent)]
    assert modes == [0o600, 0o700]


def test_a_session_has_its_own_rules_those_of_its_workspace_and_the_users(tmp_path: Path) -> None:
    kept = store(tmp_path)
    here, there = (rule("a", scope="workspace", workspace=folder) for folder in ("/w", "/elsewhere"))
    for one in (here, there, rule("b")):
        kept.remember(one)
    world = World()
    world.start()
    assert {one.rule_id for one in kept.remembered(world.session)[0]} == {here.rule_id, rule("b").rule_id}


def test_the_same_rule_again_is_not_another_one_and_is_to_be_applied_again(tmp_path: Path) -> None:
    kept = store(tmp_path)
    kept.remember(rule())
    kept.applied([rule().rule_id])
    assert kept.unapplied() == ()
    kept.remember(rule().model_copy(update={"created_at": "2027-01-01T00:00:00.000Z"}))
    assert (kept.items(), kept.unapplied()) == ((rule(),), (rule(),))


def test_a_rule_that_a_crash_kept_from_being_applied_is_known_to_the_next_daemon(tmp_path: Path) -> None:
    store(tmp_path).remember(rule())
    assert store(tmp_path).unapplied() == (rule(),)


def test_what_is_forgotten_is_gone_and_what_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    kept = store(tmp_path)
    kept.remember(rule())
    assert (kept.forget(rule().rule_id), kept.forget(rule().rule_id), store(tmp_path).items()) == (True, False, ())


def test_uses_are_counted_and_written_with_the_next_change_or_at_the_end(tmp_path: Path) -> None:
    kept = store(tmp_path)
    kept.remember(rule())
    kept.used([rule().rule_id, rule().rule_id, "of another session"])
    assert [one.uses for one in kept.items()] == [2]
    assert [one.uses for one in store(tmp_path).items()] == [0]
    kept.close()
    assert [one.uses for one in store(tmp_path).items()] == [2]
    assert [one.uses for one in kept.items()] == [2]


def broken_json(path: Path) -> None:
    path.write_text("{")


def unknown_member(path: Path) -> None:
    path.write_text(json.dumps({"version": 1, "rules": [], "more": 1}))


def newer(path: Path) -> None:
    path.write_text(json.dumps({"version": 2, "rules": []}))


def writable_by_others(path: Path) -> None:
    path.chmod(0o620)


def a_broad_rule(path: Path) -> None:
    path.write_text(path.read_text().replace('"ask"', '"*"'))


def of_a_session(path: Path) -> None:
    path.write_text(path.read_text().replace('"user"', '"session"'))


def a_sandbox(path: Path) -> None:
    path.write_text(path.read_text().replace('"runSync"', '"runIsolated"'))


def no_pointer(path: Path) -> None:
    path.write_text(path.read_text().replace('"disposition"', '"match": {"x": 1}, "disposition"'))


def one_id_twice(path: Path) -> None:
    held = json.loads(path.read_text())
    other = {**held["rules"][0], "rule": {**held["rules"][0]["rule"], "disposition": {"tag": "deny"}}}
    path.write_text(json.dumps({**held, "rules": [other, *held["rules"]]}))


BREAKS = [broken_json, unknown_member, newer, writable_by_others]
BREAKS += [a_broad_rule, of_a_session, a_sandbox, no_pointer, one_id_twice]


@pytest.mark.parametrize("breaks", BREAKS)
def test_a_file_that_cannot_be_right_remembers_nothing_and_is_kept_beside_the_next_one(tmp_path: Path, breaks) -> None:
    store(tmp_path).remember(rule())
    breaks(file_of(tmp_path))
    held = file_of(tmp_path).read_bytes()
    kept = store(tmp_path)
    world = World()
    world.start()
    assert (kept.items(), kept.remembered(world.session)[0], kept.unapplied()) == ((), (), ())
    assert str(file_of(tmp_path)) in (kept.fault or "")
    kept.remember(rule("b"))
    assert ([one.tool for one in kept.items()], kept.fault) == (["b"], None)
    assert (tmp_path / "config" / "rules.json.damaged-1").read_bytes() == held


def test_a_file_that_somebody_changes_counts_as_it_is_now(tmp_path: Path) -> None:
    kept, other = store(tmp_path), store(tmp_path)
    kept.remember(rule("a"))
    other.remember(rule("b"))
    assert {one.tool for one in kept.items()} == {"a", "b"}
    file_of(tmp_path).unlink()
    assert kept.items() == ()


def test_threads_and_daemons_that_remember_at_once_lose_nothing(tmp_path: Path) -> None:
    stores = [store(tmp_path) for _ in range(4)]
    threads = [
        threading.Thread(target=lambda one=one, n=n: one.remember(rule(f"tool{n}"))) for n in range(4) for one in stores
    ]
    more = [threading.Thread(target=lambda n=n: stores[n % 4].remember(rule(f"more{n}"))) for n in range(16)]
    for thread in (*threads, *more):
        thread.start()
    for thread in (*threads, *more):
        thread.join()
    assert len(store(tmp_path).items()) == 4 + 16


class FullDisk(FileIO):
    def replace_file(self, path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_rule_that_cannot_be_written_is_refused_and_the_old_ones_stay(tmp_path: Path) -> None:
    store(tmp_path).remember(rule("a"))
    kept = store(tmp_path, FullDisk("process"))
    with pytest.raises(RecordFailed) as told:
        kept.remember(rule("b"))
    assert (told.value.details, [one.tool for one in kept.items()]) == ({"errno": errno.ENOSPC}, ["a"])
