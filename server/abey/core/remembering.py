"""Remembered rules (*always*): made of an answer, kept before they decide anything, and applied to what waits already
(machine.md, Remembered rules).

Laws
- A rule lets exactly that run which `judge` lets run with it: a floor, a denial and what only others can run stay.
- What somebody has to look at again, since its tool or its file changed, or since it ran before, no rule answers.
"""

from abey.core.agent import Agent, Tool
from abey.core.call import Call
from abey.core.calls import base_disposition
from abey.core.dispatch import CHANGED_REASON, MOVED_REASON, checked_arguments, renewed, start_call
from abey.core.effects import Remember
from abey.core.events import ChangeRules, Complete
from abey.core.hashes import parse_arguments
from abey.core.ids import key_id
from abey.core.inputs import refuse_stopped
from abey.core.machine import Draft
from abey.core.matching import Case
from abey.core.policy import Laws, judge, strictness
from abey.core.session import Session, open_calls
from abey.errors import InvalidArguments
from abey.protocol import journal as j
from abey.protocol.base import Json, Timestamp, Wire, canonical_json
from abey.protocol.outcomes import AnyOutcome, Approve, DenyCall
from abey.protocol.policy import AskedRule, Defer, Deny, Policy, Rule, RunAsync, RunSync, Scope
from abey.protocol.transcript import Client
from abey.shared.values import replace

MOST_BYTES = 16 * 1024
"""Of the match of a rule: nobody reads a longer one."""
BY = "rule"
"""Who has answered a call that a rule answered."""
TOLD = "a remembered rule denies it"
TOO_WIDE = "it is too wide: the rule lets every command run, since its match says none"


def workspace_of(session: Session) -> str:
    """The folder that rules of scope `workspace` are about: the trusted one in which the agent was found, else the
    session's own."""
    return session.created.workspace or session.created.cwd


def is_about(rule: Rule, session: Session) -> bool:
    """Whether the calls of this session are among those that a rule of `rules.json` is about."""
    return rule.scope == "user" or (rule.scope == "workspace" and rule.workspace == workspace_of(session))


def made(asked: AskedRule, *, session_id: str | None, origin: str, now: Timestamp) -> Rule:
    """The rule that somebody asks for. The same one again has the same id. Raises InvalidArguments for one that says
    too much, or lets more than one tool run."""
    if "*" in asked.tool and not isinstance(asked.disposition, Deny):
        raise _unfit("a rule that lets calls run names one tool, and has no * in its name")
    if (asked.workspace is not None) != (asked.scope == "workspace"):
        raise _unfit("workspace, a folder, goes with the scope workspace and with no other")
    if asked.workspace is not None and not asked.workspace.startswith("/"):
        raise _unfit("workspace is an absolute path")
    if asked.scope == "session" and session_id is None:
        raise _unfit("a rule of scope session needs a sessionId")
    if len(canonical_json(asked.match)) > MOST_BYTES:
        raise _unfit(f"the match of a rule has at most {MOST_BYTES} bytes")
    rule = Rule(
        rule_id="",
        tool=asked.tool,
        match=asked.match,
        disposition=asked.disposition,
        scope=asked.scope,
        workspace=asked.workspace,
        origin=origin,
        created_at=now,
        uses=0,
    )
    return named(rule, session_id if asked.scope == "session" else None)


def named(rule: Rule, session_id: str | None) -> Rule:
    """The rule with its id; `session_id` is whose it is where its scope is the session."""
    name = rule_name(rule.tool, rule.match, rule.disposition, rule.scope, rule.workspace, session_id)
    return rule.model_copy(update={"rule_id": name})


def rule_name(
    tool: str, match: Json, disposition: Wire, scope: Scope, workspace: str | None, session_id: str | None
) -> str:
    """The id of a rule, which what it says alone decides, and of scope `session` whose it is."""
    said = [tool, match, disposition.wire(), scope, workspace, session_id]
    return key_id(f"rule {canonical_json(said).decode()}")


def covers(rule: Rule, tool: Tool, arguments: Json, laws: Laws) -> bool:
    """Whether the rule is about such a call at all: where all else defers it, the rule does not."""
    asks = Agent("", {}, "", "", policy=Policy(default=Defer()))
    alone = replace(laws, floors=(), remembered=(rule,), parents=())
    return strictness(judge(asks, tool, arguments, alone).disposition) == strictness(rule.disposition)


def rule_of_answer(draft: Draft, call: Call, event: Complete) -> Rule | None:
    """The rule that came with an answer. Raises InvalidArguments unless it decides this very call as the answer does,
    and says no more than the tool's own name."""
    if event.rule is None:
        return None
    outcome: AnyOutcome = event.outcome
    wanted = Deny if isinstance(outcome, DenyCall) else RunSync | RunAsync
    if not isinstance(event.rule.disposition, wanted):
        raise _unfit(f"with {outcome.kind} goes a rule that does the same")
    if event.rule.tool != call.tool:
        raise _unfit("the rule is not about this tool alone")
    session = draft.session
    if event.rule.scope == "workspace" and event.rule.workspace not in (None, workspace_of(session)):
        raise _unfit(f"the workspace of this session is {workspace_of(session)}")
    at = {"workspace": workspace_of(session) if event.rule.scope == "workspace" else event.rule.workspace}
    origin = f"{event.client.name}, answering {call.call_id} of session {session.id}"
    rule = made(event.rule.model_copy(update=at), session_id=session.id, origin=origin, now=draft.context.now)
    _refuse_other(draft, call, rule, outcome)
    return rule


def _refuse_other(draft: Draft, call: Call, rule: Rule, outcome: AnyOutcome) -> None:
    """Raises InvalidArguments for a rule that does not cover the call as it will run, or changes nothing for it."""
    tool = draft.context.agent.tools.get(call.tool)
    if tool is None:
        raise _unfit(f"there is no tool named {call.tool} now")
    edited = outcome.arguments if isinstance(outcome, Approve) else None
    arguments = parse_arguments(call.arguments) if edited is None else edited
    laws = draft.context.laws
    if not covers(rule, tool, arguments, laws):
        raise _unfit("the rule does not match this call")
    runs = not isinstance(rule.disposition, Deny)
    if runs and not Case.of(tool, arguments, laws.read).says_command(rule):
        raise _unfit(f"{TOO_WIDE}; who wants that adds it by hand, with agents/rules")
    judgement = judge(draft.context.agent, tool, arguments, with_rule(laws, rule))
    if strictness(judgement.disposition) != strictness(rule.disposition):
        why = judgement.reason or "the policy is stricter"
        raise _unfit(f"the rule would change nothing for such a call: {why}")


def with_rule(laws: Laws, rule: Rule) -> Laws:
    others = (one for one in laws.remembered if one.rule_id != rule.rule_id)
    return replace(laws, remembered=(*others, rule))


def remember(draft: Draft, rule: Rule, client: Client | None) -> Draft:
    """The rule is kept before anything that it decides: in the journal, or by the shell before it writes there."""
    if rule.scope != "session":
        return draft.do(Remember(rule))
    if any(one.rule_id == rule.rule_id for one in draft.session.rules):
        return draft
    return draft.write(j.RuleAdded(rule=rule, client=client))


def change_rules(draft: Draft, event: ChangeRules) -> Draft:
    """A rule for this session alone comes or goes; one that is kept elsewhere is applied to what waits here."""
    refuse_stopped(draft.session)
    rule = event.rule
    if event.action == "apply":
        return apply_rule(draft, rule)
    if event.action == "add":
        return apply_rule(remember(draft, rule, event.client), rule)
    if all(one.rule_id != rule.rule_id for one in draft.session.rules):
        return draft
    return draft.write(j.RuleRemoved(rule_id=rule.rule_id, client=event.client))


def apply_rule(draft: Draft, rule: Rule) -> Draft:
    """Every call that waits for an approval, and that the rule now decides, is answered by it."""
    if draft.work.closing is not None or draft.context.no_tools is not None:
        return draft
    for call in open_calls(draft.session):
        if decides(draft, call, rule):
            draft = _answered(draft, call, rule)
    return draft


def apply_remembered(draft: Draft, call: Call) -> Draft:
    """The same for a call that waits for its approval only from here on, and all that is remembered already."""
    if draft.work.closing is not None or draft.context.no_tools is not None:
        return draft
    call = current(draft.session, call)
    rule = next((one for one in draft.context.laws.remembered if decides(draft, call, one)), None)
    return draft if rule is None else _answered(draft, call, rule)


def might_decide(rule: Rule, session: Session) -> bool:
    """Whether a call waits here that the rule could be about; without knowing what its tool is now."""
    denies = isinstance(rule.disposition, Deny)
    return any(
        call.state == "deferred" and not call.asked_about and (call.tool == rule.tool or (denies and "*" in rule.tool))
        for call in open_calls(session)
    )


def decides(draft: Draft, call: Call, rule: Rule) -> bool:
    """Whether the rule answers this call: it waits for an approval as it was shown, and by the policy that judged it
    and the one of now alike the rule is what counts."""
    context, verdict = draft.context, call.verdict
    tool = context.agent.tools.get(call.tool)
    if verdict is None or tool is None or call.state != "deferred" or not verdict.runnable or call.asked_about:
        return False
    if call.held is not None or any(why in (verdict.reason or "") for why in (CHANGED_REASON, MOVED_REASON)):
        return False
    arguments, fault = checked_arguments(context, tool, call.arguments)
    if fault is not None or renewed(draft, call, tool) is not None:
        return False
    laws = with_rule(context.laws, rule)
    agents = [agent for agent in (context.agent, context.decided_by(verdict.config_hash)) if agent is not None]
    found = [strictness(judge(agent, tool, arguments, laws).disposition) for agent in agents]
    return covers(rule, tool, arguments, context.laws) and max(found) == strictness(rule.disposition)


def _answered(draft: Draft, call: Call, rule: Rule) -> Draft:
    denies = isinstance(base_disposition(rule.disposition), Deny)
    outcome: AnyOutcome = DenyCall(message=TOLD) if denies else Approve()
    draft = draft.write(j.CallResolved(call_id=call.call_id, by=BY, outcome=outcome, rule_id=rule.rule_id))
    if denies or holds(draft):
        return draft
    return start_call(draft, current(draft.session, call), background=True)


def holds(draft: Draft) -> bool:
    """Whether nothing may be started now, though it may be recorded."""
    return draft.session.paused is not None or draft.context.draining or draft.work.closing is not None


def current(session: Session, call: Call) -> Call:
    """This call as it is now."""
    batch = session.batch
    return next(one for one in batch.calls if one.call_id == call.call_id) if batch else call


def _unfit(why: str) -> InvalidArguments:
    return InvalidArguments(f"this rule cannot be remembered: {why}", errors=[why])
