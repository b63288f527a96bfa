"""The method that shows what calls change in files: one that waits, or all that were made."""

import json
from collections.abc import Iterator

from abey.core.call import Call
from abey.core.finding import find_call
from abey.core.session import AnswerEntry, Session
from abey.daemon.paging import cursor_at, fitting_views, start_of
from abey.daemon.services import Services
from abey.errors import InvalidArguments, UnknownToken
from abey.protocol.diffs import DiffParams, DiffResult, FileChange
from abey.rpc.peer import Peer


class Diffs:
    """A handler. It changes nothing, and reads no file but the journal."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def diff(self, _: Peer, params: DiffParams) -> DiffResult:
        """Raises UnknownToken, UnknownSession, and InvalidArguments for a turn that is not there."""
        changes = await self._changes(params)
        start = start_of(params.cursor)
        page = fitting_views(changes[start : start + params.limit])
        return DiffResult(changes=page, next_cursor=cursor_at(start + len(page), len(changes)))

    async def _changes(self, params: DiffParams) -> list[FileChange]:
        if params.token is not None:
            live, token = await self._services.sessions.of_token(params.token)
            found = find_call(live.machine.session, token)
            if found is None:
                raise UnknownToken(f"no call has the token {token}")
            return list(_of_call(found[1]))
        machine, _damage = await self._services.sessions.look(params.session_id or "")
        calls = _calls(machine.session, params.turn_id)
        return [change for call in calls for change in (call.finished.changes if call.finished else None) or ()]


def _calls(session: Session, turn_id: str | None) -> Iterator[Call]:
    turns = [turn for turn in session.turns if turn_id in (None, turn.turn_id)]
    if turn_id is not None and not turns:
        raise InvalidArguments(f"session {session.id} has no turn {turn_id}", errors=["turnId is unknown"])
    for turn in turns:
        for entry in turn.entries:
            yield from entry.calls if isinstance(entry, AnswerEntry) else ()


def _of_call(call: Call) -> Iterator[FileChange]:
    """What it changed, or would change as it was last shown."""
    if call.final:
        yield from (call.finished.changes if call.finished else None) or ()
    elif call.verdict is not None and call.verdict.diff is not None:
        yield _shown(call.verdict.diff)


def _shown(diff: str) -> FileChange:
    """The first two lines of a unified diff say which file it is of, and whether there is one already."""
    old, new, *_ = [*diff.split("\n"), "", ""]
    name = new.removeprefix("+++ ")
    path = str(json.loads(name)) if name.startswith('"') else name
    kind = "created" if old == "--- /dev/null" else "modified"
    return FileChange(path=path.removeprefix("b/"), kind=kind, patch=diff)
