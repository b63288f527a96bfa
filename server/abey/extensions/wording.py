"""What extensions say to people and to models, as it is told to them."""

from collections.abc import Callable, Mapping
from typing import Any

from abey.extensions.errors import InvalidQuestion
from abey.protocol.transcript import Question
from abey.shared.escaping import cut, whole_characters

LONGEST = 10_000
"""Characters of what people are told."""

QuestionFault = Callable[[Mapping[str, Any]], str | None]
"""Why nobody could answer a question of such a schema."""


def short(text: str) -> str:
    return cut(whole_characters(text), LONGEST)


def asked(question: Question, question_fault: QuestionFault) -> Question:
    """The question as people are asked it. Raises InvalidQuestion."""
    fault = question_fault(question.schema_) if question.schema_ is not None else None
    if fault is not None:
        raise InvalidQuestion(fault)
    return question.model_copy(update={"prompt": short(question.prompt)}, deep=True)
