"""The tools of sessions that only their sources know: each source is asked when a step needs it.

Laws
- A source that fails hides no other, and the step goes on without its tools; the next turn asks it again.
- What is listed at a revision is not listed again at it: asking makes no step ask for ever.
- What is open of a source is a capability of its session, and ends as these do.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from abey.core.agent import Agent, ToolSource
from abey.core.session import Session
from abey.extensions.capabilities import Capability, CapabilityError, SessionInfo, Signal
from abey.protocol.base import sha256_hex
from abey.runtime.capabilities import CapabilityStates
from abey.runtime.session_capabilities import SessionCapabilities
from abey.runtime.signals import unless_aborted
from abey.runtime.tools.sources import Faulty, Opened, Opener, Place, Renewable, SourceFailed

log = logging.getLogger(__name__)

HIDDEN = "another tool has its name, and comes before it"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What came of asking a source: `opened`, or `why` not; at which revision and in which turn."""

    opened: Opened | None
    why: str
    revision: int
    turn_id: str | None


@dataclass(slots=True, eq=False)
class _Box:
    """What is known of the sources of one session, by the ids of their capabilities. One listing at a time."""

    asked: dict[str, _Asked] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


Announce = Callable[[str, str, str], None]
"""(session id, the prefix of a source, why it could not be asked)"""


def _unannounced(_session_id: str, _prefix: str, _why: str) -> None:
    pass


class Toolboxes:
    """A ports.Toolbox. `openers` are by kind; a source of another kind is missing."""

    def __init__(
        self, openers: Mapping[str, Opener], states: CapabilityStates, announce: Announce = _unannounced
    ) -> None:
        self._openers = openers
        self._states = states
        self._announce = announce
        self._boxes: WeakKeyDictionary[SessionCapabilities, _Box] = WeakKeyDictionary()

    async def begin(self, agent: Agent) -> Agent:
        return agent

    def equip(self, agent: Agent, session: Session) -> Agent:
        if not agent.sources:
            return agent
        state = self._states.peek(session.id)
        box = self._boxes.get(state) if state is not None else None
        tools, missing = dict(agent.tools), dict[str, str]()
        unlisted = False
        for source in agent.sources:
            one = box.asked.get(capability_id(source)) if box is not None else None
            unlisted = unlisted or one is None or not _holds(one, session)
            if one is not None and one.opened is None:
                before = missing.get(source.prefix)
                missing[source.prefix] = f"{before}; {one.why}" if before else one.why
            if one is not None and isinstance(one.opened, Faulty):
                missing.update(one.opened.faults)
            for tool in one.opened.tools if one is not None and one.opened is not None else ():
                tools.setdefault(tool.name, tool)
        return replace(agent, tools=tools, missing=missing, unlisted=unlisted)

    async def list(self, agent: Agent, session: Session) -> None:
        state = self._states.of(session)
        box = self._boxes.setdefault(state, _Box())
        async with box.turn:
            await self._list(box, state, agent, session)

    async def _list(self, box: _Box, state: SessionCapabilities, agent: Agent, session: Session) -> None:
        known = {capability_id(source) for source in agent.sources}
        for gone in [one for one in box.asked if one not in known]:
            del box.asked[gone]
            await state.drop(gone)
        due = [source for source in agent.sources if not _is_held(box.asked.get(capability_id(source)), session)]
        state.declare(self._capability(source, session) for source in due)
        await asyncio.gather(*(self._ask(box, state, source, session) for source in due))
        for name in _hidden(agent, box, due):
            self._announce(session.id, name, HIDDEN)

    async def _ask(self, box: _Box, state: SessionCapabilities, source: ToolSource, session: Session) -> None:
        """Afterwards the source is as it is now, or it is known why not; nothing is known where the session ends."""
        turn = session.open_turn
        opened, why = None, ""
        try:
            opened = await self._opened(box, state, source, session)
        except CapabilityError as error:
            if error.kind == "capability/closed":
                return
            why = str(error.__cause__ or error)
        box.asked[capability_id(source)] = _Asked(opened, why, session.revision, turn.turn_id if turn else None)
        if opened is None:
            self._announce(session.id, source.prefix, why)
        elif isinstance(opened, Faulty):
            for name, fault in opened.faults.items():
                self._announce(session.id, name, fault)

    async def _opened(self, box: _Box, state: SessionCapabilities, source: ToolSource, session: Session) -> Opened:
        """What can be renewed stays in its place meanwhile, with the tools it had. Raises CapabilityError."""
        key = capability_id(source)
        before = box.asked.get(key)
        if before is not None and isinstance(before.opened, Renewable):
            await _renew(state, source, before.opened)
            return before.opened
        if before is not None and before.opened is not None:  # closed and opened again is all that can be done with it
            del box.asked[key]
            await state.drop(key)
            state.declare([self._capability(source, session)])
        state.forget_failure(key)  # it was that of another turn
        opened: Opened = await state.get(key)
        return opened

    def _capability(self, source: ToolSource, session: Session) -> Capability:
        place = Place(session.id, session.created.cwd, session.created.env)

        async def create(_: SessionInfo, signal: Signal) -> Opened:
            return await unless_aborted(signal, _failing(source, self._open(source, place)))

        return Capability(capability_id(source), create, lambda opened: opened.close())

    async def _open(self, source: ToolSource, place: Place) -> Opened:
        opener = self._openers.get(source.kind)
        if opener is None:
            raise SourceFailed(f"tools of kind {source.kind} are not available")
        return await opener.open(source, place)


def capability_id(source: ToolSource) -> str:
    """The prefix of its tools, and a hash of all that they are made of: what makes another source of it."""
    made_of = [source.hash, source.destructive, source.idempotent, source.shell, source.timeout_seconds]
    return f"{source.prefix}{sha256_hex(made_of)[:12]}"


async def _renew(state: SessionCapabilities, source: ToolSource, opened: Renewable) -> None:
    """Raises CapabilityError, and then nothing of it is left."""
    try:
        await unless_aborted(state.signal, _failing(source, opened.renew()))
    except CapabilityError as error:
        if error.kind == "capability/create-failed":
            state.failed(capability_id(source), str(error))
            await state.drop(capability_id(source))
        raise


async def _failing(source: ToolSource, work: Coroutine[Any, Any, _T]) -> _T:
    """Raises CapabilityError, which says why in a line for people and the model."""
    try:
        return await work
    except SourceFailed as failed:
        why = str(failed)
    except Exception:
        log.exception("the source %s could not be asked", source.prefix)
        why = "internal error; see the daemon's log"
    raise CapabilityError("capability/create-failed", why)


def _is_held(one: _Asked | None, session: Session) -> bool:
    return one is not None and _holds(one, session)


def _holds(one: _Asked, session: Session) -> bool:
    if one.revision == session.revision:
        return True
    if one.opened is not None:
        return one.opened.is_current()
    turn = session.open_turn
    return one.turn_id == (turn.turn_id if turn else None)


def _hidden(agent: Agent, box: _Box, sources: Sequence[ToolSource]) -> Iterator[str]:
    """The tools of these sources that the agent has not, since another one of the name comes before."""
    taken = set(agent.tools)
    for source in agent.sources:
        one = box.asked.get(capability_id(source))
        names = {tool.name for tool in one.opened.tools} if one is not None and one.opened is not None else set()
        yield from sorted(names & taken) if source in sources else ()
        taken |= names
