"""Work as spans of OpenTelemetry, under the GenAI conventions: a trace a turn, however many daemons it takes.

The span of a turn is told when it ends, with the times of the journal. Its id is known before: model calls and calls of
tools belong to it, also those of a daemon that was killed meanwhile. A child has traces of its own, each of which names
the call that it works on.
"""

import asyncio
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode

from abey.core.agent import Agent, Tool
from abey.core.conversation import ModelAnswer, ModelRequest, ToolOutcome
from abey.core.session import Session, Turn
from abey.errors import ModelFailed
from abey.protocol.journal import Cancelled, Failed, Final, Record, Stopped
from abey.runtime.around import Ask
from abey.runtime.child_sessions import ChildRests
from abey.runtime.clock import millis_of
from abey.runtime.ports import ToolCall
from abey.runtime.telemetry import contents
from abey.runtime.telemetry.attributes import Attributes, model_of, of_answer, of_model_call, of_tool_call, of_turn
from abey.runtime.telemetry.turn_ids import TurnIds, span_of, within
from abey.runtime.tracing import Run
from abey.shared.version import VERSION

log = logging.getLogger(__name__)

CLOSE_SECONDS = 2.0
"""A receiver that has not taken the last spans by then does not get them."""

ENDS = (Final, Cancelled, Failed, Stopped)
"""The records that a turn ends with."""


class SpanTracing:
    """A Tracing. `with_content`: what is said to models and tools, and by them, is told, too."""

    def __init__(self, processor: SpanProcessor, with_content: bool, patience: float = CLOSE_SECONDS) -> None:
        self._ids = TurnIds()
        self._provider = TracerProvider(resource=_resource(), id_generator=self._ids, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("abey", version("abey"))
        self._with_content = with_content
        self._patience = patience
        self._callers: dict[str, SpanContext] = {}

    def asking(self, session: Session, agent: Agent, ask: Ask) -> Ask:
        async def asked(request: ModelRequest) -> ModelAnswer:
            name = f"chat {model_of(agent).name or ''}".rstrip()
            attributes = of_model_call(session, agent)
            with self._followed(session, _turn_of(session), name, SpanKind.CLIENT, attributes) as span:
                if self._with_content:
                    span.set_attribute("gen_ai.system_instructions", contents.instructions(request.system_prompt))
                    span.set_attribute("gen_ai.input.messages", contents.said_to(request.messages))
                answer = await ask(request)
                span.set_attributes(of_answer(answer))
                if self._with_content:
                    span.set_attribute("gen_ai.output.messages", contents.said_by(answer))
                return answer

        return asked

    def running(self, tool: Tool, call: ToolCall, run: Run) -> Run:
        async def ran() -> ToolOutcome:
            if call.session is None:
                return await run()
            name, attributes = f"execute_tool {tool.name}", of_tool_call(tool, call)
            with self._followed(call.session, call.turn_id, name, SpanKind.INTERNAL, attributes) as span:
                if self._with_content:
                    span.set_attribute("gen_ai.tool.call.arguments", contents.arguments(call.arguments))
                with self._calling(call.child_id, span):
                    outcome = await run()
                self._outcome(span, outcome)
                return outcome

        return ran

    def committed(self, session: Session, agent: Agent, records: Sequence[Record]) -> None:
        ends = {record.rev: record.data for record in records if isinstance(record.data, ENDS)}
        for turn in session.turns if ends else ():
            if turn.ended_rev in ends:
                self._turn(session, agent, turn, ends[turn.ended_rev])

    async def close(self) -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(done.set)

        # of the executor's threads each is waited for at the end of the process
        threading.Thread(target=shut_down, name="last-spans", daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await done.wait()
        if not done.is_set():
            log.warning("the receiver of the traces has not taken the last of them in %g s", self._patience)

    def _turn(self, session: Session, agent: Agent, turn: Turn, end: object) -> None:
        caller = self._callers.get(session.id)
        with self._ids.of(span_of(session, turn.turn_id, self._provider.sampler)):
            span = self._tracer.start_span(
                f"invoke_agent {session.created.agent}",
                Context(),
                SpanKind.INTERNAL,
                {**of_turn(session, agent), "abey.turn.id": turn.turn_id},
                [Link(caller)] if caller else None,
                _nanos(turn.started_at),
            )
        if turn.end != "answered":
            _failed(span, end.kind if isinstance(end, Failed) else str(turn.end))
        span.end(_nanos(turn.ended_at or turn.started_at))

    @contextmanager
    def _followed(
        self, session: Session, turn_id: str | None, name: str, kind: SpanKind, attributes: Attributes
    ) -> Iterator[Span]:
        """A span around what is done inside, which belongs to that turn."""
        parent = span_of(session, turn_id or "", self._provider.sampler)
        span = self._tracer.start_span(name, within(parent), kind, attributes)
        try:
            yield span
        except ChildRests:  # the call goes on when its child does
            raise
        except BaseException as error:
            _failed(span, _kind_of(error))
            raise
        finally:
            span.end()

    @contextmanager
    def _calling(self, child_id: str | None, span: Span) -> Iterator[None]:
        """Turns of that child that end meanwhile are of this call."""
        if child_id is None:
            yield
            return
        self._callers[child_id] = span.get_span_context()
        try:
            yield
        finally:
            del self._callers[child_id]

    def _outcome(self, span: Span, outcome: ToolOutcome) -> None:
        if outcome.error is not None:
            _failed(span, outcome.error)
        if self._with_content:
            span.set_attribute("gen_ai.tool.call.result", contents.result(outcome.content))


def _resource() -> Resource:
    """As the variables say; named as the project where they say nothing."""
    said = Resource.create()
    unnamed = str(said.attributes.get("service.name", "")).startswith("unknown_service")
    return said.merge(Resource({"service.name": "abey", "service.version": VERSION})) if unnamed else said


def _turn_of(session: Session) -> str | None:
    return session.asked.turn_id if session.asked else None


def _failed(span: Span, kind: str) -> None:
    """Without a message: it may repeat what was said."""
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def _kind_of(error: BaseException) -> str:
    match error:
        case ModelFailed():
            return str(error.model_code)
        case asyncio.CancelledError():
            return "cancelled"
        case _:
            return type(error).__qualname__


def _nanos(at: str) -> int:
    return millis_of(at) * 1_000_000
