"""What comes of what a model answered: calls to judge, the end of the turn, a summary, or nothing of use."""

from abey.core.budget import priced
from abey.core.events import ModelAnswered, ModelCallFailed
from abey.core.finding import CALL_IDS
from abey.core.machine import Draft
from abey.core.model_failures import model_failed
from abey.core.rulings import recorded
from abey.core.steps import step_over
from abey.core.structured import ask_again, misfit, was_repaired
from abey.core.turns import end_turn
from abey.protocol import journal as j
from abey.protocol.blocks import ProposedCall, TextBlock
from abey.protocol.session import Usage
from abey.shared.values import replace


def answered(draft: Draft, event: ModelAnswered) -> Draft:
    """An answer with calls is a candidate, and one without ends the turn, if it is what the agent asks for."""
    requested, answer = draft.session.asked, event.answer
    if requested is None:
        raise ValueError("an answer to no request")
    usage = priced(answer.usage, draft.context.agent.prices)
    if requested.sums_up is not None:
        return _summed_up(draft, event, requested, usage)
    wrong = misfit(answer, draft.context)
    if wrong is not None and was_repaired(draft.session):
        message = f"the answer is not what outputSchema asks for: {wrong}"
        failed = ModelCallFailed(event.invocation_id, "invalid-output", message, answer.attempts)
        return model_failed(draft, failed, usage)
    calls = _named(draft, event)
    candidate = j.Candidate(
        turn_id=requested.turn_id,
        step_id=requested.step_id,
        invocation_id=event.invocation_id,
        blocks=answer.blocks,
        calls=calls,
        finish_reason=answer.finish_reason,
        usage=usage,
        attempts=answer.attempts,
        verdicts=recorded(answer.rulings, calls) or None,
    )
    draft = step_over(draft.write(candidate))
    if wrong is not None:
        return ask_again(draft, wrong)
    return draft if candidate.calls else end_turn(draft, j.Final(turn_id=requested.turn_id, step_id=requested.step_id))


def _summed_up(draft: Draft, event: ModelAnswered, requested: j.ModelRequested, usage: Usage) -> Draft:
    """A summary, and the step goes on. Without text the model has failed, as with any other answer of no use."""
    answer = event.answer
    summary = "".join(block.text for block in answer.blocks if isinstance(block, TextBlock)).strip()
    if not summary:
        message = "the model was asked to sum up the conversation, and gave no text"
        failed = ModelCallFailed(event.invocation_id, "invalid-output", message, answer.attempts)
        return model_failed(draft, failed, usage)
    compacted = j.Compacted(
        turn_id=requested.turn_id,
        invocation_id=event.invocation_id,
        up_to=requested.sums_up or 0,
        place=requested.sums_up_place,
        summary=summary,
        usage=usage,
        attempts=answer.attempts,
    )
    draft = draft.write(compacted)
    return draft.with_work(replace(draft.work, phase="none"))


def _named(draft: Draft, event: ModelAnswered) -> tuple[ProposedCall, ...]:
    """The calls under ids that are unique in the session; an empty or repeated one is a fault of the call."""
    if not event.answer.calls:
        return ()
    earlier = draft.session.turns.folded(CALL_IDS)
    here: set[str] = set()
    named = []
    for index, call in enumerate(event.answer.calls):
        fault = "tool/invalid-call-id" if not call.id else "tool/duplicate-call-id" if call.id in here else None
        ours = fault is not None or call.id in earlier
        here.add(call.id)
        call_id = draft.mint(f"call:{index}") if ours else call.id
        named.append(ProposedCall(call_id=call_id, tool=call.tool, arguments=call.arguments, fault=fault))
    return tuple(named)
