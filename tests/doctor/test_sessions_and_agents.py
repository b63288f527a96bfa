"""What the doctor says of sessions and of agent files; not one byte of either changes."""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.fake_host import FakeHost
from support.shell import Shell, answer

from abey.core import events as e
from abey.protocol import journal as j
from abey.protocol.journal import BlobRef, Record
from abey.runtime.doctor import agent_files, sessions
from abey.runtime.doctor.findings import Finding, error, info, ok, warning
from abey.runtime.doctor.subject import Running, Subject
from abey.runtime.peeking import peek
from abey.runtime.store.faults import FaultyIO
from abey.runtime.store.io import READ_LIMIT, FileIO
from abey.runtime.store.recovery import Opened
from abey.runtime.store.store import Store

SEE = "see the findings that name them"
DONE = answer(text="done")


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    return Subject(tmp_path / "state", tmp_path / "config", tmp_path / "socket", {"HAVE_KEY": "s3cret"})


async def made(state: Path, *names: str) -> None:
    shell = Shell(state, [DONE] * len(names))
    for name in names:
        await shell.start(name, run=e.UNTIL_YIELD)
        await shell.until(lambda: not shell.scheduler.busy)
    await shell.scheduler.close()


def journal(subject: Subject, name: str) -> Path:
    return subject.state_dir / "sessions" / name / "journal.jsonl"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def look(subject: Subject, host: FakeHost | None = None) -> list[Finding]:
    return list(sessions.sessions(host or FakeHost(), subject))


def test_a_place_without_sessions(subject: Subject) -> None:
    assert look(subject) == [ok("sessions", "there is no session yet")]


def test_a_file_in_the_place_of_the_sessions_is_told(subject: Subject) -> None:
    folder = subject.state_dir / "sessions"
    folder.parent.mkdir()
    folder.write_text("x")
    what = "the folder of the sessions cannot be read: Not a directory"
    assert look(subject) == [error("sessions", what, f"put {folder} back, or give it back to its owner")]


async def test_each_session_with_something_wrong_is_named_and_none_is_changed(subject: Subject) -> None:
    await made(subject.state_dir, "empty", "flipped", "torn", "well")
    whole = journal(subject, "flipped").read_bytes()
    journal(subject, "flipped").write_bytes(whole.replace(b'"hello"', b'"hallo"', 1))
    journal(subject, "empty").write_bytes(b"")
    journal(subject, "torn").write_bytes(journal(subject, "torn").read_bytes()[:-5])
    (subject.state_dir / "sessions" / "bare").mkdir()
    before = files(subject.state_dir)
    first = whole.index(b"\n") + 1
    advice = "`abey repair {}` shows what can be mended"
    assert look(subject) == [
        warning("sessions", "5 sessions examined, 4 with something wrong", SEE),
        warning(
            "sessions",
            "session torn: the last write is not whole; it is cut off, and kept, when the session is opened",
            "`abey session show torn` opens it",
            "torn",
        ),
        error(
            "sessions",
            f"session flipped is damaged at byte {first}: the checksum does not match",
            advice.format("flipped"),
            "flipped",
        ),
        error("sessions", "session empty is damaged at byte 0: the journal is empty", advice.format("empty"), "empty"),
        error("sessions", "session bare is damaged: there is no journal", advice.format("bare"), "bare"),
    ]
    assert files(subject.state_dir) == before


async def test_what_is_no_session_hides_no_other_one(subject: Subject) -> None:
    await made(subject.state_dir, "empty")
    folder = subject.state_dir / "sessions"
    (folder / "file").write_bytes(b"hello")
    (folder / "Not An Id").mkdir()
    (folder / "link").symlink_to("/nowhere")
    journal(subject, "empty").write_bytes(b"")
    assert [(one.severity, one.session_id, one.message) for one in look(subject)] == [
        ("warning", None, "2 sessions examined, 2 with something wrong"),
        ("warning", None, f"no sessions, in {folder}: Not An Id, file"),
        ("error", "link", "session link is damaged: there is no journal"),
        ("error", "empty", "session empty is damaged at byte 0: the journal is empty"),
    ]


async def test_of_a_session_in_memory_the_daemon_knows_more_than_its_files(subject: Subject) -> None:
    await made(subject.state_dir, "failed", "well")
    for name in ("failed", "well"):  # as if a write were going on
        with journal(subject, name).open("ab") as file:
            file.write(b"0123")
    running = Running(
        pid=1,
        durability="power",
        leaves_nothing=True,
        whole=frozenset({"well"}),
        failed={"failed": "no space"},
        disagreements={"well": ("snapshot-3.json is ignored: it is of session x",)},
    )
    assert look(replace(subject, running=running)) == [
        warning("sessions", "2 sessions examined, 2 with something wrong", SEE),
        warning(
            "snapshots",
            "session well: snapshot-3.json is ignored: it is of session x; its journal counts",
            sessions.SNAPSHOT_ADVICE,
            "well",
        ),
        error(
            "sessions",
            "session failed takes no requests since a write failed: no space",
            "`abey session reopen failed`, once the cause is gone",
            "failed",
        ),
    ]


async def test_damage_to_the_journal_of_a_session_in_memory_is_told(subject: Subject) -> None:
    await made(subject.state_dir, "s1")
    journal(subject, "s1").write_bytes(journal(subject, "s1").read_bytes().replace(b'"hello"', b'"hallo"', 1))
    running = Running(pid=1, durability="power", leaves_nothing=True, whole=frozenset({"s1"}))
    [_, found] = look(replace(subject, running=running))
    assert (found.severity, found.session_id) == ("error", "s1")


async def test_contents_that_are_missing_are_told(subject: Subject) -> None:
    shell = Shell(subject.state_dir, [answer(text="x" * 40_000), answer(text="y" * 40_000)])
    live = (await shell.start("s1", run=e.UNTIL_YIELD)).live
    await shell.until(lambda: not shell.scheduler.busy)
    await shell.scheduler.close()
    blobs = list((live.journal.path.parent / "blobs").iterdir())
    blobs[0].unlink()
    what = f"session s1 has lost contents, which are shown so: [missing: blob {blobs[0].name}, 40000 bytes]"
    assert look(subject)[1:] == [
        warning("blobs", what, "put back what is lost in blobs/ of session s1 from a copy", "s1")
    ]


async def test_a_whole_output_that_is_missing_or_has_other_bytes_is_told(subject: Subject) -> None:
    await made(subject.state_dir, "s1")
    good, bad, gone = (BlobRef(sha256=hashlib.sha256(one).hexdigest(), bytes=3) for one in (b"all", b"bad", b"one"))
    store = Store(subject.state_dir, FileIO("process"))
    opened = store.open("s1", "")
    assert isinstance(opened, Opened)
    finished = [j.CallFinished(call_id="c", outcome="completed", output="", whole=one) for one in (good, bad, gone)]
    revision = opened.journal.end.revision
    opened.journal.append([Record(revision + 1 + index, "", one) for index, one in enumerate(finished)])
    opened.journal.close()
    folder = journal(subject, "s1").parent / "blobs"
    folder.mkdir()
    (folder / good.sha256).write_bytes(b"all")
    (folder / bad.sha256).write_bytes(b"bud")
    peeked = peek(FileIO("process"), folder.parent)
    assert peeked.lost == (f"[damaged: blob {bad.sha256}, 3 bytes]", f"[missing: blob {gone.sha256}, 3 bytes]")
    what = f"session s1 has lost contents, which are shown so: {peeked.lost[0]} and 1 more"
    advice = "put back what is lost in blobs/ of session s1 from a copy"
    assert warning("blobs", what, advice, "s1") in look(subject)


async def test_a_session_near_its_quota_is_told(subject: Subject) -> None:
    await made(subject.state_dir, "s1")
    (journal(subject, "s1").parent / "blobs").mkdir()
    with (journal(subject, "s1").parent / "blobs" / ("a" * 64)).open("wb") as file:
        file.truncate(256 << 20)
    [_, found] = look(subject)
    advice = "`abey session export s1`, and start a new session"
    assert (found.check, found.severity, found.advice) == ("quota", "warning", advice)


def test_the_index_is_there_or_not_or_given_up(subject: Subject) -> None:
    path = subject.state_dir / "index.sqlite"
    none = ok("index", "there is none yet; it is made once there is a session to list")
    assert list(sessions.index(FakeHost(), subject)) == [none]
    path.parent.mkdir()
    path.mkdir()
    what = f"{path} is a folder: listing and searching read every session"
    advice = f"move {path} away, then `abey daemon restart`"
    assert list(sessions.index(FakeHost(), subject)) == [warning("index", what, advice)]
    path.rmdir()
    path.write_text("x")
    assert list(sessions.index(FakeHost(), subject)) == [ok("index", f"{path} is there")]
    running = Running(pid=1, durability="power", leaves_nothing=True, has_index=False)
    what = "the index is given up: listing and searching read every session"
    advice = "see the log for the cause, then `abey daemon restart`"
    assert list(sessions.index(FakeHost(), replace(subject, running=running))) == [warning("index", what, advice)]


async def test_a_snapshot_that_disagrees_is_told(subject: Subject) -> None:
    await made(subject.state_dir, "s1")
    (journal(subject, "s1").parent / "snapshot-3.json").write_text("what is this")
    [first, second] = look(subject)
    assert first == warning("sessions", "1 session examined, 1 with something wrong", SEE)
    assert (second.check, second.severity, second.session_id) == ("snapshots", "warning", "s1")


async def test_only_so_much_is_read_and_that_is_said(subject: Subject) -> None:
    await made(subject.state_dir, "a", "b", "c")
    with journal(subject, "c").open("r+b") as file:
        file.truncate(90_000)
    found = look(replace(subject, most_bytes=90_000 + (16 << 10)))
    assert found[0] == warning("sessions", "the newest 2 of 3 examined, 1 with something wrong", SEE)
    assert [one.session_id for one in found[1:]] == ["c"]


async def test_a_session_that_is_written_to_while_it_is_read_is_read_again(subject: Subject) -> None:
    await made(subject.state_dir, "s1")
    path = journal(subject, "s1")
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])

    class Writing(FaultyIO):
        def read(self, path: Path, limit: int = READ_LIMIT) -> bytes:
            data = super().read(path, limit)
            if path.name == "journal.jsonl":
                path.write_bytes(whole)
            return data

    assert look(subject, FakeHost(Writing())) == [ok("sessions", "1 session examined, 0 with something wrong")]


@pytest.mark.parametrize("kind", ["loop", "blobs"])
async def test_what_is_no_session_hides_no_session(subject: Subject, kind: str) -> None:
    await made(subject.state_dir, "s1")
    odd = subject.state_dir / "sessions" / "s2"
    match kind:
        case "loop":
            odd.symlink_to("s2")
        case _:
            odd.mkdir()
            (odd / "blobs").symlink_to("blobs")
    assert [(one.severity, one.session_id) for one in look(subject)] == [("warning", None), ("error", "s2")]


def agent(subject: Subject, name: str, **changes: object) -> Path:
    folder = subject.config_dir / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "slug": name,
        "description": "d",
        "systemPrompt": "s",
        "model": {"provider": "scripted", "script": []},
        "tools": [
            {"kind": "command", "name": "t", "description": "d", "argv": ["true"], "env": ["HAVE_KEY", "NO_KEY"]}
        ],
        **changes,
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(config))
    return path


def test_the_key_of_a_model_is_there_wherever_it_is_kept(subject: Subject) -> None:
    model = {"provider": "anthropic", "name": "m", "apiKey": {"env": "MODEL_KEY"}}
    agent(subject, "one", tools=[], model=model)
    missing = [one for one in agent_files.agents(FakeHost(), subject) if one.check == "keys"]
    assert [(one.severity, one.advice) for one in missing] == [
        ("warning", "set MODEL_KEY in the environment of the client that starts the session, or in keys.json")
    ]
    assert missing[0].message.startswith("the model of one cannot be asked: no API key: the variable MODEL_KEY is set")
    kept = subject.config_dir / "keys.json"
    kept.write_text(json.dumps({"keys": [{"id": "MODEL_KEY", "value": "s3cret"}]}))
    kept.chmod(0o600)
    found = [one for one in agent_files.agents(FakeHost(), subject) if one.check == "keys"]
    assert found == [ok("keys", "the model of one has its key, or needs none")]
    assert "s3cret" not in repr(found)


def test_agents_and_the_variables_they_name_but_never_a_value(subject: Subject) -> None:
    one = agent(subject, "one")
    two = agent(subject, "two", slug="one", tools=[])
    bad = agent(subject, "zbad", model=3)
    found = list(agent_files.agents(FakeHost(), subject))
    assert found[:4] == [
        ok("agents", f"one ({one})"),
        ok("keys", "HAVE_KEY, which one names, is set"),
        warning(
            "keys",
            "NO_KEY, which one names, is not set here",
            "set NO_KEY in the environment of the client that starts the session",
        ),
        warning("agents", f"one ({two}) is hidden by another file with this slug", "give one of the two another slug"),
    ]
    assert [(one.severity, one.advice) for one in found[4:]] == [("error", f"`abey agents check {bad}`")]
    assert found[4].message.startswith(f"zbad ({bad}) cannot be used: ")
    assert "s3cret" not in repr((found, subject))


def test_a_place_without_agents(subject: Subject) -> None:
    folder = subject.config_dir / "agents"
    advice = "`abey agents new SLUG` writes one there; or say --agent-file FILE"
    assert list(agent_files.agents(FakeHost(), subject)) == [info("agents", f"there is no agent in {folder}", advice)]
    assert not os.path.lexists(subject.config_dir)
