"""The records of a session elsewhere as those of a session here: another id, other tokens, another place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from abey.core.agent import Agent
from abey.core.retelling import renewed, retold
from abey.protocol import journal as j
from abey.protocol.base import Timestamp


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a session gets where it arrives. `agent`: another one than its own; `workspace`: on whose trust its
    `agent_file` depends."""

    cwd: str
    env: dict[str, str]
    agent_file: str | None
    agent: Agent | None
    workspace: str | None
    now: Timestamp
    entropy: bytes


def moved(records: Sequence[j.Record], arrival: Arrival, imported: j.Imported, session_id: str) -> tuple[j.Record, ...]:
    """The same records under the new id; `imported` is the last. The first one is `created`.

    Where the id stays the tokens do: people may hold them. Under another id they are others, since a token belongs to
    one session of a machine.
    """
    first = records[0].data
    if not isinstance(first, j.Created):
        raise ValueError("a session begins with created")
    again = _same if first.session_id == session_id else renewed(arrival.entropy)
    told = (replace(record, data=retold(record.data, again)) for record in records[1:])
    last = j.Record(records[-1].rev + 1, arrival.now, imported)
    return (replace(records[0], data=_created(first, arrival, session_id)), *told, last)


def tokens_of(records: Sequence[j.Record]) -> tuple[str, ...]:
    """Every token that the records issue."""
    return tuple(dict.fromkeys(one.data.token for one in records if isinstance(one.data, j.CallDecided)))


def _created(created: j.Created, arrival: Arrival, session_id: str) -> j.Created:
    place: dict[str, Any] = {
        "session_id": session_id,
        "cwd": arrival.cwd,
        "env": arrival.env,
        "agent_file": arrival.agent_file,
        "workspace": arrival.workspace,
    }
    if arrival.agent is not None:
        agent = arrival.agent
        place |= {"agent": agent.slug, "config": agent.config, "config_hash": agent.config_hash}
    return created.model_copy(update=place)


def _same(token: str) -> str:
    return token
