"""The calls of a session that wait for somebody, as clients see them (protocol.md, Pending)."""

from collections.abc import Mapping, Sequence

from abey.core.agent import Agent
from abey.core.agent_views import pending_with_agent
from abey.core.call import Call
from abey.core.calls import decorators_of
from abey.core.completing import pending_kind
from abey.core.hashes import parse_arguments, shown_hash
from abey.core.session import Session, Turn, open_calls
from abey.protocol import transcript as t
from abey.protocol.base import Json
from abey.protocol.journal import CallDecided
from abey.protocol.policy import Label

TITLE_LENGTH = 80
OUTPUT_SHOWN = 4096
"""Characters of the end of an output: agents/output has more."""


def pending_view(session: Session, agent: Agent | None) -> tuple[t.Pending, ...]:
    """The calls that wait for somebody, or run in the background, in model order."""
    return pending_with_agent(bare_pending(session), agent, session.created.workspace)


def bare_pending(session: Session) -> tuple[t.Pending, ...]:
    """The same without what depends on the agent."""
    turn = session.open_turn
    if turn is None or session.stopped:
        return ()
    views = (_pending(session, turn, call) for call in open_calls(session))
    return tuple(view for view in views if view is not None)


def pending_with_output(pending: Sequence[t.Pending], printed: Mapping[str, str]) -> tuple[t.Pending, ...]:
    """The same with what is known of the output of calls that have none yet, by their ids."""
    if not printed:
        return tuple(pending)

    def known(call: t.Pending) -> t.Pending:
        text = printed.get(call.call_id)
        return call.model_copy(update={"output_so_far": text[-OUTPUT_SHOWN:]}) if text else call

    return tuple(map(known, pending))


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
        title=_title(call.verdict, call.tool, arguments),
        arguments=shown_arguments(arguments),
        arguments_hash=shown_hash(session, call),
        editable=kind == "approval",
        cwd=session.created.cwd,
        diff=call.verdict.diff if kind == "approval" else None,
        question=call.question,
        reason=_reason(call, call.verdict, kind),
        rule=call.verdict.rule,
        started_at=call.started_at,
        child_id=call.child_id if kind == "running" else None,
        created_at=call.decided_at,
        expires_at=call.verdict.expires_at,
    )


def _reason(call: Call, verdict: CallDecided, kind: t.PendingKind) -> str:
    if call.asked_about and call.ruling is not None:
        return f"extension {call.ruling.extension} asks before it runs"
    if kind == "running" and call.child_id is not None:
        return f"session {call.child_id} works on it"
    return (verdict.reason if kind in ("approval", "external") else None) or WHY[kind]


def _title(verdict: CallDecided, tool: str, arguments: str) -> str:
    """One line that names the call: its labels, the tool and as much of its arguments as fits."""
    labels = [one.label for one in decorators_of(verdict.disposition) if isinstance(one, Label)]
    line = f"{tool} {' '.join(arguments.split())}" if arguments not in ("", "{}") else tool
    line = ": ".join((*(" ".join(label.split()) for label in labels), line))
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1]}…"


def shown_arguments(arguments: str) -> Json:
    """The JSON value of an arguments text, or the text where it does not parse."""
    try:
        return parse_arguments(arguments)
    except ValueError:
        return arguments
