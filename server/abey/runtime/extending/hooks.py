"""The hooks of all extensions around one model call: the first by name is the outermost (machine.md, Extensions)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from abey.core.agent import Agent
from abey.core.conversation import CallRuling, ModelAnswer, ModelRequest, OfferedTool
from abey.core.session import Session
from abey.errors import ModelFailed
from abey.extensions import CapabilityError, ExtensionError, LateMutation, ModelCall, Tripped
from abey.extensions.exchange import Exchange
from abey.extensions.model_call import Stage
from abey.runtime.around import Ask, FoundExtension, TripwireTripped
from abey.runtime.extending.foreign import in_time
from abey.runtime.extending.installed import Broken, Installed, described
from abey.runtime.extending.scoped import Declared
from abey.runtime.signals import ANY_END, being_cancelled
from abey.runtime.tools.arguments import question_fault
from abey.runtime.tools.toolbox import HIDDEN
from abey.shared.frames import let_go

log = logging.getLogger(__name__)

Announce = Callable[[str, str, str], None]
"""(session id, the name of a tool, why models do without it)"""

WAY_OUT = "mend or uninstall it, then restart the daemon"
NOT_OFFERED = "this tool was not offered"


@dataclass(frozen=True, slots=True)
class ExtensionHooks:
    """around.Hooks."""

    declared: Declared
    announce: Announce

    async def around(self, session: Session, agent: Agent, request: ModelRequest, ask: Ask) -> ModelAnswer:
        """Raises ModelFailed also where an extension cannot be used: it may be one that guards."""
        found = await self.declared.extensions.all()
        for one in found:
            if isinstance(one, Broken):
                raise ModelFailed("invalid-request", f"the extension {one.name} cannot be used ({one.why}); {WAY_OUT}")
        if not found:  # nobody's code is to be kept in time
            return _with_denials(await ask(request), request, agent)
        exchange = Exchange(request, question_fault)
        onion = _Onion(exchange, self.declared, session, agent, ask)
        try:
            await in_time(onion.enter(self.declared.extensions.usable), f"a hook of session {session.id}")
        except Tripped as trip:  # the exchange has its tripwire
            let_go(trip)
        finally:
            exchange.over = True
        if session.last_answer is None:  # once a turn is enough
            for name in dict.fromkeys(exchange.hidden):
                self.announce(session.id, name, HIDDEN)
        if exchange.tripwire is not None:
            raise TripwireTripped(exchange.tripwire, exchange.message, exchange.usage)
        return _with_denials(exchange.outcome(), exchange.request, agent)

    async def found(self) -> Sequence[FoundExtension]:
        return described(await self.declared.extensions.all())


@dataclass(frozen=True, slots=True)
class _Onion:
    exchange: Exchange
    declared: Declared
    session: Session
    agent: Agent
    ask: Ask

    async def enter(self, extensions: Sequence[Installed]) -> None:
        """Through the first hook to all others, and the model. Raises what counts of what went wrong inside."""
        if self.exchange.over:
            raise LateMutation("the model call is over")
        if not extensions:
            await self._ask()
            return
        extension, *inner = extensions
        call = ModelCall(
            extension.name,
            self.exchange,
            self.declared.states.info_of(self.session),
            self.declared.of(extension, self.session),
            _offerable(extension, self.agent),
        )
        proceeding = _Proceeding(call, partial(self.enter, inner))
        try:
            await extension.extension.around(call, proceeding)
        except ANY_END as fault:
            if isinstance(fault, asyncio.CancelledError) and being_cancelled():
                raise
            raise self._what_counts(extension.name, fault) from fault
        finally:
            call.stage = Stage.OVER
            await proceeding.end()
        if self.exchange.answer is None or self.exchange.tripwire is not None:
            raise self._what_counts(extension.name, None)

    async def _ask(self) -> None:
        try:
            self.exchange.answered(await self.ask(self.exchange.request))
        except ModelFailed as failure:
            self.exchange.failure = failure
            raise

    def _what_counts(self, extension: str, fault: BaseException | None) -> Exception:
        """Of several things that went wrong: a tripwire, then the failure of the model, then that of the hook."""
        exchange = self.exchange
        if exchange.tripwire is None and exchange.failure is not None:
            return exchange.failure
        if exchange.tripwire is None and fault is not None:
            log.error("session %s: the hook of %s failed", self.session.id, extension, exc_info=fault)
        return exchange.trip(extension, _told(extension, fault), "step")


class _Proceeding:
    """What a hook awaits, once."""

    def __init__(self, call: ModelCall, enter: Callable[[], Awaitable[None]]) -> None:
        self._call = call
        self._enter = enter
        self._task: asyncio.Task[object] | None = None

    async def __call__(self) -> None:
        """Raises LateMutation where the model was asked already, or the hook is over."""
        if self._call.stage is not Stage.BEFORE:
            raise LateMutation("`proceed` is awaited once, before the hook returns")
        self._call.stage = Stage.ASKED
        self._task = asyncio.current_task()
        try:
            await self._enter()
        finally:
            self._task = None

    async def end(self) -> None:
        """A hook that does not wait for the model has it given up."""
        task = self._task
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _offerable(extension: Installed, agent: Agent) -> Mapping[str, OfferedTool | None]:
    """The tools of an extension, None where another one of the agent has the name."""
    ours = extension.tools.values()
    return {
        tool.name: OfferedTool(tool.name, tool.description, tool.parameters)
        if agent.tools.get(tool.name) == tool
        else None
        for tool in ours
    }


def _with_denials(answer: ModelAnswer, request: ModelRequest, agent: Agent) -> ModelAnswer:
    """What was offered by nobody is run by nobody: a hook may have had its reasons."""
    offered = {tool.name for tool in request.tools}
    rulings = {ruling.index: ruling for ruling in answer.rulings}
    for at, call in enumerate(answer.calls):
        tool = agent.tools.get(call.tool)
        if tool is not None and not tool.offered and tool.name not in offered:
            rulings[at] = CallRuling(at, str(tool.definition["extension"]), NOT_OFFERED)
    return replace(answer, rulings=tuple(rulings[at] for at in sorted(rulings))) if rulings else answer


def _told(extension: str, fault: BaseException | None) -> str:
    """Why there is no answer, for people: what is not meant for them is in the log."""
    match fault:
        case None:
            return f"the extension {extension} did not let the model be asked"
        case CapabilityError() | ExtensionError():
            return f"the extension {extension} failed: {fault}"
        case _:
            return f"the extension {extension} failed; see the daemon's log"
