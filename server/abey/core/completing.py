"""Answers to calls that wait: who may say what, and what it leads to (machine.md, Completing)."""

import json

from abey.core.agent import Tool
from abey.core.call import Call
from abey.core.calls import base_disposition, isolation_of
from abey.core.children import let_go
from abey.core.dispatch import checked_arguments, preview, renewed, run_call, start_call
from abey.core.effects import Abort, Refuse
from abey.core.events import UNTIL_YIELD, Complete
from abey.core.finding import find_call
from abey.core.hashes import shown_hash
from abey.core.inputs import refuse_stopped
from abey.core.machine import Draft
from abey.core.opinions import lets_more
from abey.core.policy import Judgement, judge
from abey.core.questions import answer
from abey.core.remembering import apply_rule, current, holds, remember, rule_of_answer
from abey.core.session import Session, open_calls
from abey.core.steps import begin_run, follow_with
from abey.errors import ArgumentsMismatch, InvalidArguments, InvalidState, PermissionDenied, UnknownToken
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.protocol.outcomes import Approve
from abey.protocol.policy import Deny, Rule, RunAsync
from abey.protocol.transcript import PendingKind
from abey.shared.values import replace

LEGAL: dict[PendingKind, tuple[str, ...]] = {
    "approval": ("approve", "deny", "result", "error", "cancel"),
    "external": ("result", "error", "deny", "cancel"),
    "question": ("answer", "cancel"),
    "running": ("result", "error", "cancel"),
    "uncertain": ("result", "error", "cancel", "rerun"),
}
IN_WORDS: dict[PendingKind, str] = {
    "approval": "waits for an approval",
    "external": "waits for a result",
    "question": "asks a question",
    "running": "runs",
    "uncertain": "may have run",
}
"""A call of each kind, for people."""


def pending_kind(call: Call) -> PendingKind | None:
    """What a decided call waits for, or None where nobody's answer is wanted any more."""
    if call.verdict is None:
        return None
    if call.asked_about:
        return "question"
    match call.state:
        case "deferred":
            return "approval" if call.verdict.runnable else "external"
        case "uncertain":
            return "uncertain"
        case "running" if call.question is not None:
            return "question"
        case "running" if call.child_id is not None:
            return "running"
        case "running" if call.resolution is None and isinstance(base_disposition(call.verdict.disposition), RunAsync):
            return "running"
        case _:
            return None


def told(call: Call) -> str:
    """The call as it is now, in words that follow *it* or *a call that*."""
    kind = pending_kind(call)
    return IN_WORDS[kind] if kind else f"is {call.state}"


def legal_outcomes(call: Call) -> tuple[str, ...]:
    """What may be answered to a call now. What only others can run is never run again here either."""
    kind = pending_kind(call)
    legal = LEGAL[kind] if kind else ()
    runnable = call.verdict is not None and call.verdict.runnable
    return legal if runnable else tuple(one for one in legal if one != "rerun")


def complete(draft: Draft, event: Complete) -> Draft:
    """The first recorded answer wins; a later one changes nothing. Raises for an answer that is not legal here."""
    found = find_call(draft.session, event.token)
    if found is None:
        raise UnknownToken(f"no call has the token {event.token}")
    call = found[1]
    refuse_stopped(draft.session)
    kind = pending_kind(call)
    if _is_late(call, kind, event.outcome.kind):
        return draft
    if event.outcome.kind not in legal_outcomes(call):
        raise _illegal(call, event.outcome.kind)
    rule = rule_of_answer(draft, call, event)
    if event.outcome.kind in ("approve", "rerun"):
        draft = _run_it(draft, call, event, rule)
    elif kind == "question":
        draft = answer(draft, call, event, _resolution(call, event, None))
    else:
        draft = _inject(draft, call, event, rule)
    if any(isinstance(effect, Refuse) for effect in draft.effects):
        return draft
    draft = draft if rule is None else apply_rule(draft, rule)
    return _resume(draft, call) if event.resume else draft


def _is_late(call: Call, kind: PendingKind | None, outcome: str) -> bool:
    """Whether somebody else was heard first: with what the call came to, or with an answer to its question."""
    if kind is None and (call.final or call.resolution is not None):
        return True
    legal = () if kind is None else LEGAL[kind]
    return call.answered is not None and outcome in LEGAL["question"] and outcome not in legal


def expire(draft: Draft) -> Draft:
    """The calls whose time is over."""
    for call in open_calls(draft.session):
        expires = call.verdict.expires_at if call.verdict else None
        if expires is not None and expires <= draft.context.now and call.state == "deferred":
            draft = draft.write(j.CallExpired(call_id=call.call_id))
    return draft


def _illegal(call: Call, outcome: str) -> InvalidState:
    kind, legal = pending_kind(call), list(legal_outcomes(call))
    names = ", ".join(legal) or "nothing"
    return InvalidState(
        f"{outcome} does not complete a call that {told(call)}; legal: {names}",
        state=call.state,
        pendingKind=kind,
        legal=legal,
    )


def _run_it(draft: Draft, call: Call, event: Complete, rule: Rule | None) -> Draft:
    """Approve and rerun: the daemon runs exactly what was shown, or what it was edited to."""
    if event.arguments_hash != shown_hash(draft.session, call):
        raise _differs(draft.session, call, "this is not the call that was shown; look at it again")
    if draft.context.no_tools is not None:
        raise draft.context.no_tools
    tool = draft.context.agent.tools.get(call.tool)
    if tool is None and (why := draft.context.agent.why_missing(call.tool)) is not None:
        raise InvalidState(f"{call.tool} cannot run now: {why}", state=call.state, legal=list(legal_outcomes(call)))
    renewal = renewed(draft, call, tool) if tool is not None else None
    if renewal is not None:
        return _mismatch(draft.write(renewal), call)
    edit = event.outcome.arguments if isinstance(event.outcome, Approve) else None
    edited = None if edit is None else json.dumps(edit, ensure_ascii=False, separators=(",", ":"))
    arguments = _allowed(draft, call, tool, edited) if tool is not None else None
    resolution = _resolution(call, event, edited)
    if tool is not None and edited is not None and call.verdict is not None and call.verdict.preimage is not None:
        resolution = resolution.model_copy(update={"preimage": _preimage(draft, tool, edited)})
    draft = _resolve(draft, resolution, rule)
    if holds(draft):
        return draft
    call = current(draft.session, call)
    if tool is not None and edited is None:
        return run_call(draft, call, tool, arguments, background=True)  # all of it was looked at before the answer
    return start_call(draft, call, background=True)


def _resolve(draft: Draft, resolution: j.CallResolved, rule: Rule | None) -> Draft:
    """The answer, after the rule that came with it."""
    if rule is None:
        return draft.write(resolution)
    draft = remember(draft, rule, resolution.client)
    return draft.write(resolution.model_copy(update={"rule_id": rule.rule_id}))


def _preimage(draft: Draft, tool: Tool, edited: str) -> str | None:
    """Of the file that the edited arguments name. Raises InvalidArguments where nothing could be written."""
    file = preview(draft, tool, edited)
    if file is not None and file.fault is not None:
        raise InvalidArguments(f"{tool.name} cannot run with the edited arguments: {file.fault}", errors=[file.fault])
    return file.preimage if file else None


def _mismatch(draft: Draft, call: Call) -> Draft:
    message = f"what {call.tool} would do has changed since the call was shown; look at it again"
    return draft.do(Refuse(_differs(draft.session, current(draft.session, call), message)))


def _differs(session: Session, call: Call, message: str) -> ArgumentsMismatch:
    """With what has to be shown now."""
    diff = call.verdict.diff if call.verdict else None
    return ArgumentsMismatch(
        message, argumentsHash=shown_hash(session, call), **({} if diff is None else {"diff": diff})
    )


def _allowed(draft: Draft, call: Call, tool: Tool, edited: str | None) -> Json:
    """What would run: these arguments. Raises where they do not fit the schema, or a policy has come to forbid it.

    What was shown was judged by the stored policy; an edit is judged by it now, and both by the current one.
    """
    context, text = draft.context, call.effective_arguments if edited is None else edited
    what = "the arguments" if edited is None else "the edited arguments"
    arguments, fault = checked_arguments(context, tool, text)
    if fault is not None:
        raise InvalidArguments(f"{what} of {call.tool} do not fit its schema: {fault}", errors=[fault])
    stored = context.decided_by(call.verdict.config_hash) if call.verdict and edited is not None else None
    for agent in (context.agent, stored):
        judged = judge(agent, tool, arguments, context.laws) if agent else None
        if judged is not None and _forbids(judged, call):
            raise PermissionDenied(f"the policy does not let {call.tool} run with {what}")
    return arguments


def _forbids(judged: Judgement, call: Call) -> bool:
    """Whether a verdict of now forbids what the one that was shown let somebody approve: at all, or in its sandbox."""
    shown = isolation_of(call.verdict) if call.verdict else None
    denied = isinstance(base_disposition(judged.disposition), Deny)
    return denied or (judged.isolation is not None and lets_more(shown, judged.isolation))


def _inject(draft: Draft, call: Call, event: Complete, rule: Rule | None) -> Draft:
    """A result from outside, a denial or a cancel; what runs is told to end, and its late result is nobody's."""
    draft = _resolve(let_go(draft, call), _resolution(call, event, None), rule)
    live = next((one for one in draft.work.live if one.call_id == call.call_id), None)
    return draft.end(live.invocation_id).do(Abort(live.invocation_id)) if live else draft


def _resolution(call: Call, event: Complete, edited: str | None) -> j.CallResolved:
    return j.CallResolved(
        call_id=call.call_id, by=event.client.name, client=event.client, outcome=event.outcome, arguments=edited
    )


def _resume(draft: Draft, call: Call) -> Draft:
    if holds(draft):
        return draft
    active, awaits = draft.work.run, frozenset({call.call_id})
    if active is None:
        return begin_run(draft, UNTIL_YIELD, awaits)
    if active.run.patient:
        return draft  # it goes on by itself, and may wait for others long after this answer
    if active.run.once or active.run.max_steps is not None:
        return follow_with(draft, UNTIL_YIELD, awaits)
    waiting = replace(active, awaits=active.awaits | awaits)
    return replace(draft.with_work(replace(draft.work, run=waiting)), generation=active.generation)
