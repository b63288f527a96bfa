"""Calls that wait for a sandbox, tried again (machine.md, Dispositions): inside one, or not at all.

Laws
- A call whose verdict asks for isolation never starts without it, whoever says so.
- Nobody approves by trying: what waits for an approval besides waits for that alone afterwards.
"""

from abey.core.call import Call
from abey.core.calls import base_disposition, isolation_of, waits_for_somebody
from abey.core.completing import legal_outcomes, pending_kind, told
from abey.core.dispatch import renewed, start_call, why_outside
from abey.core.effects import Refuse
from abey.core.events import Isolate
from abey.core.finding import find_call
from abey.core.hashes import parse_arguments
from abey.core.inputs import refuse_stopped
from abey.core.machine import Draft
from abey.core.policy import judge
from abey.core.remembering import current, holds
from abey.core.rulings import asks_first
from abey.core.session import open_calls
from abey.errors import InvalidState, UnknownToken
from abey.protocol import journal as j
from abey.protocol.policy import Defer, Deny


def isolate(draft: Draft, event: Isolate) -> Draft:
    """Runs the call of that token, or all of the session that wait for a sandbox, in one. Raises UnknownToken;
    InvalidState for a call that does not wait for one, or where none can be run now."""
    refuse_stopped(draft.session)
    calls = _asked_for(draft, event.token)
    if calls and draft.context.no_tools is not None:
        raise draft.context.no_tools
    why: list[str] = []
    before = len(draft.records)
    for call in calls:
        reason = _why_not(draft, call)
        if reason is None:
            draft = _let_run(draft, call)
            continue
        why.append(reason)
        tool = draft.context.agent.tools.get(call.tool)
        renewal = renewed(draft, call, tool) if tool is not None else None
        draft = draft.write(renewal) if renewal is not None else draft
    if len(why) < len(calls) or not calls:
        return draft
    refusal = _refusal(len(calls), why[0])
    if len(draft.records) > before:
        return draft.do(Refuse(refusal))  # what they would do is shown anew
    raise refusal


def isolated(draft: Draft) -> list[str]:
    """The calls that this transition has let run in a sandbox, and has started."""
    decided = [one.data for one in draft.records if isinstance(one.data, j.CallDecided)]
    again = {data.call_id for data in decided if data.runnable and isolation_of(data) is not None}
    started = (one.data.call_id for one in draft.records if isinstance(one.data, j.CallStarted))
    return [call_id for call_id in started if call_id in again]


def _asked_for(draft: Draft, token: str | None) -> tuple[Call, ...]:
    if token is None:
        return tuple(call for call in open_calls(draft.session) if _waits(call))
    found = find_call(draft.session, token)
    if found is None:
        raise UnknownToken(f"no call has the token {token}")
    call = found[1]
    if not _waits(call):
        kind, legal = pending_kind(call), list(legal_outcomes(call))
        message = f"this call {told(call)}, and does not wait for a sandbox; legal: "
        message += ", ".join(legal) or "nothing"
        raise InvalidState(message, state=call.state, pendingKind=kind, legal=legal)
    return (call,)


def _waits(call: Call) -> bool:
    verdict = call.verdict
    waits = call.state == "deferred" and not call.asked_about and verdict is not None and not verdict.runnable
    return waits and verdict is not None and isolation_of(verdict) is not None


def _why_not(draft: Draft, call: Call) -> str | None:
    """Why the call cannot run in a sandbox now. One whose tool is gone can: it fails at once, and the turn goes on."""
    agent, verdict = draft.context.agent, call.verdict
    isolation = isolation_of(verdict) if verdict is not None else None
    tool = agent.tools.get(call.tool)
    if tool is None or verdict is None or isolation is None:
        return agent.why_missing(call.tool)
    if not tool.runnable:
        return f"only others can run {call.tool} now"
    judged = judge(agent, tool, parse_arguments(call.effective_arguments), draft.context.laws)
    if isinstance(base_disposition(judged.disposition), Deny):
        return f"the policy does not let {call.tool} run any more"
    if tool.hash != verdict.tool_hash:
        return f"the definition of {call.tool} changed after the call was judged; look at it again"
    return why_outside(draft, tool, isolation)


def _let_run(draft: Draft, call: Call) -> Draft:
    if call.verdict is None or call.tool not in draft.context.agent.tools:
        return start_call(draft, call, background=True)
    base = base_disposition(call.verdict.disposition)
    reason = base.reason if isinstance(base, Defer) else None
    verdict = call.verdict.model_copy(update={"runnable": True, "reason": reason})
    draft = draft.write(verdict)
    if waits_for_somebody(verdict) or holds(draft) or asks_first(open_calls(draft.session)):
        return draft
    return start_call(draft, current(draft.session, call), background=True)


def _refusal(found: int, why: str) -> InvalidState:
    waiting = f"{found} call{' waits' if found == 1 else 's wait'} for a sandbox"
    return InvalidState(f"{waiting}, and none can be run in one now: {why}", state="deferred", found=found, reason=why)
