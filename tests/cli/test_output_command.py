"""`abey session output`: all that a call has printed, a part at a time."""

import base64
import json
import subprocess
import sys
from typing import Any

import pytest
from support.canned_daemon import SESSION_ID, TOKEN, CannedDaemon, tool_item, transcript

HALVES = (b"one \x1b[2J\n", b"two")


class Printed:
    """A call whose output comes in two parts."""

    def __init__(self, daemon: CannedDaemon, *parts: bytes, encoding: str = "utf-8") -> None:
        self.parts = parts
        self.encoding = encoding
        self.asked: list[str] = []
        daemon.on["agents/output"] = self.part
        daemon.on["agents/transcript"] = transcript(
            tool_item("c1", "completed"), tool_item("c2", "completed", token=TOKEN), tool_item("d1", "running")
        )

    def part(self, params: Any) -> Any:
        self.asked.append(params["callId"])
        before, whole = 0, b"".join(self.parts)
        for part in self.parts:
            if before == params["offset"]:
                data = base64.b64encode(part).decode() if self.encoding == "base64" else part.decode()
                return {"data": data, "encoding": self.encoding, "size": len(whole)}
            before += len(part)
        raise AssertionError(params)


@pytest.mark.parametrize(
    ("given", "call"), [((), "d1"), (("c1",), "c1"), (("c2",), "c2"), (("d",), "d1"), ((TOKEN[:12] + "…",), "c2")]
)
def test_a_call_is_named_by_its_id_or_its_token_and_is_else_the_last(abey, daemon: CannedDaemon, given, call) -> None:
    printed = Printed(daemon, *HALVES)
    assert abey("session", "output", SESSION_ID, *given) == (0, "one \x1b[2J\ntwo", "")
    assert printed.asked == [call, call]


def test_on_a_terminal_it_does_not_act(abey, daemon: CannedDaemon, monkeypatch) -> None:
    Printed(daemon, *HALVES)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert abey("session", "output", SESSION_ID).out == "one \\x1b[2J\ntwo"


@pytest.mark.parametrize(
    ("encoding", "data"), [("utf-8", "one \x1b[2J\ntwo"), ("base64", base64.b64encode(b"".join(HALVES)).decode())]
)
def test_as_json_it_is_one_value(abey, daemon: CannedDaemon, encoding: str, data: str) -> None:
    Printed(daemon, *HALVES, encoding=encoding)
    ran = abey("session", "output", SESSION_ID, "--json")
    assert json.loads(ran.out) == {"data": data, "encoding": encoding, "size": 12}


def test_bytes_that_are_no_text_go_to_a_pipe_as_they_are(daemon: CannedDaemon) -> None:
    Printed(daemon, b"\xff\x00", encoding="base64")
    line = [sys.executable, "-c", "from abey_cli.main import main; main()", "session", "output", SESSION_ID]
    assert subprocess.run(line, capture_output=True, timeout=60).stdout == b"\xff\x00"


def test_what_begins_several_calls_or_none_is_refused(abey, daemon: CannedDaemon) -> None:
    Printed(daemon, b"")
    several = abey("session", "output", SESSION_ID, "c")
    assert (several.code, several.err) == (2, "abey: 'c' begins 2 calls: c1, c2\n")
    daemon.on["agents/transcript"] = transcript()
    none = abey("session", "output", SESSION_ID)
    assert (none.code, none.err) == (2, f"abey: session {SESSION_ID} has no call\n")
