"""One model call, as all hooks around it change it together: what is asked, what was answered, what is said of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from abey.core.conversation import CallRuling, ModelAnswer, ModelRequest, OfferedTool, UserMessage
from abey.core.rows import Row
from abey.errors import ModelFailed
from abey.extensions.answers import Answer, AnsweredCall
from abey.extensions.errors import InvalidReplacement, NotAnswered, Tripped, UnknownCall
from abey.extensions.wording import QuestionFault, asked, short
from abey.protocol.blocks import Block, TextBlock, ThinkingBlock
from abey.protocol.rulings import Tripwire
from abey.protocol.session import Usage
from abey.protocol.transcript import Question, TextPart
from abey.shared.escaping import whole_characters


@dataclass(slots=True, eq=False)
class Exchange:
    """`answer` is there from when the model has answered, `failure` where it has failed instead, and `tripwire` from
    when the first hook has tripped one; `hidden` are the tools that were to be added, but another one has the name.
    Once it is `over` nothing comes of what hooks may still do. `question_fault` says why nobody could answer a question
    of such a schema."""

    request: ModelRequest
    question_fault: QuestionFault
    answer: Answer | None = None
    failure: ModelFailed | None = None
    tripwire: Tripwire | None = None
    message: str = ""
    given: ModelAnswer | None = None
    rulings: dict[AnsweredCall, CallRuling] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    over: bool = False

    @property
    def usage(self) -> Usage | None:
        """What the answer has cost, None where there is none."""
        return self.given.usage if self.given else None

    def instruct(self, text: str) -> None:
        text = whole_characters(text)
        prompt = f"{self.request.system_prompt}\n\n{text}" if self.request.system_prompt else text
        self.request = replace(self.request, system_prompt=prompt)

    def tell(self, text: str) -> None:
        """Neighbouring messages of a user are one."""
        told, part = self.request.messages, TextPart(text=whole_characters(text))
        messages = told if isinstance(told, Row) else Row((), tuple(told))
        before = messages.tail
        if before and isinstance(before[-1], UserMessage):
            tail = (*before[:-1], UserMessage((*before[-1].parts, part)))
        else:
            tail = (*before, UserMessage((part,)))
        self.request = replace(self.request, messages=messages.then((), tail))

    def offer(self, tool: OfferedTool) -> None:
        if all(one.name != tool.name for one in self.request.tools):
            self.request = replace(self.request, tools=(*self.request.tools, tool))

    def answered(self, given: ModelAnswer) -> None:
        calls = tuple(AnsweredCall(at, one.id, one.tool, one.arguments) for at, one in enumerate(given.calls))
        self.given, self.answer = given, Answer(given.blocks, calls, given.finish_reason, given.usage)

    def rule(self, extension: str, call: AnsweredCall, reason: str | None, question: Question | None) -> None:
        """The first ruling on a call counts, but a denial beats a question. Raises NotAnswered, UnknownCall,
        InvalidQuestion."""
        if call not in self.the_answer.calls:
            raise UnknownCall(f"the answer holds no call {call.number} of {call.tool}")
        reason = None if reason is None else short(reason)
        question = None if question is None else asked(question, self.question_fault)
        before = self.rulings.get(call)
        if before is None or (before.question is not None and question is None):
            self.rulings[call] = CallRuling(call.number, extension, reason, question)

    def replace(self, blocks: Sequence[Block] | None, keep: Iterable[AnsweredCall] | None) -> None:
        """Raises NotAnswered, InvalidReplacement."""
        answer = self.the_answer
        kept = answer.calls if keep is None else tuple(keep)
        if kept != tuple(call for call in answer.calls if call in kept):
            raise InvalidReplacement("an answer keeps calls that it has, in their order; it gets no others")
        told = answer.blocks if blocks is None else tuple(blocks)
        if not all(isinstance(block, TextBlock | ThinkingBlock) for block in told):
            raise InvalidReplacement("an answer has blocks of text and of thinking")
        if not told and not kept:
            raise InvalidReplacement("nothing would be left of the answer")
        self.answer = replace(answer, blocks=tuple(map(_whole, told)), calls=kept)

    def trip(self, extension: str, message: str, scope: Literal["step", "session"]) -> Tripped:
        """What is to be raised then. The first one counts."""
        if self.tripwire is None:
            self.tripwire, self.message = Tripwire(extension=extension, scope=scope), short(message)
        return Tripped(self.message)

    @property
    def the_answer(self) -> Answer:
        """Raises NotAnswered."""
        if self.answer is None:
            raise NotAnswered("the model has not answered yet: that is after `proceed`")
        return self.answer

    def outcome(self) -> ModelAnswer:
        """The answer as the hooks left it. Raises NotAnswered."""
        answer = self.the_answer
        if self.given is None:
            raise NotAnswered("the model has not answered")
        calls = tuple(self.given.calls[call.number] for call in answer.calls)
        ruled = ((at, self.rulings.get(call)) for at, call in enumerate(answer.calls))
        rulings = tuple(replace(ruling, index=at) for at, ruling in ruled if ruling is not None)
        return replace(self.given, blocks=answer.blocks, calls=calls, rulings=rulings)


def _whole(block: Block) -> Block:
    """A block that providers take."""
    return block.model_copy(update={"text": whole_characters(block.text)})
