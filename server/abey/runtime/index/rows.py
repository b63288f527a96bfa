"""What the index keeps of a session: enough to list it without its journal."""

import json
import zlib
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Any

from abey.core.machine import Machine
from abey.core.replay import overdue, recover
from abey.core.session import Session
from abey.core.views import bare_view, summary_view
from abey.core.waiting import deadlines
from abey.protocol.base import Timestamp

NEVER = "~"
"""After every timestamp."""


@dataclass(frozen=True, slots=True)
class Row:
    """`view` is the Session of the protocol, as JSON, in what does not depend on the agent; `source` the agent's
    `[file, configHash, workspace]`, as JSON. It is right while the journal has this `stamp`, from `since` until before
    `until`.
    """

    id: str
    stamp: str
    revision: int
    created_at: Timestamp
    agent: str
    folder: str
    state: str
    attention: str
    archived: int
    pending: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    since: Timestamp
    until: Timestamp
    source: str
    view: str

    def listed(self) -> tuple[Any, ...]:
        """All but the view, in the order of COLUMNS."""
        return self.values()[:-1]

    def values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in COLUMNS)


@dataclass(frozen=True, slots=True)
class Found:
    """A session that is wanted, and what it has used."""

    created_at: Timestamp
    id: str
    input_tokens: int
    output_tokens: int
    cost: float | None


COLUMNS = tuple(field.name for field in fields(Row))


def row_of(session: Session, stamp: str, now: Timestamp) -> Row:
    """The row of a session that is not in memory: nothing runs in it, whatever runs in the one that is given."""
    shown = Machine(overdue(recover(session), now))
    waits = deadlines(session)
    view = bare_view(shown)
    return Row(
        id=session.id,
        stamp=stamp,
        revision=session.revision,
        created_at=session.created_at,
        agent=plain(session.created.agent),
        folder=folder_of(session.created.cwd),
        state=view.state,
        attention=summary_view(shown).attention,
        archived=int(session.archived),
        pending=len(view.pending),
        input_tokens=session.usage.input_tokens,
        output_tokens=session.usage.output_tokens,
        cost=session.usage.cost,
        since=max((one for one in waits if one <= now), default=""),
        until=min((one for one in waits if one > now), default=NEVER),
        source=json.dumps([session.created.agent_file, session.config_hash, session.created.workspace]),
        view=json.dumps(view.wire(), separators=(",", ":")),
    )


def checksum(values: tuple[Any, ...]) -> int:
    """Of the values of a row, in the order of COLUMNS."""
    return zlib.crc32(repr(values).encode("utf-8", "replace"))


def plain(text: str) -> str:
    """`text` in ASCII, so that every text can be kept; another text comes out as another one."""
    return json.dumps(text)[1:-1]


def folder_of(path: str) -> str:
    """A folder as it is kept and compared."""
    return plain(str(PurePath(path)))
