"""Traces of the installed daemon, as an OTLP receiver over HTTP gets them: one a turn, also over a kill -9."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from support.e2e import Place, calls, deferred, says, until
from support.e2e_peer import Refusal
from support.replay import Canned, Replay, replaying_beside

CANARY = "canary-otlp-77e0"


@pytest.fixture
def receiver() -> Iterator[Replay]:
    with replaying_beside(Canned([b""])) as receiver:
        yield receiver


def spans(receiver: Replay) -> dict[str, Any]:
    """What has come, by name."""
    found = {}
    for asked in receiver.asked:
        for resource in ExportTraceServiceRequest.FromString(asked.body).resource_spans:
            for scope in resource.scope_spans:
                found |= {span.name: span for span in scope.spans}
    return found


def test_a_turn_that_outlives_its_daemon_is_one_trace(machine: Place, receiver: Replay) -> None:
    machine.env |= {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url.removesuffix("/v1"),
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-key={CANARY}",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "ABEY_LOG": "debug",
    }
    file = machine.agent(script=[calls(("sh", {"command": f"echo {CANARY}"})), says("done")], rules=[deferred("sh")])
    session = machine.rpc("agents/start", agentFile=str(file), prompt=f"go {CANARY}")
    assert machine.rpc("agents/run", sessionId=session["sessionId"])["outcome"] == "waiting"
    until(lambda: spans(receiver), "for the first model call")
    machine.kill_daemon()
    (pending,) = machine.rpc("agents/pending")["items"]
    shown = {"token": pending["token"], "argumentsHash": pending["argumentsHash"]}
    machine.rpc("agents/complete", **shown, outcome={"kind": "approve"})
    assert machine.rpc("agents/run", sessionId=session["sessionId"])["outcome"] == "completed"
    machine.abey("daemon", "stop")
    found = spans(receiver)
    assert sorted(found) == ["chat", "execute_tool sh", "invoke_agent a"]
    turn = found.pop("invoke_agent a")
    assert {(one.trace_id, one.parent_span_id) for one in found.values()} == {(turn.trace_id, turn.span_id)}
    assert {asked.path for asked in receiver.asked} == {"/v1/traces"}
    assert {asked.headers["x-key"] for asked in receiver.asked} == {CANARY}
    assert not any(CANARY.encode() in asked.body for asked in receiver.asked)
    assert CANARY not in machine.log()


def test_nothing_of_a_key_is_told_or_logged_and_who_has_answered_is(machine: Place, receiver: Replay) -> None:
    machine.env |= {
        "MY_KEY": CANARY,
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url.removesuffix("/v1"),
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
        "ABEY_LOG": "debug",
    }
    refused = Canned([json.dumps({"error": {"message": f"no such key: {CANARY}"}}).encode()], 401)
    choice = {"index": 0, "message": {"content": "hello"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 1}
    said = Canned([json.dumps({"model": "tiny-2026", "choices": [choice], "usage": usage}).encode()])
    with replaying_beside(refused, said) as server:
        model = {"provider": "openai", "name": "tiny", "baseUrl": server.url, "apiKey": {"env": "MY_KEY"}}
        session = machine.rpc("agents/start", agentFile=str(machine.agent(model=model)), prompt="hi")
        with pytest.raises(Refusal):
            machine.rpc("agents/step", sessionId=session["sessionId"])
        machine.rpc("agents/run", sessionId=session["sessionId"])
        machine.abey("daemon", "stop")
    told = {one.key: one.value for one in spans(receiver)["chat tiny"].attributes}
    assert told["gen_ai.response.model"].string_value == "tiny-2026"
    assert json.loads(told["gen_ai.output.messages"].string_value)[0]["finish_reason"] == "stop"
    assert not any(CANARY.encode() in asked.body for asked in receiver.asked)
    files = [path for path in machine.root.rglob("*") if path.is_file()]
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []


def test_a_receiver_that_is_not_there_holds_nothing_up(machine: Place) -> None:
    machine.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:1"
    file = machine.agent(script=[says("done")])
    session = machine.rpc("agents/start", agentFile=str(file), prompt="go")
    assert machine.rpc("agents/run", sessionId=session["sessionId"])["outcome"] == "completed"
    machine.abey("daemon", "stop")
    assert machine.daemon_pid() is None
