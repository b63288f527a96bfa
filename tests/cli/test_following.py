"""What is told of a session that is followed, and in which words."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from abey_cli.context import Context
from abey_cli.events import event_lines
from abey_cli.following import Following


class Answering:
    """A connection that answers `agents/attach` from a list; what is only sent is answered by the test."""

    def __init__(self, *results: Any) -> None:
        self._results = list(results)
        self.asked: list[Any] = []
        self.on_message: Any = None

    def request(self, method: str, params: Any) -> Any:
        self.asked.append((method, params))
        return self._results.pop(0)

    def send(self, method: str, params: Any) -> int:
        self.asked.append((method, params))
        return 7


def event(seq: int | None, session_id: str = "s") -> Any:
    return {"sessionId": session_id, **({} if seq is None else {"seq": seq}), "event": {"type": "note", "text": "x"}}


def heard(method: str, **params: Any) -> Any:
    return {"method": method, "params": params}


def following(client: Answering) -> tuple[Following, list[Any]]:
    told: list[Any] = []
    context = cast(Context, SimpleNamespace(client=client))
    return Following(context, "s", told.append, lambda result: told.append(result["seq"])), told


def test_each_event_is_told_once_over_a_cut_subscription_and_a_new_connection() -> None:
    snapshot = {"snapshot": {}, "replay": [], "seq": 3}
    client = Answering(snapshot, {"replay": [event(7)], "seq": 7})
    one, told = following(client)
    one.attach()
    assert client.on_message == one.heard
    one.heard({"method": "agents/event", "params": event(4)})
    one.heard({"method": "agents/event", "params": event(9, "another")})
    one.heard({"method": "agents/event", "params": event(None)})
    one.heard(heard("agents/overflow", sessionId="another", resumeAfter=2))
    one.heard(heard("agents/overflow", sessionId="s", resumeAfter=4))
    one.heard({"id": 6, "result": {"replay": [event(99)], "seq": 99}})
    one.heard({"id": 7, "result": {"replay": [event(5), event(6)], "seq": 6}})
    one.again()
    assert told == [3, event(4), event(None), event(5), event(6), event(7)]
    assert client.asked == [
        ("agents/attach", {"sessionId": "s"}),
        ("agents/attach", {"sessionId": "s", "after": 4}),
        ("agents/attach", {"sessionId": "s", "after": 6}),
    ]


def test_where_events_are_not_kept_a_snapshot_stands_for_them() -> None:
    one, told = following(Answering({"replay": [event(5)], "seq": 5}, {"snapshot": {}, "replay": [], "seq": 90}))
    one.attach(4)
    one.again()
    one.heard({"method": "agents/event", "params": event(91)})
    assert told == [event(5), 90, event(91)]


EVIL = "\x1b[31mred\u202e"
SHOWN = "\\x1b[31mred\\u202e"


def call(state: str) -> Any:
    return {"kind": "toolCall", "call": {"tool": EVIL, "arguments": {}, "state": state}}


@pytest.mark.parametrize(
    ("told", "lines"),
    [
        ({"type": "item/completed", "item": {"kind": "answer", "text": f"a\n{EVIL}"}}, ["a", SHOWN]),
        ({"type": "item/updated", "item": call("ready")}, []),
        ({"type": "item/updated", "item": call("running")}, [f"* {SHOWN} {{}}: running"]),
        ({"type": "item/completed", "item": call("failed")}, [f"* {SHOWN} {{}}: failed"]),
        ({"type": "pending/added", "pending": {"token": "t", "tool": EVIL}}, [f"waits: t ({SHOWN})"]),
        ({"type": "pending/resolved", "resolution": {"text": EVIL}}, [SHOWN]),
        ({"type": "turn/completed", "n": 2, "end": "answered"}, ["turn 2 ended: answered"]),
        ({"type": "input/queued", "inputId": "i"}, ["queued: i"]),
        ({"type": "input/withdrawn", "inputId": "i"}, ["withdrawn: i"]),
        ({"type": "input/rejected", "inputId": EVIL}, [f"rejected: {SHOWN}"]),
        ({"type": "input/stopped", "inputId": "i"}, ["stopped: i"]),
        ({"type": "note", "text": f"a\n{EVIL}"}, ["note: a", f"note: {SHOWN}"]),
        (
            {"type": "stale-result", "invocationId": "v"},
            ["note: a tool that was told to end came back late; its result goes nowhere"],
        ),
        (
            {"type": "capability/create-failed", "capabilityId": EVIL, "message": EVIL},
            [f"note: {SHOWN} could not be opened: {SHOWN}"],
        ),
        (
            {"type": "capability/dispose-failed", "capabilityId": "c", "message": "m"},
            ["note: c could not be closed: m"],
        ),
        ({"type": "record-failed", "message": EVIL}, [f"error: {SHOWN}"]),
        ({"type": "usage"}, []),
        ({"type": "something/new"}, []),
    ],
)
def test_an_event_in_words_is_harmless(told: Any, lines: list[str]) -> None:
    assert event_lines(told) == lines
