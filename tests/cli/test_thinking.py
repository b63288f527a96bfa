"""`--thinking`: what a model thinks, beside its answer."""

from argparse import Namespace
from typing import Any

import pytest
from support.canned_daemon import AT, SESSION_ID, CannedDaemon, answered, session

from abey_cli.thinking import as_thinking_goes

THOUGHT = {"itemId": "3.0", "revision": 3, "turnId": "t1", "at": AT, "kind": "thinking", "text": "first\nthen"}
SAID = {**THOUGHT, "itemId": "3.1", "kind": "answer", "text": "all done"}


@pytest.fixture
def thinking(daemon: CannedDaemon) -> CannedDaemon:
    """A daemon whose model thinks before it answers: the events were missed, and are in the answer to `attach`."""
    events = [
        {"sessionId": SESSION_ID, "seq": n, "event": {"type": "item/completed", "item": item}}
        for n, item in enumerate((THOUGHT, SAID), 1)
    ]
    daemon.on["agents/attach"] = {"replay": events, "seq": 2}
    daemon.on["agents/start"] = answered()
    daemon.on["agents/run"] = daemon.on["agents/resume"] = {"outcome": "completed", "steps": 1, "session": answered()}
    daemon.on["agents/step"] = {"outcome": "completed", "session": answered()}
    daemon.on["agents/continue"] = answered()
    daemon.on["agents/transcript"] = {"items": [THOUGHT, SAID], "hasMore": False}
    return daemon


RUNS = [
    (("run", "--agent", "a", "-p", "x"), "all done\n"),
    (("session", "resume", SESSION_ID), "all done\n"),
    (("session", "continue", SESSION_ID), "all done\n"),
    (("session", "step", SESSION_ID), "State: LlmTurn (completed)\nall done\n"),
    (
        ("session", "start", "--agent", "a", "-p", "x", "--step"),
        f"session-id: {SESSION_ID}\nState: LlmTurn (completed)\nall done\n",
    ),
]
each_run = pytest.mark.parametrize(("words", "out"), RUNS, ids=[" ".join(words[:2]) for words, _ in RUNS])


@each_run
def test_it_goes_where_it_is_told_to(abey, thinking: CannedDaemon, words, out) -> None:
    assert abey(*words, "--thinking", "stdout").out == f"first\nthen\n{out}"
    ran = abey(*words, "--thinking", "stderr")
    assert (ran.out, "first\nthen\n" in ran.err) == (out, True)


@each_run
def test_nowhere_is_where_it_goes_otherwise(abey, thinking: CannedDaemon, words, out) -> None:
    for options in ((), ("--thinking", "none")):
        ran = abey(*words, *options)
        assert (ran.out, "then" in ran.err) == (out, False)


@each_run
def test_stdout_is_of_the_result_alone_with_json(abey, thinking: CannedDaemon, words, out) -> None:
    ran = abey(*words, "--thinking", "stdout", "--json")
    assert ran.code == 2
    assert "--thinking stdout goes without --json" in ran.out
    assert [name for name, _ in thinking.asked if name not in ("agents/get",)] == []


def test_a_session_that_takes_no_step_thinks_nothing(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/start"] = session()
    ran = abey("session", "start", "--agent", "a", "-p", "x", "--thinking", "stdout")
    assert ran.out == f"session-id: {SESSION_ID}\nState: UserTurn (ready for LLM)\n"


@pytest.mark.parametrize(("where", "told"), [("none", [1]), ("stderr", [0, 1, 2, 3]), (None, [0, 1, 2, 3])])
def test_a_terminal_does_not_show_it_where_it_goes_nowhere(where: str | None, told: list[int]) -> None:
    class Asked:
        options = Namespace(thinking=where)

    events = [
        {"type": "item/delta", "kind": "thinking", "text": "fi"},
        {"type": "item/completed", "item": SAID},
        {"type": "item/completed", "item": THOUGHT},
        {"type": "item/started", "item": THOUGHT},
    ]
    heard: list[Any] = []
    tell = as_thinking_goes(Asked(), heard.append)  # type: ignore[arg-type]
    for event in events:
        tell({"event": event})
    assert [one["event"] for one in heard] == [events[n] for n in told]
