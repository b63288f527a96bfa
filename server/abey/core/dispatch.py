"""The tool phase: a verdict for every call, then the ones that may run are started in model order."""

from typing import Any

from abey.core.agent import ISOLABLE, Tool
from abey.core.call import Call
from abey.core.calls import base_disposition, decorators_of, isolation_of, waits_for_somebody
from abey.core.children import go_on, is_agent
from abey.core.effects import RunTool
from abey.core.hashes import effective_hash, parse_arguments
from abey.core.machine import Context, Draft, Invocation
from abey.core.matching import told_rule
from abey.core.opinions import within
from abey.core.policy import EXTERNAL_REASON, Judgement, judge, policy_hash
from abey.core.previews import Preview
from abey.core.rulings import asks_first, denial, question_first
from abey.core.session import Session, open_calls
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.protocol.policy import Defer, Deny, RunAsync, RunIsolated
from abey.shared.values import replace

ISOLATION_REASON = "isolated runner required"
CHANGED_REASON = "the tool's definition changed after the call was judged"
MOVED_REASON = "the file changed after the call was shown"


def dispatch(draft: Draft) -> Draft:
    """Every undecided call of the batch gets its verdict, or the failed result that it deserves."""
    for call in open_calls(draft.session):
        if call.undecided:
            draft = _decide(draft, call)
    return draft.with_work(replace(draft.work, phase="tools"))


def startable(session: Session) -> tuple[Call, ...]:
    """The open calls that the next tool phase would start, in model order."""
    calls = open_calls(session)
    asking = asks_first(calls)
    return tuple([call for call in calls if call.state == "approved" or (not asking and _runs_by_itself(call))])


def continue_phase(draft: Draft) -> Draft:
    """Starts what may start now: background calls at once, the others as far as concurrency and `serial` allow."""
    blocked = False
    for call in startable(draft.session) if draft.context.no_tools is None else ():
        if _in_background(draft, call):
            draft = _awaited(start_call(draft, call, background=True), call)
        elif not blocked and _has_room(draft, call):
            draft = start_call(draft, call, background=False)
        else:
            blocked = True
    return go_on(draft)


def start_call(draft: Draft, call: Call, *, background: bool) -> Draft:
    """Starts a judged call, unless what would run is no longer what was judged: then it waits for somebody."""
    tool = draft.context.agent.tools.get(call.tool)
    if tool is None:
        return draft.write(_unknown_tool(draft.context, call))
    renewal = renewed(draft, call, tool)
    if renewal is not None:
        return draft.write(renewal)
    arguments, fault = checked_arguments(draft.context, tool, call.effective_arguments)
    if fault is not None:
        # they were fine when the call was judged: the text itself is lost
        return draft.write(_failed(call, "tool/invalid-arguments", fault))
    return run_call(draft, call, tool, arguments, background=background)


def run_call(draft: Draft, call: Call, tool: Tool, arguments: Json, *, background: bool) -> Draft:
    """Starts a judged call with its arguments, which were checked just now."""
    invocation_id = draft.mint(f"invocation:{call.call_id}")
    child_id = draft.mint(f"child:{call.call_id}") if is_agent(tool) else None
    arguments_hash = effective_hash(draft.session, call)
    started = j.CallStarted(
        call_id=call.call_id, invocation_id=invocation_id, arguments_hash=arguments_hash, child_id=child_id
    )
    verdict, seen = call.verdict, call.effective_preimage
    around = decorators_of(verdict.disposition) if verdict else ()
    isolation = isolation_of(verdict) if verdict else None
    run = RunTool(invocation_id, call.call_id, tool, arguments, around, isolation, seen, child_id, call.answer)
    in_background = background or child_id is not None
    return draft.write(started).begin(Invocation(invocation_id, call.call_id, in_background, child_id), run)


def renewed(draft: Draft, call: Call, tool: Tool) -> j.CallDecided | None:
    """The new verdict on a decided call where what would run is not what was judged: its tool has another definition
    now, or the file that it would write is another one, or its sandbox is gone. Then somebody must look again."""
    verdict = call.verdict
    if verdict is None:
        return None
    isolation = isolation_of(verdict)
    isolated = isolation is not None
    if isolation is not None and verdict.runnable and why_outside(draft, tool, isolation) is not None:
        return verdict.model_copy(update={"runnable": False, "reason": ISOLATION_REASON, "tool_hash": tool.hash})
    seen = call.effective_preimage
    file = preview(draft, tool, call.effective_arguments) if seen is not None else None
    moved = seen is not None and (file is None or file.preimage != seen)
    if tool.hash == verdict.tool_hash and not moved:
        return None
    why = MOVED_REASON if moved else CHANGED_REASON
    waits = waits_for_somebody(verdict)
    kept = waits or isolated
    reasons = [verdict.reason] if waits and verdict.reason not in (None, CHANGED_REASON, MOVED_REASON) else []
    shown = preview(draft, tool, call.arguments) if verdict.preimage is not None else None
    changes = {
        "disposition": verdict.disposition if kept else Defer(reason=why),
        "reason": "; ".join(reason for reason in (*reasons, why) if reason),
        "tool_hash": tool.hash,
        "runnable": verdict.runnable and tool.runnable and not (isolated and not waits),
        "preimage": shown.preimage if shown else None,
        "diff": shown.diff if shown else None,
    }
    return verdict.model_copy(update=changes)


def why_outside(draft: Draft, tool: Tool, isolation: RunIsolated) -> str | None:
    """Why nothing here can run the tool in such a sandbox, None where something can."""
    return draft.context.no_sandbox(tool, isolation, draft.session.created.cwd)


def preview(draft: Draft, tool: Tool, text: str) -> Preview | None:
    """What a call with this arguments text would change in a file now."""
    try:
        arguments = parse_arguments(text)
    except ValueError:
        return None
    return draft.context.preview(draft.session.created.cwd, tool, arguments) if isinstance(arguments, dict) else None


def checked_arguments(context: Context, tool: Tool, text: str) -> tuple[Json, str | None]:
    """The value of an arguments text, and what is wrong with it for this tool, in a line, or None."""
    try:
        value = parse_arguments(text)
    except ValueError as error:
        return None, f"the arguments are not JSON: {error}"
    if not isinstance(value, dict):
        return value, "the arguments are not a JSON object"
    return value, context.check(tool.parameters, value, "the arguments")


def _decide(draft: Draft, call: Call) -> Draft:
    context = draft.context
    tool = context.agent.tools.get(call.tool)
    if call.fault is not None:
        return draft.write(_failed(call, call.fault, "the call's id is empty or repeated; ask again with a new one"))
    if tool is None:
        return draft.write(_unknown_tool(context, call))
    arguments, fault = checked_arguments(context, tool, call.arguments)
    if fault is not None:
        return draft.write(_failed(call, "tool/invalid-arguments", fault))
    judgement = judge(context.agent, tool, arguments, context.laws)
    judgement = judgement if call.held is None else _held(judgement, call.held)
    verdict = _verdict(draft, call, tool, judgement)
    denied = denial(call, verdict)
    if denied is not None:
        return draft.write(denied[0]).write(denied[1])
    if verdict.runnable and waits_for_somebody(verdict):
        shown = context.preview(draft.session.created.cwd, tool, arguments)
        if shown is not None and shown.fault is not None:
            return draft.write(_failed(call, "tool/failed", shown.fault))  # there is nothing to approve
        verdict = verdict.model_copy(update={"preimage": shown.preimage, "diff": shown.diff}) if shown else verdict
    draft = draft.write(verdict)
    if isinstance(base_disposition(verdict.disposition), Deny):
        told = f"denied by policy: {judgement.reason}" if judgement.reason else "denied by policy"
        return draft.write(_denied(call, told))
    question, run = question_first(call), draft.work.run
    if run is not None and run.run.synchronous and (question is not None or waits_for_somebody(verdict)):
        return draft.write(_denied(call, "needs a decision, and this run is synchronous"))
    return draft if question is None else draft.write(j.CallAsked(call_id=call.call_id, question=question))


def _held(judgement: Judgement, reason: str) -> Judgement:
    """Of a call that may have run already: it waits, whatever lets it run."""
    if isinstance(base_disposition(judgement.disposition), Deny):
        return judgement
    return replace(judgement, disposition=within(judgement.disposition, Defer(reason=reason)))


def _verdict(draft: Draft, call: Call, tool: Tool, judgement: Judgement) -> j.CallDecided:
    context, isolation = draft.context, judgement.isolation
    no_sandbox = isolation is not None and why_outside(draft, tool, isolation) is not None
    reason = judgement.reason
    if no_sandbox:
        never = f", which a tool of kind {tool.kind} cannot have"
        reason = ISOLATION_REASON + ("" if tool.kind in ISOLABLE else never)
    elif not tool.runnable and reason is None:
        reason = EXTERNAL_REASON
    expires = judgement.expire_seconds
    return j.CallDecided(
        call_id=call.call_id,
        token=context.token(f"token:{call.call_id}"),
        disposition=judgement.disposition,
        reason=reason,
        rule=told_rule(judgement.rule) if judgement.rule else None,
        runnable=tool.runnable and not no_sandbox,
        policy_hash=policy_hash(context.agent, context.laws),
        tool_hash=tool.hash,
        config_hash=context.agent.config_hash,
        idempotent=tool.idempotent,
        serial=judgement.serial,
        isolation=isolation if isinstance(base_disposition(judgement.disposition), Defer) else None,
        expires_at=context.later(expires) if expires else None,
    )


def _runs_by_itself(call: Call) -> bool:
    return call.state == "ready" and call.verdict is not None and not waits_for_somebody(call.verdict)


def _in_background(draft: Draft, call: Call) -> bool:
    if is_agent(draft.context.agent.tools.get(call.tool)):
        return True
    disposition: Any = base_disposition(call.verdict.disposition) if call.verdict else None
    return call.state == "ready" and isinstance(disposition, RunAsync)


def _awaited(draft: Draft, call: Call) -> Draft:
    """A synchronous run waits for nobody, but for what it has started in the background itself."""
    active = draft.work.run
    if active is None or not active.run.synchronous:
        return draft
    return draft.with_work(replace(draft.work, run=replace(active, awaits=active.awaits | {call.call_id})))


def _has_room(draft: Draft, call: Call) -> bool:
    foreground = {one.call_id for one in draft.work.live if not one.background}
    if not foreground:
        return True
    running = [other for other in open_calls(draft.session) if other.call_id in foreground]
    alone = any(other.verdict is not None and other.verdict.serial for other in (*running, call))
    return not alone and len(foreground) < draft.context.agent.limits.max_concurrency


def _unknown_tool(context: Context, call: Call) -> j.CallFinished:
    names = ", ".join(sorted(tool.name for tool in context.agent.tools.values() if tool.offered)) or "none"
    why = context.agent.why_missing(call.tool)
    told = f"there is no tool named {call.tool}{f' ({why})' if why else ''}; the tools are: {names}"
    return _failed(call, "tool/unknown", told)


def _failed(call: Call, kind: str, message: str) -> j.CallFinished:
    return j.CallFinished(call_id=call.call_id, outcome="failed", output=f"{kind}: {message}", error=kind)


def _denied(call: Call, told: str) -> j.CallFinished:
    return j.CallFinished(call_id=call.call_id, outcome="denied", output=told)
