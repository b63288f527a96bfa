"""The tools of sessions that only their sources know: each source is asked when a step needs it, and kept open.

Laws
- A source that fails hides no other, and the step goes on without its tools; the next turn asks it again.
- What is listed at a revision is not listed again at it: asking makes no step ask for ever.
- Nothing of a session stays open once it is released.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from abey.core.agent import Agent, Tool, ToolSource
from abey.core.session import Session

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


Announce = Callable[[str, str, str], None]
"""(session id, the prefix of a source, why it could not be asked)"""


def _unannounced(_session_id: str, _prefix: str, _why: str) -> None:
    pass


class Toolboxes:
    """A ports.Toolbox. `openers` are by kind; a source of another kind is missing."""

    def __init__(self, openers: Mapping[str, Opener], announce: Announce = _unannounced) -> None:
        self._openers = openers
        self._announce = announce
        self._asked: dict[str, dict[str, _Asked]] = {}

    def equip(self, agent: Agent, session: Session) -> Agent:
        if not agent.sources:
            return agent
        asked = self._asked.get(session.id, {})
        tools, missing = dict(agent.tools), dict[str, str]()
        unlisted = False
        for source in agent.sources:
            one = asked.get(source.hash)
            unlisted = unlisted or one is None or not _holds(one, session)
            if one is not None and one.opened is None:
                missing[source.prefix] = one.why
            for tool in one.opened.tools if one is not None and one.opened is not None else ():
                tools.setdefault(tool.name, tool)
        return replace(agent, tools=tools, missing=missing, unlisted=unlisted)

    async def list(self, agent: Agent, session: Session) -> None:
        asked = self._asked.setdefault(session.id, {})
        known = {source.hash for source in agent.sources}
        old = [asked.pop(key) for key in list(asked) if key not in known or not _holds(asked[key], session)]
        await _close(old)
        fresh = [source for source in agent.sources if source.hash not in asked]
        for source, one in zip(fresh, await asyncio.gather(*(self._ask(one, session) for one in fresh)), strict=True):
            asked[source.hash] = one

    async def release(self, session_id: str) -> None:
        await _close(self._asked.pop(session_id, {}).values())

    async def _ask(self, source: ToolSource, session: Session) -> _Asked:
        turn = session.open_turn
        turn_id = turn.turn_id if turn else None
        place = Place(session.id, session.created.cwd, session.created.env)
        try:
            opener = self._openers.get(source.kind)
            if opener is None:
                raise SourceFailed(f"tools of kind {source.kind} are not available")
            opened = await opener.open(source, place)
        except SourceFailed as failed:
            self._announce(session.id, source.prefix, str(failed))
            return _Asked(None, str(failed), session.revision, turn_id)
        except Exception:
            log.exception("session %s: the source %s could not be asked", session.id, source.prefix)
            return _Asked(None, "internal error; see the daemon's log", session.revision, turn_id)
        return _Asked(opened, "", session.revision, turn_id)


def _holds(one: _Asked, session: Session) -> bool:
    if one.revision == session.revision:
        return True
    if one.opened is not None:
        return one.opened.is_current()
    turn = session.open_turn
    return one.turn_id == (turn.turn_id if turn else None)


async def _close(asked: Iterable[_Asked]) -> None:
    for one in asked:
        if one.opened is not None:
            await one.opened.close()
