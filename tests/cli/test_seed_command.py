"""`abey session seed`: what of a file goes to the daemon, and what is printed."""

import json
from pathlib import Path
from typing import Any

from support.canned_daemon import SESSION_ID, CannedDaemon, Refusal, session

from abey_cli.events import event_lines

ENTRIES = [{"kind": "input", "turnId": "t1", "event": "hi"}]
RECORD = {
    "version": 1,
    "revision": 9,
    "transition": "input",
    "session": {"id": "old", "userId": "u", "context": {"a": None}, "turnCount": 3, "status": "running"},
    "transcript": ENTRIES,
}
TAKEN = {"id": "old", "userId": "u", "context": {"a": None}, "turnCount": 3, "revision": 9, "transcript": ENTRIES}


def asked(daemon: CannedDaemon) -> list[Any]:
    return [params["seed"] for params in daemon.params("agents/seed")]


def test_a_seed_goes_as_it_is_and_what_start_prints_is_printed(abey, daemon: CannedDaemon, work: Path) -> None:
    daemon.on["agents/seed"] = session()
    (work / "s.json").write_text('{"transcript": [], "bogus": 1}')
    ran = abey("session", "seed", "s.json", "--agent-file", "a.json", "--title", "T", "--idempotency-key", "k")
    way_on = f"`abey session resume {SESSION_ID}` goes on\n"
    assert ran == (0, f"session-id: {SESSION_ID}\nState: UserTurn (ready for LLM)\n", way_on)
    assert daemon.params("agents/seed") == [
        {
            "agentFile": str(work / "a.json"),
            "seed": {"transcript": [], "bogus": 1},
            "cwd": str(work),
            "title": "T",
            "idempotencyKey": "k",
        }
    ]


def test_a_session_that_goes_on_needs_no_agent(abey, daemon: CannedDaemon, work: Path) -> None:
    daemon.on["agents/list"] = {"items": [], "untrusted": []}
    daemon.on["agents/get"] = daemon.on["agents/seed"] = session()
    (work / "s.json").write_text('{"id": "mine", "transcript": []}')
    assert abey("session", "seed", "s.json").code == 0
    seed = {"id": "mine", "transcript": []}
    assert daemon.params("agents/seed") == [{"seed": seed, "cwd": str(work)}]

    def unknown(_: Any) -> None:
        raise Refusal(-31001, "no session mine", kind="session/unknown", retryable=False)

    daemon.on["agents/get"] = unknown
    ran = abey("session", "seed", "s.json")
    assert (ran.code, ran.err.startswith("abey: no agent found:")) == (2, True)


def test_a_record_is_the_seed_that_it_tells_of(abey, daemon: CannedDaemon, work: Path) -> None:
    daemon.on["agents/seed"] = session()
    (work / "r.json").write_text(json.dumps(RECORD))
    for options in ([], ["--id", "new"]):
        assert abey("session", "seed", "r.json", "--agent-file", "a.json", *options).code == 0
    assert asked(daemon) == [TAKEN, {**TAKEN, "id": "new"}]


def test_what_is_no_json_never_leaves_the_program(abey, daemon: CannedDaemon, work: Path) -> None:
    for text in ("nothing", '{"a": NaN}', ""):
        (work / "s.json").write_text(text)
        ran = abey("session", "seed", "s.json", "--agent-file", "a.json")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("abey: s.json is no JSON value:")
    given = abey("session", "seed", "-", "--agent-file", "a.json", typed="nothing")
    assert given.err.startswith("abey: what came on stdin is no JSON value:")
    assert asked(daemon) == []


def test_what_is_wrong_with_it_is_told(abey, daemon: CannedDaemon, work: Path) -> None:
    errors = ["transcript[0].kind: it is missing", "x: there is no such member", "id: a text is expected"]
    message = f"the seed is not valid: {errors[0]}"

    def refuse(_: Any) -> None:
        raise Refusal(-31020, message, kind="session/invalid-seed", retryable=False, errors=errors)

    daemon.on["agents/seed"] = refuse
    (work / "s.json").write_text("[]")
    ran = abey("session", "seed", "s.json", "--agent-file", "a.json")
    rest = "; ".join(errors[1:])
    assert (ran.code, ran.err) == (1, f"abey: {message} (session/invalid-seed); {rest}\n")
    assert asked(daemon) == [[]]


def test_who_follows_a_session_hears_of_it() -> None:
    event = {"type": "session/seeded", "revision": 7, "transcriptEntries": 2}
    assert event_lines(event) == ["seeded: 2 entries of elsewhere are the transcript now"]
