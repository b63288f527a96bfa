"""Model calls and tools in flight: each is a task of the daemon, and each reports how it ended."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from abey.core import effects as fx
from abey.core.agent import Tool
from abey.core.conversation import ModelAnswer, ModelRequest, ToolOutcome
from abey.core.events import (
    Aborted,
    ChildRested,
    Fact,
    ModelAnswered,
    ModelCallFailed,
    ToolAsked,
    ToolEnded,
    ToolsListed,
    Tripped,
)
from abey.errors import ModelFailed
from abey.protocol.base import Json
from abey.protocol.journal import Record
from abey.protocol.transcript import Question
from abey.runtime.around import Ask, TripwireTripped
from abey.runtime.child_sessions import ChildRests
from abey.runtime.in_flight import InFlight
from abey.runtime.live import Live, Pulse
from abey.runtime.models.retrying import Retrying
from abey.runtime.partials import Partials
from abey.runtime.ports import OnDelta, Ports, ToolCall
from abey.runtime.signals import being_cancelled
from abey.runtime.tools.decorating import Decorated, Decorating
from abey.shared.frames import let_go

log = logging.getLogger(__name__)

WorkEffect = fx.AskModel | fx.ListTools | fx.RunTool | fx.Abort | fx.EndChild | fx.AnswerTool

STRAYS = (Exception, BaseExceptionGroup, asyncio.CancelledError)
"""What may come out of a model or a tool that nobody here has told to end."""

Report = Callable[[Live, Fact], Coroutine[Any, Any, bool]]
"""Whether it is durable. Raises nothing. Only a task that nobody cancels may await it."""


class Workers:
    """Starts and aborts work. Work that was abandoned reports nothing."""

    def __init__(self, ports: Ports, report: Report) -> None:
        self._ports = ports
        self._report = report
        self._in_flight = InFlight[Fact]()
        self._letting_go: set[asyncio.Task[None]] = set()
        self.partials = Partials(ports.store, ports.listener)
        self._decorating = Decorating(ports.clock)
        self.ended = Pulse()
        self._closed = False

    def perform(self, live: Live, effect: WorkEffect) -> None:
        match effect:
            case fx.AskModel() | fx.ListTools() | fx.RunTool() if self._closed:
                log.info("session %s: %s is not begun any more", live.id, effect.invocation_id)
            case fx.AskModel():
                self._follow(live, effect.invocation_id, partial(self._ask, live, effect))
            case fx.ListTools():
                self._follow(live, effect.invocation_id, partial(self._list, live, effect))
            case fx.RunTool():
                self._follow(live, effect.invocation_id, partial(self._run, live, effect))
            case fx.EndChild():
                self._follow(live, effect.invocation_id, partial(self._end_child, live, effect))
            case fx.Abort():
                task = live.tasks.get(effect.invocation_id)
                if task is not None:
                    task.cancel()
            case fx.AnswerTool():
                asking = live.questions.get(effect.invocation_id)
                if asking is not None and not asking.done():
                    asking.set_result(effect.value)

    def abandon(self, live: Live) -> None:
        """Ends the session's work without a report."""
        tasks = list(live.tasks.values())
        live.tasks.clear()
        for task in tasks:
            task.cancel()
        self._let_go(live)
        self.ended.beat()

    def committed(self, live: Live, records: Sequence[Record]) -> None:
        """These records of it are durable, and its machine knows of them."""
        self.partials.settle(live)
        self._ports.tracing.committed(live.machine.session, live.agent, records)

    def end_what_is_open(self, live: Live) -> None:
        """Once a session is being stopped nothing is opened for it any more, and nothing stays open once it is."""
        closing = live.machine.work.closing
        if closing is not None and closing.ending == "stop":
            self._ports.kept_open.abort(live.id)
        if live.machine.session.stopped:
            self._let_go(live)

    def _let_go(self, live: Live) -> None:
        task = asyncio.create_task(self._ports.kept_open.release(live.id))
        self._letting_go.add(task)
        task.add_done_callback(self._letting_go.discard)

    async def close(self) -> None:
        """Ends all work without a report, and waits until it is gone, and told to who follows it."""
        self._closed = True
        await self._in_flight.close()
        await asyncio.gather(*self._letting_go, return_exceptions=True)
        await self.partials.close()
        await self._ports.tracing.close()

    def _follow(self, live: Live, invocation_id: str, work: Callable[[], Coroutine[Any, Any, Fact]]) -> None:
        tell = partial(self._end, live, invocation_id)
        live.tasks[invocation_id] = self._in_flight.begin(work, Aborted(invocation_id), tell)

    async def _end(self, live: Live, invocation_id: str, fact: Fact) -> None:
        if self._closed or live.tasks.pop(invocation_id, None) is None:
            await self.partials.end(live, invocation_id, told=False)
            return
        told = await self._report(live, fact)
        await self.partials.end(live, invocation_id, told=told)
        self.ended.beat()

    async def _ask(self, live: Live, effect: fx.AskModel) -> Fact:
        retrying: Retrying | None = None
        try:
            model = self._ports.models(live.agent, live.id)
            retrying = Retrying(model, self._ports.clock, partial(self._retries, live))
            answer = await self._answer(live, effect.request, partial(retrying.ask, on_delta=self._streams(live)))
        except TripwireTripped as trip:
            tries = retrying.attempts if retrying else 0
            let_go(trip)
            return Tripped(effect.invocation_id, trip.tripwire, trip.message, tries, trip.usage)
        except ModelFailed as error:
            attempts = int(error.details.get("attempts", 1))
            let_go(error)
            return ModelCallFailed(effect.invocation_id, error.model_code, error.message, attempts, error.details)
        except STRAYS as stray:
            if isinstance(stray, asyncio.CancelledError) and being_cancelled():
                return Aborted(effect.invocation_id, retrying.attempts if retrying else 0)
            log.exception("model call %s failed", effect.invocation_id)
            let_go(stray)
            return ModelCallFailed(effect.invocation_id, "transient", "internal error; see the daemon's log", 1)
        return ModelAnswered(effect.invocation_id, answer)

    async def _answer(self, live: Live, request: ModelRequest, ask: Ask) -> ModelAnswer:
        """A summary is no answer, and no hooks are around it."""
        session = live.machine.session
        ask = self._ports.tracing.asking(session, live.agent, ask)
        if session.asked is not None and session.asked.sums_up is not None:
            return await ask(request)
        return await self._ports.hooks.around(session, live.agent, request, ask)

    async def _run(self, live: Live, effect: fx.RunTool) -> Fact:
        session = live.machine.session
        created, turn = session.created, session.open_turn
        call = ToolCall(
            session_id=created.session_id,
            call_id=effect.call_id,
            invocation_id=effect.invocation_id,
            arguments=effect.arguments,
            cwd=created.cwd,
            env=created.env,
            spool=partial(self._ports.store.spool, created.session_id, effect.invocation_id),
            tell=self.partials.begin(live, effect.call_id, effect.invocation_id),
            ask=partial(self._question, live, effect.invocation_id),
            isolation=effect.isolation,
            preimage=effect.preimage,
            child_id=effect.child_id,
            answer=effect.answer,
            turn_id=turn.turn_id if turn else None,
            session=session,
        )
        decorated = Decorated(effect.tool, call, partial(self._ran, effect.tool), str(session.created_at))
        whole = partial(self._decorating.outcome, decorated, effect.decorators)
        try:
            return ToolEnded(effect.invocation_id, await self._ports.tracing.running(effect.tool, call, whole)())
        except ChildRests:
            return ChildRested(effect.invocation_id)

    async def _end_child(self, live: Live, effect: fx.EndChild) -> Fact:
        await self._ports.children.end(live.id, effect.child_id)
        return Aborted(effect.invocation_id)

    async def _ran(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        try:
            return await self._ports.tools[tool.kind].run(tool, call)
        except ChildRests:
            raise
        except STRAYS as stray:
            if isinstance(stray, asyncio.CancelledError) and being_cancelled():
                raise
            log.exception("tool call %s failed", call.invocation_id)
            let_go(stray)
            return ToolOutcome("tool/failed: internal error", "tool/failed")

    async def _list(self, live: Live, effect: fx.ListTools) -> Fact:
        await self._ports.toolbox.list(live.agent, live.machine.session)
        return ToolsListed(effect.invocation_id)

    async def _question(self, live: Live, invocation_id: str, question: Question) -> Json:
        """The answer of a person, who may take days; None where nobody wants to answer. One question at a time."""
        asking = live.questions[invocation_id] = asyncio.get_running_loop().create_future()
        try:
            await asyncio.shield(self._in_flight.keep(self._report(live, ToolAsked(invocation_id, question))))
            if invocation_id not in live.tasks:  # abandoned: nobody will answer it
                return None
            return await asking
        finally:
            live.questions.pop(invocation_id, None)

    def _streams(self, live: Live) -> OnDelta:
        """Where the pieces of the answer go. A summary is no answer, and streams to nobody."""
        asked = live.machine.session.asked
        if asked is None or asked.sums_up is not None:
            return lambda _: None
        return partial(self._ports.listener.streamed, live.id, asked.step_id)

    def _retries(self, live: Live, code: str, attempt: int, delay: float) -> None:
        text = f"try {attempt} of the model call failed ({code}); the next is made in {delay:.1f} s"
        self._ports.listener.restarted(live.id, {"type": "note", "text": text})
