"""The tools of sessions that only their sources know: each source is asked when a step needs it, and kept open.

Laws
- A source that fails hides no other, and the step goes on without its tools; the next turn asks it again.
- What is listed at a revision is not listed again at it: asking makes no step ask for ever.
- Nothing of a session stays open once it is released, also not what was still being opened.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from abey.core.agent import Agent, Tool, ToolSource
from abey.core.session import Session
from abey.runtime.tools.descriptors import completed

log = logging.getLogger(__name__)


class SourceFailed(Exception):
    """A source that cannot be asked for its tools; the message says why, in a line for people and the model."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session's tools run: its cwd, and the allow-listed variables it was started with."""

    session_id: str
    cwd: str
    env: Mapping[str, str]


class Opened(Protocol):
    """A source that was asked."""

    @property
    def tools(self) -> Sequence[Tool]:
        """As they are now: a source may change them by itself."""
        ...

    def is_current(self) -> bool:
        """False where it should be asked anew before the next step. Reads nothing for long."""
        ...

    async def close(self) -> None:
        """Nothing of it is left. Never raises for what is gone already."""
        ...


@runtime_checkable
class Renewable(Opened, Protocol):
    """One that is asked anew as it is: closing it would lose more than its list of tools."""

    async def renew(self) -> None:
        """Its tools are as they are now. Raises SourceFailed."""
        ...


@runtime_checkable
class Faulty(Opened, Protocol):
    """One in which something is no tool, and hides no other."""

    @property
    def faults(self) -> Mapping[str, str]:
        """What the names of the tools would be that it cannot have, and why not."""
        ...


class Opener(Protocol):
    """Asks sources of one kind."""

    async def open(self, source: ToolSource, place: Place) -> Opened:
        """Raises SourceFailed. CancelledError leaves nothing behind."""
        ...


@dataclass(frozen=True, slots=True)
class _Asked:
    """What came of asking a source: `opened`, or `why` not; at which revision and in which turn."""

    opened: Opened | None
    why: str
    revision: int
    turn_id: str | None


_Key = tuple[Any, ...]

HIDDEN = "another tool has its name, and comes before it"


@dataclass(slots=True, eq=False)
class _Box:
    """The sources of one session. One `listing` at a time; `released` once nothing may be opened any more."""

    asked: dict[_Key, _Asked] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    listing: "asyncio.Task[None] | None" = None
    released: bool = False


Announce = Callable[[str, str, str], None]
"""(session id, the prefix of a source, why it could not be asked)"""


def _unannounced(_session_id: str, _prefix: str, _why: str) -> None:
    pass


class Toolboxes:
    """A ports.Toolbox. `openers` are by kind; a source of another kind is missing."""

    def __init__(self, openers: Mapping[str, Opener], announce: Announce = _unannounced) -> None:
        self._openers = openers
        self._announce = announce
        self._boxes: dict[str, _Box] = {}
        self._closed = False

    def equip(self, agent: Agent, session: Session) -> Agent:
        if not agent.sources:
            return agent
        box = self._boxes.get(session.id)
        tools, missing = dict(agent.tools), dict[str, str]()
        unlisted = False
        for source in agent.sources:
            one = box.asked.get(_key(source)) if box is not None else None
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
        if self._closed:
            return
        box = self._boxes.setdefault(session.id, _Box())
        async with box.turn:
            if box.released:
                return
            listing = box.listing = asyncio.create_task(self._list(box, agent, session))
            try:
                await asyncio.wait({listing})
            finally:
                listing.cancel()  # does nothing to one that has ended
                await completed(asyncio.gather(listing, return_exceptions=True))
            if not listing.cancelled():
                listing.result()

    async def release(self, session_id: str) -> None:
        box = self._boxes.pop(session_id, None)
        if box is not None:
            box.released = True
            if box.listing is not None:  # a source may take a minute to say nothing
                box.listing.cancel()
                await asyncio.gather(box.listing, return_exceptions=True)
            asked, box.asked = box.asked, {}
            await _close(asked.values())

    async def close(self) -> None:
        self._closed = True
        await asyncio.gather(*map(self.release, list(self._boxes)))

    async def _list(self, box: _Box, agent: Agent, session: Session) -> None:
        known = {_key(source) for source in agent.sources}
        await _close([box.asked.pop(key) for key in list(box.asked) if key not in known])
        due = [source for source in agent.sources if not _is_held(box.asked.get(_key(source)), session)]
        # each keeps what it opens at once, so that nothing is lost where this is cancelled
        await asyncio.gather(*(self._ask(box, source, session) for source in due))
        for name in _hidden(agent, box, due):
            self._announce(session.id, name, HIDDEN)

    async def _ask(self, box: _Box, source: ToolSource, session: Session) -> None:
        """Afterwards the source is as it is now, or nothing of it is left and it is known why."""
        key, turn = _key(source), session.open_turn
        before = box.asked.get(key)
        old = before.opened if before is not None else None
        opened, why = old, ""
        try:
            opened = await self._opened(box, key, old, source, session)
        except SourceFailed as failed:
            opened, why = None, str(failed)
        except Exception:
            log.exception("session %s: the source %s could not be asked", session.id, source.prefix)
            opened, why = None, "internal error; see the daemon's log"
        now = _Asked(opened, why, session.revision, turn.turn_id if turn else None)
        if not box.released:
            box.asked[key] = now
        if old is not None and opened is not old:
            await _close([_Asked(old, "", 0, None)])
        if box.released:
            await _close([now])
        elif opened is None:
            self._announce(session.id, source.prefix, why)
        elif isinstance(opened, Faulty):
            for name, fault in opened.faults.items():
                self._announce(session.id, name, fault)

    async def _opened(self, box: _Box, key: _Key, old: Opened | None, source: ToolSource, session: Session) -> Opened:
        """What can be renewed stays in its place meanwhile, with the tools it had. Raises SourceFailed."""
        if isinstance(old, Renewable):
            await old.renew()
            return old
        if old is not None:
            del box.asked[key]
            await old.close()
        opener = self._openers.get(source.kind)
        if opener is None:
            raise SourceFailed(f"tools of kind {source.kind} are not available")
        return await opener.open(source, Place(session.id, session.created.cwd, session.created.env))


def _key(source: ToolSource) -> _Key:
    """What makes another source of it: all that its tools are made of."""
    return source.hash, source.destructive, source.idempotent, source.shell, source.timeout_seconds


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
        one = box.asked.get(_key(source))
        names = {tool.name for tool in one.opened.tools} if one is not None and one.opened is not None else set()
        yield from sorted(names & taken) if source in sources else ()
        taken |= names


async def _close(asked: Iterable[_Asked]) -> None:
    opened = [one.opened for one in asked if one.opened is not None]
    for failed in await asyncio.gather(*(one.close() for one in opened), return_exceptions=True):
        if isinstance(failed, Exception):
            log.error("a source of tools could not be closed", exc_info=failed)
