"""Spans as the GenAI conventions have them, over the SDK's exporter in memory."""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from support.world import text_parts, tool

from abey.core.agent import Agent
from abey.core.conversation import (
    AskedCall,
    AssistantMessage,
    CallMessage,
    ModelAnswer,
    ModelRequest,
    ResultMessage,
    ToolOutcome,
    UserMessage,
)
from abey.core.replay import fold
from abey.core.session import Session
from abey.errors import ModelFailed
from abey.protocol import journal as j
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.session import Usage
from abey.protocol.transcript import Client, FilePart, MediaPart
from abey.runtime.child_sessions import ChildRests
from abey.runtime.ports import ToolCall
from abey.runtime.telemetry.spans import SpanTracing
from abey.runtime.tracing import NoTracing
from abey.shared.version import VERSION

CANARY = "canary-5c1e"
CLIENT = Client(id="c1", name="test", kind="cli")
AT = "2026-11-30T08:00:0{}.000Z"
SECOND = 1_000_000_000
MODEL = {"provider": "openai-responses", "name": "m1", "baseUrl": "http://models.example:8080", "parameters": {}}
MORE = {**MODEL, "parameters": {"temperature": 0.5, "max_output_tokens": 9, "seed": 7, "stop": ["x"]}}
REQUEST = ModelRequest(
    f"sys {CANARY}",
    (
        UserMessage((*text_parts(f"hi {CANARY}"), FilePart(path="/f"), MediaPart(mime_type="image/png"))),
        AssistantMessage((ThinkingBlock(text="hm"),), (CallMessage("k1", "sh", "{}"),)),
        ResultMessage("k1", "sh", "done", False),
    ),
    (),
    0,
)
ANSWER = ModelAnswer(
    (TextBlock(text=f"yes {CANARY}"),),
    (AskedCall("k2", "sh", "{}"),),
    "tool_calls",
    Usage(input_tokens=3, output_tokens=2, cached_tokens=1, reasoning_tokens=0),
    attempts=2,
    model="m1-2026",
)
COMMON = {"gen_ai.conversation.id": "s1", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m1"}
CHAT = {
    **COMMON,
    "gen_ai.operation.name": "chat",
    "gen_ai.request.temperature": 0.5,
    "gen_ai.request.max_tokens": 9,
    "gen_ai.request.seed": 7,
    "gen_ai.request.stream": True,
    "server.address": "models.example",
    "server.port": 8080,
}
ANSWERED = {
    "gen_ai.response.finish_reasons": ("tool_calls",),
    "gen_ai.response.model": "m1-2026",
    "gen_ai.usage.input_tokens": 3,
    "gen_ai.usage.output_tokens": 2,
    "gen_ai.usage.cache_read.input_tokens": 1,
    "gen_ai.usage.reasoning.output_tokens": 0,
    "abey.attempts": 2,
}
RAN = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.conversation.id": "s1",
    "gen_ai.tool.name": "sh",
    "gen_ai.tool.call.id": "k1",
    "gen_ai.tool.type": "function",
    "abey.tool.kind": "command",
}
Told = tuple[str, SpanKind, Mapping[str, Any], bool]


class Daemon:
    """One that follows its work into memory."""

    def __init__(self, with_content: bool = False) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracing = SpanTracing(SimpleSpanProcessor(self._exporter), with_content)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return tuple(self._exporter.get_finished_spans())

    @property
    def told(self) -> list[Told]:
        """Name, kind, attributes, and whether it failed, of each span."""
        return [
            (one.name, one.kind, dict(one.attributes or {}), one.status.status_code is StatusCode.ERROR)
            for one in self.spans
        ]

    def end(self, session: Session, data: j.RecordData) -> None:
        self.tracing.committed(session, agent(), (j.Record(session.revision, AT.format(9), data),))


def agent(model: Mapping[str, Any] = MORE) -> Agent:
    return Agent("a", {"slug": "a", "model": model}, "0" * 64, "0" * 64)


def session(*after: j.RecordData, session_id: str = "s1") -> Session:
    """One that begins at second 1; every record is a second later."""
    created = j.Created(session_id=session_id, agent="a", config={}, config_hash="0" * 64, cwd="/w", title="t")
    asked = j.Input(turn_id="t1", input_id="i1", parts=text_parts("hi"), client=CLIENT)
    data = (created, asked, *after)
    found = fold([j.Record(rev, AT.format(rev), one) for rev, one in enumerate(data, 1)])
    assert found is not None
    return found


def requested() -> j.ModelRequested:
    return j.ModelRequested(turn_id="t1", step_id="p1", invocation_id="n1", request_hash="", config_hash="")


FINAL = j.Final(turn_id="t1", step_id="p1")
CANDIDATE = j.Candidate(turn_id="t1", step_id="p1", invocation_id="n1", finish_reason="stop", usage=Usage(), attempts=1)
ENDED = (requested(), CANDIDATE, FINAL)


def call(session_id: str = "s1", child_id: str | None = None) -> ToolCall:
    return ToolCall(
        session_id,
        "k1",
        "n2",
        {"command": CANARY},
        "/w",
        {"KEY": CANARY},
        lambda: pytest.fail("nothing is spooled"),
        child_id=child_id,
        turn_id="t1",
        session=session(session_id=session_id),
    )


def gives(value: Any) -> Callable[..., Any]:
    async def give(*_: Any) -> Any:
        if isinstance(value, BaseException):
            raise value
        return value

    return give


async def ask(daemon: Daemon, reply: Any, model: Mapping[str, Any] = MORE) -> ModelAnswer:
    return await daemon.tracing.asking(session(requested()), agent(model), gives(reply))(REQUEST)


async def run(daemon: Daemon, outcome: Any) -> ToolOutcome:
    return await daemon.tracing.running(tool("sh"), call(), gives(outcome))()


async def test_a_model_call_is_told_with_what_it_came_to_and_nothing_that_was_said() -> None:
    daemon = Daemon()
    assert await ask(daemon, ANSWER) == ANSWER
    assert daemon.told == [("chat m1", SpanKind.CLIENT, {**CHAT, **ANSWERED}, False)]
    assert CANARY not in daemon.spans[0].to_json()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelFailed("rate-limited", f"slow down {CANARY}"), "rate-limited"),
        (asyncio.CancelledError(), "cancelled"),
        (ValueError(CANARY), "ValueError"),
    ],
)
async def test_a_model_call_that_fails_is_told_by_its_kind_alone(error: BaseException, kind: str) -> None:
    daemon = Daemon()
    with pytest.raises(type(error)):
        await ask(daemon, error)
    assert daemon.told == [("chat m1", SpanKind.CLIENT, {**CHAT, "error.type": kind}, True)]
    assert CANARY not in daemon.spans[0].to_json()


async def test_the_embedded_model_and_a_place_that_is_none_are_told_as_far_as_they_go() -> None:
    daemon = Daemon()
    await ask(daemon, ANSWER, {"provider": "scripted", "script": []})
    await ask(daemon, ANSWER, {**MODEL, "baseUrl": "no place"})
    await ask(daemon, ANSWER, {"provider": "anthropic", "name": "m2"})
    asked = [{name: value for name, value in one[2].items() if name not in ANSWERED} for one in daemon.told]
    begun = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "s1"}
    streamed = {**begun, "gen_ai.request.stream": True}
    assert [one[0] for one in daemon.told] == ["chat", "chat m1", "chat m2"]
    assert asked == [
        {**begun, "gen_ai.provider.name": "scripted"},
        {**streamed, "gen_ai.provider.name": "openai", "gen_ai.request.model": "m1"},
        {
            **streamed,
            "gen_ai.provider.name": "anthropic",
            "gen_ai.request.model": "m2",
            "server.address": "api.anthropic.com",
            "server.port": 443,
        },
    ]


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (ToolOutcome(CANARY), None),
        (ToolOutcome(CANARY, "tool/timeout"), "tool/timeout"),
        (asyncio.CancelledError(), "cancelled"),
        (ChildRests(), None),
    ],
)
async def test_a_call_of_a_tool_is_told_with_its_error_and_nothing_that_was_said(
    outcome: Any, kind: str | None
) -> None:
    daemon = Daemon()
    if isinstance(outcome, ToolOutcome):
        assert await run(daemon, outcome) == outcome
    else:
        with pytest.raises(type(outcome)):
            await run(daemon, outcome)
    failed = {"error.type": kind} if kind else {}
    assert daemon.told == [("execute_tool sh", SpanKind.INTERNAL, {**RAN, **failed}, kind is not None)]
    assert CANARY not in daemon.spans[0].to_json()


async def test_what_was_said_is_told_where_that_is_asked_for() -> None:
    daemon = Daemon(with_content=True)
    await ask(daemon, ANSWER)
    await run(daemon, ToolOutcome({"a": 1}))
    chat, ran = (dict(one.attributes or {}) for one in daemon.spans)
    assert json.loads(str(chat["gen_ai.system_instructions"])) == [{"type": "text", "content": f"sys {CANARY}"}]
    assert json.loads(str(chat["gen_ai.input.messages"])) == [
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": f"hi {CANARY}"},
                {"type": "uri", "modality": "text", "uri": "/f"},
                {"type": "blob", "mime_type": "image/png"},
            ],
        },
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "hm"},
                {"type": "tool_call", "id": "k1", "name": "sh", "arguments": "{}"},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "k1", "response": "done"}]},
    ]
    assert json.loads(str(chat["gen_ai.output.messages"])) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": f"yes {CANARY}"},
                {"type": "tool_call", "id": "k2", "name": "sh", "arguments": "{}"},
            ],
            "finish_reason": "tool_calls",
        }
    ]
    assert json.loads(str(ran["gen_ai.tool.call.arguments"])) == {"command": CANARY}
    assert ran["gen_ai.tool.call.result"] == '{"a": 1}'
    assert "KEY" not in daemon.spans[1].to_json()


async def test_what_is_no_text_is_told_as_far_as_it_can_be_sent() -> None:
    daemon = Daemon(with_content=True)
    await ask(daemon, replace(ANSWER, blocks=(TextBlock(text="a\ud800"),)))
    await run(daemon, ToolOutcome("b\ud800"))
    assert len(encode_spans(daemon.spans).resource_spans[0].scope_spans[0].spans) == 2
    chat, ran = (dict(one.attributes or {}) for one in daemon.spans)
    assert json.loads(str(chat["gen_ai.output.messages"]))[0]["parts"][0]["content"] == "a\ud800"
    assert ran["gen_ai.tool.call.result"] == "b\ufffd"


async def test_what_is_nested_too_deep_to_be_told_holds_nobody_up() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    daemon = Daemon(with_content=True)
    asked = replace(call(), arguments={"deep": deep})
    ran = await daemon.tracing.running(tool("sh"), asked, gives(ToolOutcome(deep)))()
    attributes = daemon.spans[0].attributes or {}
    assert ran.content is deep
    assert (attributes["gen_ai.tool.call.arguments"], attributes["gen_ai.tool.call.result"]) == ("null", "null")


def test_a_turn_is_told_when_it_ends_with_the_times_of_the_journal() -> None:
    daemon = Daemon()
    daemon.end(session(*ENDED[:2]), CANDIDATE)
    assert daemon.told == []
    daemon.end(session(*ENDED), FINAL)
    of_turn = {**COMMON, "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", "abey.turn.id": "t1"}
    assert daemon.told == [("invoke_agent a", SpanKind.INTERNAL, of_turn, False)]
    (span,) = daemon.spans
    assert span.start_time is not None and span.end_time is not None
    assert (span.parent, span.end_time - span.start_time) == (None, 3 * SECOND)


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (j.Cancelled(turn_id="t1", by="client"), "cancelled"),
        (j.Failed(turn_id="t1", end="limit", kind="limit/steps", message=CANARY), "limit/steps"),
        (j.Stopped(by="client"), "cancelled"),
    ],
)
def test_a_turn_without_an_answer_is_told_by_its_kind(end: j.RecordData, kind: str) -> None:
    daemon = Daemon()
    daemon.end(session(end), end)
    ((_, _, attributes, failed),) = daemon.told
    assert (attributes["error.type"], failed) == (kind, True)
    assert CANARY not in daemon.spans[0].to_json()


async def test_work_of_one_turn_is_one_trace_whichever_daemon_does_it() -> None:
    first, second, third = Daemon(), Daemon(), Daemon()
    await ask(first, ANSWER)
    await run(second, ToolOutcome("ok"))
    third.end(session(*ENDED), FINAL)
    (chat,), (ran,), (turn,) = first.spans, second.spans, third.spans
    parents = {(one.parent.trace_id, one.parent.span_id) for one in (chat, ran) if one.parent}
    assert turn.context is not None
    assert parents == {(turn.context.trace_id, turn.context.span_id)}
    assert len({one.context.span_id for one in (chat, ran, turn) if one.context}) == 3


async def test_a_turn_that_goes_on_where_the_session_went_back_to_is_another_trace() -> None:
    daemon = Daemon()
    before = session(*ENDED)
    daemon.end(before, FINAL)
    back = session(*ENDED, j.Rewound(to=2, client=CLIENT), *ENDED)
    daemon.end(back, FINAL)
    assert len({one.context.trace_id for one in daemon.spans if one.context}) == 2


async def test_the_turn_of_a_child_names_the_call_that_it_works_on() -> None:
    daemon = Daemon()

    async def drives() -> ToolOutcome:
        daemon.end(session(*ENDED, session_id="kid"), FINAL)
        return ToolOutcome("ok")

    await daemon.tracing.running(tool("sh"), call(child_id="kid"), drives)()
    daemon.end(session(*ENDED, session_id="kid"), FINAL)
    child, caller, later = daemon.spans
    assert [link.context for link in child.links] == [caller.context]
    assert list(later.links) == []


def test_spans_are_of_the_project_unless_the_variables_name_another(monkeypatch: pytest.MonkeyPatch) -> None:
    def named() -> tuple[Any, Any]:
        daemon = Daemon()
        daemon.end(session(*ENDED), FINAL)
        resource = daemon.spans[0].resource.attributes
        return resource["service.name"], resource.get("service.version")

    assert named() == ("abey", VERSION)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    assert named() == ("mine", None)


async def test_what_is_not_sampled_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    daemon = Daemon()
    await ask(daemon, ANSWER)
    daemon.end(session(*ENDED), FINAL)
    assert daemon.told == []


async def test_a_receiver_that_takes_nothing_does_not_hold_up_the_end(caplog: pytest.LogCaptureFixture) -> None:
    taken = threading.Event()

    class Stuck(SpanProcessor):
        def shutdown(self) -> None:
            taken.wait()

    await SpanTracing(Stuck(), with_content=False, patience=0.01).close()
    taken.set()
    assert caplog.messages == ["the receiver of the traces has not taken the last of them in 0.01 s"]


async def test_who_follows_nothing_costs_nothing() -> None:
    """What is asked and run is the very same object as without."""
    ask, run = gives(ANSWER), gives(ToolOutcome("ok"))
    nobody = NoTracing()
    assert nobody.asking(session(), agent(), ask) is ask
    assert nobody.running(tool("sh"), call(), run) is run
    nobody.committed(session(), agent(), ())
    await nobody.close()
