"""Every finding of the doctor but those about sessions and agents: when it is made, what it says, what to do."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.fake_host import NOW, FakeHost, refused

from abey.runtime.around import FoundExtension
from abey.runtime.disk import FLOOR_BYTES
from abey.runtime.doctor import isolation, places, software
from abey.runtime.doctor.checkup import CHECKS, examine
from abey.runtime.doctor.findings import Finding, error, info, ok, warning
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Running, Subject
from abey.runtime.store.io import Space
from abey.shared.version import VERSION

MIB = 1 << 20
DAEMON = Running(pid=7, durability="power", leaves_nothing=True)


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    """A state directory and a runtime folder as a daemon makes them."""
    for name in ("state", "run"):
        (tmp_path / name).mkdir(mode=0o700)
    return Subject(tmp_path / "state", tmp_path / "config", tmp_path / "run" / "socket", {})


def test_everything_is_well_on_a_machine_that_is_well(host: FakeHost, subject: Subject) -> None:
    found = examine(host, subject)
    assert {one.severity for one in found} == {"ok", "info"}
    assert [one.check for one in found if one.severity == "info"] == ["agents"]


def test_a_check_that_trips_is_an_error_of_its_own_and_the_others_go_on(host: FakeHost, subject: Subject) -> None:
    def trips(_: Host, __: Subject) -> list[Finding]:
        raise ValueError("no such thing")

    def looks(_: Host, __: Subject) -> list[Finding]:
        return [ok("b", "fine")]

    what = "this could not be examined: ValueError: no such thing"
    advice = "mend what the message names, then run `abey doctor` again"
    found = examine(host, subject, (("a", trips), ("b", looks)))
    assert found == (error("a", what, advice), ok("b", "fine"))


def test_no_import_keeps_the_other_checks_from_looking(host: FakeHost, subject: Subject) -> None:
    host.broken = {"pydantic": "ImportError: no pydantic"}
    found = [one for one in examine(host, subject) if one.severity == "error"]
    advice = "install abey again, into an environment of its own"
    assert found == [error("dependencies", "pydantic cannot be imported: ImportError: no pydantic", advice)]


@pytest.mark.parametrize(
    ("python", "fts", "expected"),
    [
        ((3, 11, 7), True, ok("version", f"abey {VERSION}, Python 3.11.7, SQLite 3.40.1 with FTS5")),
        (
            (3, 10, 1),
            True,
            error(
                "version",
                f"abey {VERSION}, Python 3.10.1, SQLite 3.40.1: Python 3.11 or newer is needed",
                "install abey with a newer Python",
            ),
        ),
        (
            (3, 12, 0),
            False,
            warning(
                "version",
                f"abey {VERSION}, Python 3.12.0, SQLite 3.40.1: this SQLite has no full-text search (FTS5)",
                "use a Python whose SQLite has FTS5; everything but full-text search works without",
            ),
        ),
    ],
)
def test_versions(host: FakeHost, subject: Subject, python: tuple[int, int, int], fts: bool, expected: Finding) -> None:
    host.python, host.fts = python, fts
    assert list(software.version(host, subject)) == [expected]


def test_a_variable_with_a_value_that_is_none_of_its_own_is_named(host: FakeHost, subject: Subject) -> None:
    env = {"ABEY_DURABILITY": "fast", "ABEY_LOG": "INFO", "ABEY_TRANSPORT": ""}
    advice = "set ABEY_DURABILITY to power or process, or unset it"
    found = list(software.settings(host, replace(subject, env=env)))
    assert found == [error("settings", "ABEY_DURABILITY is 'fast'", advice)]
    found = list(software.settings(host, replace(subject, env={"ABEY_DURABILITY": ""})))
    assert found == [error("settings", "ABEY_DURABILITY is ''", advice)]
    assert [one.severity for one in software.settings(host, subject)] == ["ok"]


def test_every_extension_is_told_and_why_one_cannot_be_used(host: FakeHost, subject: Subject) -> None:
    one, bad = FoundExtension("a", "one 1.0"), FoundExtension("b", "two 2.0", "no module named c")
    told = [
        ok("extensions", "a, of one 1.0"),
        error(
            "extensions",
            "b, of two 2.0, cannot be used, and no model is asked meanwhile: no module named c",
            "mend or uninstall the package, then `abey daemon stop`",
        ),
    ]
    assert list(software.extensions(host, subject)) == [ok("extensions", "none is installed")]
    host.installed = (one, bad)
    assert list(software.extensions(host, subject)) == told
    running = replace(DAEMON, extensions=(bad,))
    assert list(software.extensions(host, replace(subject, running=running))) == told[1:]


@pytest.mark.parametrize(
    ("kind", "chosen", "severity", "says"),
    [
        ("ext4", "power", "ok", "power: records survive a power failure on ext4"),
        ("ext4", "process", "info", "process: records survive kill -9, not a power failure on ext4"),
        ("tmpfs", "power", "warning", "is in memory (tmpfs): a restart of the machine ends it"),
        ("nfs4", "power", "warning", "is on a network (nfs4), which may not keep it"),
        ("fuse.sshfs", "power", "warning", "is on a network (fuse.sshfs), which may not keep it"),
    ],
)
def test_durability(host: FakeHost, subject: Subject, kind: str, chosen: str, severity: str, says: str) -> None:
    escaped = os.path.realpath(subject.state_dir).replace("_", "\\137")
    host.texts["/proc/mounts"] = f"a / ext3 rw 0 0\nb {escaped} {kind} rw 0 0\nc /elsewhere xfs rw 0 0\n"
    running = replace(DAEMON, durability=chosen)
    [found] = places.durability(host, replace(subject, env={"ABEY_DURABILITY": "nonsense"}, running=running))
    assert (found.severity, says in found.message) == (severity, True)
    assert list(places.durability(host, replace(subject, env={"ABEY_DURABILITY": chosen}))) == [found]


def test_the_type_of_a_file_system_is_left_out_where_the_system_does_not_tell(host: FakeHost, subject: Subject) -> None:
    del host.texts["/proc/mounts"]
    assert list(places.durability(host, subject)) == [ok("durability", "power: records survive a power failure")]


def test_a_state_directory_that_is_open_to_others(host: FakeHost, subject: Subject) -> None:
    state = subject.state_dir
    assert list(places.state(host, subject)) == [ok("permissions", f"{state} is for its owner only")]
    state.chmod(0o750)
    what = f"{state} is open to others (mode 0750)"
    assert list(places.state(host, subject)) == [warning("permissions", what, f"`chmod 700 {state}`")]


def test_a_state_directory_that_is_not_ours_or_cannot_be_written(host: FakeHost, subject: Subject) -> None:
    state = subject.state_dir
    host.unwritable = {state}
    what, advice = f"{state} cannot be written to", f"`chmod 700 {state}`, or {places.ANOTHER_PLACE}"
    assert list(places.state(host, subject)) == [error("permissions", what, advice)]
    host.uid = state.stat().st_uid + 1
    what = f"{state} belongs to user {state.stat().st_uid}, not to {host.uid}"
    assert list(places.state(host, subject)) == [error("permissions", what, places.ANOTHER_PLACE)]


def test_a_state_directory_that_is_a_file_or_not_there(host: FakeHost, subject: Subject) -> None:
    state = subject.state_dir
    state.rmdir()
    absent = info("permissions", f"{state} does not exist yet", "`abey daemon start` makes it")
    assert list(places.state(host, subject)) == [absent]
    host.unwritable = {state.parent}
    what = f"{state} cannot be made: {state.parent} cannot be written to"
    advice = f"`chmod` {state.parent}, or {places.ANOTHER_PLACE}"
    assert list(places.state(host, subject)) == [error("permissions", what, advice)]
    state.write_text("")
    advice = f"move it away, or {places.ANOTHER_PLACE}"
    assert list(places.state(host, subject)) == [error("permissions", f"{state} is not a folder", advice)]


def test_who_holds_the_lock(host: FakeHost, subject: Subject) -> None:
    path = subject.state_dir / "daemon.lock"
    free = ok("lock", "files can be locked, and no daemon holds the state directory")
    assert list(places.lock(host, subject)) == [free]
    path.write_text("pid 42\nstarted now\n")
    assert list(places.lock(host, subject)) == [free]
    host.locks["daemon.lock"] = "held"
    advice = "it is the one daemon of this state directory; `abey daemon stop` ends it"
    held = info("lock", f"the daemon with pid 42 holds {path}", advice)
    assert list(places.lock(host, subject)) == [held]
    assert list(places.lock(host, replace(subject, running=DAEMON))) == [ok("lock", "held by the daemon, pid 7")]
    path.write_text("")
    assert list(places.lock(host, subject)) == [info("lock", f"another daemon holds {path}", advice)]


def test_a_file_system_without_locks(host: FakeHost, subject: Subject) -> None:
    host.locks["state"] = refused(errno.ENOLCK)
    what = f"the file system of {subject.state_dir} cannot lock files: No locks available"
    advice = f"{places.ANOTHER_PLACE}, on a file system with flock"
    assert list(places.lock(host, subject)) == [error("lock", what, advice)]


def test_a_lock_that_cannot_be_opened(host: FakeHost, subject: Subject) -> None:
    host.locks["daemon.lock"] = PermissionError(errno.EACCES, "Permission denied")
    path = subject.state_dir / "daemon.lock"
    what, advice = f"{path} cannot be opened: Permission denied", f"`chmod 600 {path}`"
    assert list(places.lock(host, subject)) == [error("lock", what, advice)]


@pytest.mark.parametrize(("check", "name"), [(places.lock, "daemon.lock"), (places.socket, "daemon.addr")])
def test_what_lies_where_a_file_of_the_daemon_belongs(
    host: FakeHost, subject: Subject, check: Callable[..., Iterator[Finding]], name: str
) -> None:
    path = subject.state_dir / name
    path.mkdir()
    what, advice = f"{path} is not a file, and the daemon cannot start", f"move {path} away"
    assert next(check(host, subject)) == error(name.replace("daemon.", "").replace("addr", "socket"), what, advice)


def test_the_real_lock_is_seen_and_left_alone(tmp_path: Path) -> None:
    import fcntl

    real, path = Host(), tmp_path / "lock"
    assert real.lock(path) == "absent"
    with path.open("w") as file:
        assert real.lock(path) == "free"
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert real.lock(path) == "held"
    assert real.lock(path) == "free"


def test_what_lies_where_the_socket_belongs(host: FakeHost, subject: Subject) -> None:
    path, folder = subject.socket, subject.socket.parent
    assert list(places.socket(host, subject)) == [ok("socket", str(path))]
    path.mkdir()
    what = f"{path} is a folder, where the socket belongs"
    assert list(places.socket(host, subject)) == [error("socket", what, f"move {path} away")]
    host.unwritable = {folder}
    what, advice = f"{folder} is not ours to write to", "choose another ABEY_RUNTIME_DIR"
    assert list(places.socket(host, subject)) == [error("socket", what, advice)]


def test_the_folder_of_the_socket_is_made_or_cannot_be(host: FakeHost, subject: Subject) -> None:
    folder = subject.socket.parent
    folder.rmdir()
    what = f"{subject.socket}: its folder is made when the daemon starts"
    assert list(places.socket(host, subject)) == [ok("socket", what)]
    host.unwritable = {folder.parent}
    what, advice = f"{folder} cannot be made in {folder.parent}", "choose another ABEY_RUNTIME_DIR"
    assert list(places.socket(host, subject)) == [error("socket", what, advice)]
    folder.write_text("")
    advice = "move it away, or choose another ABEY_RUNTIME_DIR"
    assert list(places.socket(host, subject)) == [error("socket", f"{folder} is not a folder", advice)]


@pytest.mark.parametrize(
    ("free", "make", "says"),
    [
        (
            FLOOR_BYTES - MIB,
            error,
            "199.0 MiB are free, 200.0 MiB are kept for records: no session and no tool is started",
        ),
        (FLOOR_BYTES, warning, "200.0 MiB are free, 200.0 MiB are kept for records"),
    ],
)
def test_a_disk_that_is_nearly_full(
    host: FakeHost, subject: Subject, free: int, make: Callable[..., Finding], says: str
) -> None:
    host.room = Space(100 * FLOOR_BYTES, free)
    advice = "make room on the disk; `abey gc --dry-run` says what abey can spare"
    assert list(places.disk(host, subject)) == [make("disk", says, advice)]
    host.room = Space(100 * FLOOR_BYTES, 2 * FLOOR_BYTES)
    assert list(places.disk(host, subject)) == [ok("disk", "400.0 MiB are free, 200.0 MiB are kept for records")]


def test_files_that_were_left_behind_or_are_open_to_others(host: FakeHost, subject: Subject) -> None:
    state = subject.state_dir
    old, new, open_one = state / "a.1-2.new", state / "b.new", state / "sessions" / "x"
    draft, own = state / "documents" / ".s1.abey.md.new", state / "documents" / "own.new"
    for folder in (open_one.parent, own.parent):
        folder.mkdir(mode=0o700)
    for path, age in ((old, 3601), (new, 3599), (open_one, 0), (draft, 3601), (own, 3601)):
        path.write_bytes(b"12345")
        path.chmod(0o600)
        os.utime(path, (NOW - age, NOW - age))
    open_one.chmod(0o644)
    (state / "link").symlink_to("/")
    advice, drafts = f"`chmod -R go-rwx {state}`", "documents/.s1.abey.md.new"
    assert list(places.contents(host, subject)) == [
        ok("quota", "abey's files take 0.0 KiB"),
        warning("permissions", "1 file open to others: sessions/x", advice),
        info("leftovers", f"2 temporary files left behind: a.1-2.new, {drafts}", "`abey gc` removes them"),
    ]
    host.uid += 1
    found = [one.message for one in places.contents(host, subject)]
    assert found[1].startswith("8 files of another user: a.1-2.new, b.new, documents, documents/.s1.abey.md.new")


def test_a_state_directory_above_its_soft_quota(host: FakeHost, subject: Subject) -> None:
    path = subject.state_dir / "big"
    with path.open("wb") as file:
        file.truncate((5 << 30) + 1)
    path.chmod(0o600)
    advice = "`abey gc` puts away what is old; archive or delete what is not needed"
    what = "abey's files take 5120.0 MiB, more than 5120.0 MiB"
    assert next(iter(places.contents(host, subject))) == warning("quota", what, advice)


def test_processes_that_may_outlive_their_call(host: FakeHost, subject: Subject) -> None:
    well = ok("processes", "no process of a tool outlives its call or the daemon")
    what = "tools run in process groups: a process that leaves its group outlives its call"
    advice = "let no tool start programs that detach, or run abey on Linux with /proc"
    bad = warning("processes", what, advice)
    assert list(isolation.processes(host, subject)) == [well]
    assert list(isolation.processes(host, replace(subject, running=replace(DAEMON, leaves_nothing=False)))) == [bad]
    host.platform = "darwin"
    assert list(isolation.processes(host, subject)) == [bad]


def test_what_runs_isolated_calls(host: FakeHost, subject: Subject) -> None:
    assert list(isolation.sandbox(host, subject)) == [ok("sandbox", "calls that ask for it run isolated by bubblewrap")]
    assert host.asked == [((subject.state_dir, subject.config_dir, subject.socket.parent), subject.env)]
    host.isolation = ("Landlock and seccomp", "bubblewrap is not installed")
    what = "calls that ask for it run isolated by Landlock and seccomp, without writing to their folder: "
    assert list(isolation.sandbox(host, subject)) == [
        info("sandbox", f"{what}bubblewrap is not installed", f"{isolation.HELPS}, and they can write")
    ]
    host.isolation = (None, "sandboxes are made on Linux only")
    what = "no call is run isolated here, and one that asks for it waits: sandboxes are made on Linux only"
    assert list(isolation.sandbox(host, subject)) == [info("sandbox", what, f"{isolation.HELPS}; {isolation.WAITS}")]


def test_limits_of_the_system(host: FakeHost, subject: Subject) -> None:
    assert list(isolation.descriptors(host, subject)) == [ok("descriptors", "1024 files may be open at a time")]
    assert list(isolation.inotify(host, subject)) == [ok("inotify", "65536 files may be watched, by 128 watchers")]
    host.files = (256, 4096)
    host.texts["/proc/sys/fs/inotify/max_user_watches"] = "100"
    what, advice = "256 files may be open at a time (at most 4096)", "`ulimit -n 1024` before the daemon is started"
    assert list(isolation.descriptors(host, subject)) == [warning("descriptors", what, advice)]
    advice = "`sysctl fs.inotify.max_user_watches=8192` as root where an editor misses changes"
    assert list(isolation.inotify(host, subject)) == [
        info("inotify", "100 files may be watched, by 128 watchers", advice)
    ]
    host.files = (-1, -1)
    del host.texts["/proc/sys/fs/inotify/max_user_watches"]
    assert list(isolation.descriptors(host, subject)) == [
        ok("descriptors", "any number of files may be open at a time")
    ]
    assert list(isolation.inotify(host, subject)) == []


def test_the_checks_change_nothing(subject: Subject) -> None:
    before = sorted((path, path.lstat().st_mtime_ns) for path in subject.state_dir.parent.rglob("*"))
    found = examine(Host(), subject)
    assert sorted((path, path.lstat().st_mtime_ns) for path in subject.state_dir.parent.rglob("*")) == before
    assert {name for name, _ in CHECKS} >= {one.check for one in found if one.severity == "error"}
    assert [one for one in found if one.severity != "ok" and not one.advice] == []
    assert stat.S_IMODE(subject.state_dir.stat().st_mode) == 0o700
