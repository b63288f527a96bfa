"""The calls of a session that wait for somebody, as clients see them (protocol.md, Requests)."""

from abey.core.agent import Agent
from abey.core.agent_views import pending_with_agent
from abey.core.completing import pending_kind
from abey.core.hashes import parse_arguments, shown_hash
from abey.core.session import Call, Session, Turn, open_calls
from abey.protocol import transcript as t
from abey.protocol.base import Json

TITLE_LENGTH = 80


def pending_view(session: Session, agent: Agent | None) -> tuple[t.Pending, ...]:
    """The calls that wait for somebody, or run in the background, in model order."""
    return pending_with_agent(bare_pending(session), agent)


def bare_pending(session: Session) -> tuple[t.Pending, ...]:
    """The same without what depends on the agent."""
    turn = session.open_turn
    if turn is None or session.stopped:
        return ()
    views = (_pending(session, turn, call) for call in open_calls(session))
    return tuple(view for view in views if view is not None)


WHY = {
    "approval": "approval required",
    "external": "only others can run it",
    "question": "an answer is wanted",
    "uncertain": "may have run",
    "running": "runs in the background",
}
"""Why a call of each kind waits, where its rule does not say."""


def _pending(session: Session, turn: Turn, call: Call) -> t.Pending | None:
    kind = pending_kind(call)
    if kind is None or call.verdict is None or call.decided_at is None:
        return None
    arguments = call.effective_arguments if call.state in ("uncertain", "running") else call.arguments
    return t.Pending(
        token=call.verdict.token,
        session_id=session.id,
        turn_id=turn.turn_id,
        call_id=call.call_id,
        kind=kind,
        tool=call.tool,
        title=_title(call.tool, arguments),
        arguments=shown_arguments(arguments),
        arguments_hash=shown_hash(session, call),
        editable=kind == "approval",
        cwd=session.created.cwd,
        question=call.question,
        reason=(call.verdict.reason if kind in ("approval", "external") else None) or WHY[kind],
        rule=call.verdict.rule,
        started_at=call.started_at,
        created_at=call.decided_at,
        expires_at=call.verdict.expires_at,
    )


def _title(tool: str, arguments: str) -> str:
    """One line that names the call: the tool and as much of its arguments as fits."""
    line = f"{tool} {' '.join(arguments.split())}" if arguments not in ("", "{}") else tool
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1]}…"


def shown_arguments(arguments: str) -> Json:
    """The JSON value of an arguments text, or the text where it does not parse."""
    try:
        return parse_arguments(arguments)
    except ValueError:
        return arguments
