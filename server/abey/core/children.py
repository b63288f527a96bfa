"""Calls of other agents: each is worked on by a session of its own, a child (machine.md, Child sessions).

Laws
- A call that has a child is never uncertain: the journal of the child tells what came of it.
- What works on a child here is in flight as any tool is; a child at rest has nothing in flight, and its call runs on.
"""

from collections.abc import Mapping

from abey.core.agent import Tool
from abey.core.call import Call
from abey.core.calls import decorators_of
from abey.core.conversation import ToolOutcome
from abey.core.edits import map_open_calls
from abey.core.effects import EndChild, RunTool
from abey.core.finding import calls_of
from abey.core.hashes import parse_arguments
from abey.core.machine import Draft, Invocation
from abey.core.session import AnswerEntry, Session, Turn, open_calls
from abey.protocol import journal as j
from abey.protocol.base import Json, Timestamp
from abey.protocol.blocks import TextBlock
from abey.protocol.policy import Policy
from abey.shared.values import replace

KIND = "agent"
PARAMETERS: dict[str, Json] = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "minLength": 1, "description": "what the agent is to do, with all it has to know"}
    },
    "required": ["prompt"],
    "additionalProperties": False,
}

DEEPEST = 8
"""Sessions between a child and the one that a person started, itself included: agents may call themselves."""


def is_agent(tool: Tool | None) -> bool:
    return tool is not None and tool.kind == KIND


def working(session: Session) -> tuple[Call, ...]:
    """The open calls that children work on, in model order."""
    if not session.children:
        return ()
    return tuple(call for call in open_calls(session) if call.state == "running" and call.child_id is not None)


def unattended(draft: Draft) -> tuple[Call, ...]:
    """Those of them whose child has nothing in flight here: it rests, or the daemon is another one."""
    at_work = working(draft.session)
    if not at_work:
        return ()
    attended = {one.call_id for one in draft.work.live}
    return tuple([call for call in at_work if call.call_id not in attended])


def resumable(draft: Draft) -> tuple[Call, ...]:
    """The calls whose children go on with the next tool phase; one at rest does so once a run is asked for."""
    resting = unattended(draft)
    if not resting or draft.context.no_tools is not None:
        return ()
    found = (call for call in resting if call.call_id not in draft.work.rested)
    return tuple(call for call in found if _judged_tool(draft, call) is not None)


def go_on(draft: Draft) -> Draft:
    """Children that rest are worked on again: nothing is recorded, since their calls have started."""
    for call in resumable(draft):
        tool = _judged_tool(draft, call)
        if tool is not None and call.started is not None:
            invocation_id, child_id = call.started.invocation_id, call.child_id
            arguments = parse_arguments(call.effective_arguments)
            around = decorators_of(call.verdict.disposition) if call.verdict else ()
            run = RunTool(invocation_id, call.call_id, tool, arguments, around, child_id=child_id)
            draft = draft.begin(Invocation(invocation_id, call.call_id, True, child_id), run)
    return draft


def settle_children(draft: Draft) -> Draft:
    """What came of children whose turns have ended while nothing here worked on them is recorded."""
    for call in unattended(draft):
        outcome = draft.context.child_outcome(draft.session, call)
        if outcome is not None:
            draft = draft.write(_finished(call, outcome))
    return draft


def settled(session: Session, ended: Mapping[str, tuple[ToolOutcome, Timestamp]]) -> Session:
    """The session as it is to be shown: with what came of children and when, by call, though nobody has recorded it."""

    def end(call: Call) -> Call:
        if call.call_id not in ended:
            return call
        outcome, at = ended[call.call_id]
        record = _finished(call, outcome)
        return replace(call, finished=record, ended_at=at, state=record.outcome)

    return map_open_calls(session, end) if ended else session


def end_children(draft: Draft) -> Draft:
    """Children with nothing in flight here are told to end, and that is in flight until they have."""
    for call in unattended(draft):
        if call.started is not None and call.child_id is not None:
            invocation_id = call.started.invocation_id
            ends = EndChild(invocation_id, call.call_id, call.child_id)
            draft = draft.begin(Invocation(invocation_id, call.call_id, True, call.child_id), ends)
    return draft


def let_go(draft: Draft, call: Call) -> Draft:
    """The child of a call that nobody waits for any more is told to end, if it has one that rests."""
    if call not in unattended(draft) or call.started is None or call.child_id is None:
        return draft
    return draft.do(EndChild(call.started.invocation_id, call.call_id, call.child_id))


def end_left(draft: Draft) -> Draft:
    """The children of calls on lines that were left are told to end: a daemon may have died between a rewind and that.
    Once in the life of a daemon is enough, and to one that has ended it says nothing."""
    if draft.work.left_ended or not draft.session.lines:
        return draft
    for line in draft.session.lines:
        for call in calls_of(line.turns[-1]) if line.turns else ():
            if call.rewound is not None and call.started is not None and call.child_id is not None:
                draft = draft.do(EndChild(call.started.invocation_id, call.call_id, call.child_id))
    return draft.with_work(replace(draft.work, left_ended=True))


def finished(call_id: str, invocation_id: str | None, outcome: ToolOutcome) -> j.CallFinished:
    """The record of what came of a call."""
    return j.CallFinished(
        call_id=call_id,
        invocation_id=invocation_id,
        outcome="failed" if outcome.failed else "completed",
        output=outcome.content,
        error=outcome.error,
        whole=outcome.whole,
        changes=outcome.changes or None,
    )


def outcome_of(child: Session, parent: Session, call: Call) -> ToolOutcome | None:
    """What the call is told of its child, None while the turn that it asked for goes on."""
    if (child.created.parent, child.created.parent_call) != (parent.id, call.call_id):
        return failed(f"the session id {child.id} was taken by somebody else")
    turn = child.turns[0] if child.turns else None
    if turn is not None and (turn.end == "answered" or (turn.end is None and child.state == "completed")):
        return ToolOutcome(_final_text(turn))
    if turn is not None and turn.end is not None:
        error = child.last_error if turn is child.turn else None
        why = f": {error.message}" if error is not None and turn.end != "cancelled" else ""
        return failed(f"the agent {child.created.agent} gave no answer; its turn ended {turn.end}{why}")
    return failed(f"the session of the agent {child.created.agent} was stopped") if child.stopped else None


def failed(message: str) -> ToolOutcome:
    return ToolOutcome(f"tool/failed: {message}", "tool/failed")


def policies_above(session: Session) -> tuple[Policy | None, ...]:
    """The policies of the agents whose child this session is, however far up, as they were when it was made."""
    return session.created.parent_policies or ()


def depth(session: Session) -> int:
    return session.created.depth or 0


def _finished(call: Call, outcome: ToolOutcome) -> j.CallFinished:
    return finished(call.call_id, call.started.invocation_id if call.started else None, outcome)


def _final_text(turn: Turn) -> str:
    answers = [entry for entry in turn.entries if isinstance(entry, AnswerEntry)]
    blocks = answers[-1].blocks if answers else ()
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))


def _judged_tool(draft: Draft, call: Call) -> Tool | None:
    """The tool in the version that was judged; without one the child has to be driven by itself."""
    verdict = call.verdict
    if verdict is None:
        return None
    stored = draft.context.decided_by(verdict.config_hash)
    found = (agent.tools.get(call.tool) for agent in (draft.context.agent, stored) if agent is not None)
    return next((tool for tool in found if tool is not None and tool.hash == verdict.tool_hash), None)
