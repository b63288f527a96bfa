"""From a session of ours to a session file of agents-exe, version 2; what came from such a file goes back as it was."""

import json
from collections.abc import Sequence
from typing import Any

from abey.core.agent import Agent
from abey.core.replay import fold
from abey.core.session import Session
from abey.protocol import journal as j
from abey.runtime.transfer.agents_exe_turns import turns_of, uuid_of

Value = dict[str, Any]


def export_text(session: Session, records: Sequence[j.Record], agent: Agent | None) -> str:
    """The file's text. A session that came from such a file and had no turn since gives back the text it came from."""
    source = _source(records)
    if source is None:
        return _written(_file(session, turns_of(session, records, agent), agent))
    text, count = source
    if all(isinstance(record.data, _NOT_SAID) for record in records[count:]):
        return text
    before = fold(records[:count])
    told = turns_of(before, records, agent) if before else []
    now = turns_of(session, records, agent)
    return text if told == now else _written(_continued(json.loads(text), told, now, session, agent))


_NOT_SAID = (j.Updated, j.Paused, j.Resumed, j.Imported, j.Answered)
"""Records that add nothing to a transcript."""


def _written(value: Value) -> str:
    return json.dumps(value, ensure_ascii=True) + "\n"


def _source(records: Sequence[j.Record]) -> tuple[str, int] | None:
    """The text of the file that the session was made from, and how many records that made."""
    for index, record in enumerate(records):
        data = record.data
        if isinstance(data, j.Imported) and data.format == "agents-exe" and data.original and data.records is not None:
            # where its blob is missing, what we kept of it has to do
            is_there = data.original.lstrip().startswith("{")
            return (data.original, index + 1 + data.records) if is_there else None
    return None


def _continued(original: Value, told: list[Value], now: list[Value], session: Session, agent: Agent | None) -> Value:
    """The original turns with what came after on top; a last turn that has become more is replaced."""
    same = next((at for at, (old, new) in enumerate(zip(told, now, strict=False)) if old != new), len(told))
    oldest_first = list(reversed(original["turns"]))
    if same < len(told) and oldest_first and oldest_first[-1]["tag"] != "LlmTurn":
        oldest_first.pop()
    whole = _file(session, oldest_first + now[same:], agent)
    return {**original, **{name: whole[name] for name in ("turnId", "sessionVersion", "turns")}} | {
        "sessionExecutionMode": original.get("sessionExecutionMode") or whole["sessionExecutionMode"]
    }


def _file(session: Session, oldest_first: list[Value], agent: Agent | None) -> Value:
    forked = session.created.forked_from
    return {
        "sessionId": uuid_of(session.id),
        "forkedFromSessionId": uuid_of(forked) if forked else None,
        "turnId": uuid_of(session.turn.turn_id if session.turn else session.id),
        "sessionVersion": 2,
        "sessionExecutionMode": "synchronous" if agent is not None and agent.synchronous else "asynchronous",
        "turns": oldest_first[::-1],
    }
