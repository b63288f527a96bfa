"""llmock as the provider: every way to fail is told as what it is, and nothing half-said is ever acted upon."""

from typing import Any

import pytest
from support.e2e import Place
from support.e2e_peer import Peer, Refusal
from support.peers import WIRES, Server, model_at

from abey.core.conversation import ModelRequest, UserMessage
from abey.errors import ModelFailed
from abey.protocol.config import HttpModel
from abey.protocol.transcript import TextPart
from abey.runtime.clock import SystemClock
from abey.runtime.models.asking import IDLE_SECONDS, Asking
from abey.runtime.models.network import Network
from abey.runtime.models.retrying import MAX_TRIES, Retrying

pytestmark = pytest.mark.parametrize("wire", WIRES)

SUNNY = {"type": "reply", "text": "It is sunny in Paris today."}
BUMPS = {"type": "reply", "tool_calls": [{"name": "bump", "arguments": {"x": "a long word for many pieces"}}]}
IN_THE_CALL, IN_THE_TEXT = 4, 6
"""After so many events a stream has told a part of the arguments of BUMPS, or of SUNNY, on every wire."""
SILENT = {"type": "stream_fault", "kind": "stall", "after_chunks": IN_THE_TEXT, "stall_seconds": 600}


class Hasty(SystemClock):
    """A clock on which time flies: an idle stream is given up within a second."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / IDLE_SECONDS)


def base(wire: str, llmock: Server) -> str:
    return f"{llmock.url}/anthropic" if wire == "anthropic" else f"{llmock.url}/v1"


def agent(place: Place, wire: str, llmock: Server, *behaviors: Any) -> str:
    """The file of an agent whose model will do this, one behaviour a request."""
    if behaviors:
        llmock.post("/_llmock/scenario", {"behaviors": behaviors})
    return str(place.agent(model=model_at(wire, base(wire, llmock)), systemPrompt="Be brief."))


def started(place: Place, file: str) -> str:
    return str(place.rpc("agents/start", agentFile=file, prompt="Weather?", cwd=str(place.work))["sessionId"])


def statuses(llmock: Server) -> list[int]:
    return [request["status"] for request in llmock.get("/_llmock/requests")["requests"]]


def findings(llmock: Server) -> list[str]:
    """What llmock has against the way in which it was asked."""
    return [finding["code"] for finding in llmock.get("/_llmock/verdict")["findings"]]


def refused(place: Place, named: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        place.rpc("agents/step", sessionId=named)
    return caught.value


@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_failure_that_passes_is_waited_out(llmock: Server, place: Place, wire: str, status: int) -> None:
    fails = {"type": "fail", "status": status, "retry_after": 0.5, "times": 2}
    file = agent(place, wire, llmock, fails, SUNNY)
    assert place.abey("run", "--agent-file", file, "-p", "Weather?") == "It is sunny in Paris today.\n"
    assert (statuses(llmock), findings(llmock)) == ([status, status, 200], [])


@pytest.mark.parametrize(
    ("status", "kind", "tries"),
    [
        (401, "model/auth", 1),
        (429, "model/rate-limited", 3),
        (503, "model/overloaded", 3),
        (529, "model/overloaded", 3),
    ],
)
def test_a_failure_that_stays_is_told_and_the_session_goes_on_after_it(
    llmock: Server, place: Place, wire: str, status: int, kind: str, tries: int
) -> None:
    named = started(
        place, agent(place, wire, llmock, {"type": "fail", "status": status, "retry_after": 0.3, "times": None})
    )
    refusal = refused(place, named)
    assert (refusal.kind, refusal.data["httpStatus"], refusal.data["attempts"]) == (kind, status, tries)
    session = place.session(named)
    assert (session["state"], session["lastError"]["kind"]) == ("userTurn", kind)
    assert (statuses(llmock), findings(llmock)) == ([status] * tries, [])
    llmock.delete("/_llmock/scenario")
    agent(place, wire, llmock, SUNNY)
    assert place.abey("run", "--session", named) == "It is sunny in Paris today.\n"
    assert "lastError" not in place.session(named)


@pytest.mark.parametrize(
    ("fault", "kind", "tries"),
    [
        ("disconnect", "model/transient", 3),
        ("truncate", "model/transient", 3),
        ("malformed", "model/invalid-output", 1),
    ],
)
def test_of_a_stream_that_breaks_in_a_call_nothing_is_kept(
    llmock: Server, place: Place, wire: str, fault: str, kind: str, tries: int
) -> None:
    breaks = {"type": "stream_fault", "kind": fault, "after_chunks": IN_THE_CALL, "times": tries}
    named = started(place, agent(place, wire, llmock, breaks, {**BUMPS, "times": tries + 1}, SUNNY))
    refusal = refused(place, named)
    assert (refusal.kind, refusal.data["attempts"]) == (kind, tries)
    assert [item["kind"] for item in place.rpc("agents/transcript", sessionId=named)["items"]] == ["input"]
    session = place.session(named)
    assert (session["state"], session["lastError"]["kind"], place.ran()) == ("userTurn", kind, 0)
    assert place.abey("run", "--session", named) == "It is sunny in Paris today.\n"
    assert (place.ran(), statuses(llmock)) == (1, [200] * (tries + 2))


@pytest.mark.parametrize("fault", ["disconnect", "truncate"])
def test_a_stream_that_breaks_once_is_asked_for_again(llmock: Server, place: Place, wire: str, fault: str) -> None:
    breaks = {"type": "stream_fault", "kind": fault, "after_chunks": IN_THE_TEXT}
    file = agent(place, wire, llmock, breaks, {**SUNNY, "times": 2})
    assert place.abey("run", "--agent-file", file, "-p", "Weather?") == "It is sunny in Paris today.\n"
    assert findings(llmock) == []


def test_a_stream_that_pauses_is_waited_for(llmock: Server, place: Place, wire: str) -> None:
    stalls = {"type": "stream_fault", "kind": "stall", "after_chunks": IN_THE_TEXT, "stall_seconds": 1}
    file = agent(place, wire, llmock, stalls, SUNNY)
    assert place.abey("run", "--agent-file", file, "-p", "Weather?") == "It is sunny in Paris today.\n"
    assert statuses(llmock) == [200]


def test_a_turn_is_cancelled_while_its_stream_is_silent(llmock: Server, place: Place, wire: str) -> None:
    named = started(place, agent(place, wire, llmock, SILENT, SUNNY, SUNNY))
    with place.peer("one") as one:
        run = heard_to_begin(one, named)
        place.abey("session", "cancel", named)
        one.answer(run)
    assert place.abey("run", "--session", named, "-p", "And now?") == "It is sunny in Paris today.\n"


def test_a_daemon_that_is_killed_in_a_stream_asks_once_more(llmock: Server, place: Place, wire: str) -> None:
    named = started(place, agent(place, wire, llmock, SILENT, SUNNY, SUNNY))
    with place.peer("one") as one:
        heard_to_begin(one, named)
        place.kill_daemon()
    assert place.abey("run", "--session", named) == "It is sunny in Paris today.\n"
    items = place.rpc("agents/transcript", sessionId=named)["items"]
    assert [item["kind"] for item in items if item["kind"] != "note"] == ["input", "answer"]
    assert statuses(llmock) == [200, 200]


def heard_to_begin(one: Peer, named: str) -> int:
    """The request that runs the session, once a piece of its answer was heard."""
    one.request("agents/attach", sessionId=named, deltas=True)
    run = one.start("agents/run", sessionId=named)
    while one.hear("agents/event")["event"]["type"] != "item/delta":
        pass
    return run


async def test_a_stream_that_falls_silent_is_given_up_and_asked_for_again(llmock: Server, wire: str) -> None:
    llmock.post("/_llmock/scenario", {"behaviors": [{**SILENT, "times": 3}, {**SUNNY, "times": 3}]})
    model = HttpModel.model_validate(model_at(wire, base(wire, llmock)))
    asking = Retrying(Asking(model, lambda: None, Network({}), Hasty()), Hasty())
    with pytest.raises(ModelFailed) as caught:
        await asking.ask(ModelRequest("", (UserMessage((TextPart(text="Weather?"),)),), (), 0), lambda delta: None)
    assert (caught.value.model_code, caught.value.details["attempts"]) == ("timeout", MAX_TRIES)


@pytest.mark.parametrize(
    ("fault", "output"), [("malformed_arguments", "tool/invalid-arguments"), ("unknown_tool", "tool/unknown")]
)
def test_a_call_that_cannot_be_run_is_a_failed_result(
    llmock: Server, place: Place, wire: str, fault: str, output: str
) -> None:
    file = agent(place, wire, llmock, {"type": "tool_fault", "kind": fault}, BUMPS, SUNNY)
    named = started(place, file)
    assert place.abey("run", "--session", named) == "It is sunny in Paris today.\n"
    items = place.rpc("agents/transcript", sessionId=named)["items"]
    [call] = [item["call"] for item in items if item["kind"] == "toolCall"]
    assert (call["state"], call["output"].startswith(output), place.ran()) == ("failed", True, 0)
