"""What a person is asked: by a tool that runs, or by an extension before one does (machine.md, Completing)."""

from abey.core.call import Call
from abey.core.effects import AnswerTool
from abey.core.events import Complete, ToolAsked
from abey.core.hashes import shown_hash
from abey.core.machine import Draft, Invocation
from abey.core.remembering import apply_remembered
from abey.errors import ArgumentsMismatch, InvalidArguments
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.protocol.outcomes import Answer
from abey.protocol.transcript import Question
from abey.shared.values import replace


def ask(draft: Draft, event: ToolAsked, invocation: Invocation | None) -> Draft:
    """The question waits for somebody, who may take days: from here on the step does not wait for the call. Where a run
    waits for nobody, all is to end, or nobody waits for the tool any more, nobody answers."""
    run = draft.work.run
    alone = run is not None and run.run.synchronous and invocation is not None and not invocation.background
    if invocation is None or alone or draft.work.closing is not None:
        return draft.do(AnswerTool(event.invocation_id, None))
    aside = replace(invocation, background=True)
    live = tuple(aside if one is invocation else one for one in draft.work.live)
    asked = j.CallAsked(call_id=invocation.call_id or "", question=event.question)
    return draft.write(asked).with_work(replace(draft.work, live=live))


def answer(draft: Draft, call: Call, event: Complete, resolution: j.CallResolved) -> Draft:
    """A tool that asks goes on with the answer; a call that was asked about before it runs starts with the next step,
    if its verdict says so. Raises InvalidArguments for what is no answer to this question, ArgumentsMismatch where
    another was shown. What waits for its approval then may have been answered by a rule that came meanwhile."""
    expected = shown_hash(draft.session, call)
    if event.arguments_hash not in (None, expected):
        raise ArgumentsMismatch("this is not the question that was shown; look at it again", argumentsHash=expected)
    value = event.outcome.value if isinstance(event.outcome, Answer) else None
    if isinstance(event.outcome, Answer) and call.question is not None:
        _refuse_unfit(draft, call.question, value)
    draft = draft.write(resolution.model_copy(update={"answers_question": True}))
    if call.asked_about:
        return apply_remembered(draft, call)
    if call.started is None:
        return draft
    return draft.do(AnswerTool(call.started.invocation_id, value))


def _refuse_unfit(draft: Draft, question: Question, value: Json) -> None:
    """Raises InvalidArguments for an answer that is none to this question."""
    if question.kind == "approval" and not isinstance(value, bool):
        raise InvalidArguments("the question wants true or false", errors=["value is not a boolean"])
    fault = draft.context.check(question.schema_, value, "the answer") if question.schema_ is not None else None
    if fault is not None:
        raise InvalidArguments(f"the answer does not fit the schema of the question: {fault}", errors=[fault])
