"""Who has answered, in the words of each provider, streamed and whole: for traces, and nowhere else."""

from collections.abc import Mapping
from typing import Any

import pytest

from abey.runtime.models.chat_answer import ChatAnswer
from abey.runtime.models.drafting import LONGEST_NAME
from abey.runtime.models.messages_answer import MessagesAnswer
from abey.runtime.models.responses_answer import ResponsesAnswer

Value = Mapping[str, Any]


def chat(model: Any) -> tuple[list[Value], Value]:
    choice = {"index": 0, "finish_reason": "stop"}
    begun = {"model": model, "choices": [{"index": 0, "delta": {"content": "a"}}]}
    ended = {"model": model, "choices": [{**choice, "delta": {}}]}
    return [begun, ended], {"model": model, "choices": [{**choice, "message": {"content": "a"}}]}


def messages(model: Any) -> tuple[list[Value], Value]:
    begun = {"type": "message_start", "message": {"model": model, "content": []}}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    whole = {"model": model, "content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn"}
    return [begun, ended, {"type": "message_stop"}], whole


def responses(model: Any) -> tuple[list[Value], Value]:
    text = {"type": "output_text", "text": "a"}
    whole = {"model": model, "status": "completed", "output": [{"type": "message", "content": [text]}]}
    return [{"type": "response.completed", "response": whole}], whole


FORMS: Any = {ChatAnswer: chat, MessagesAnswer: messages, ResponsesAnswer: responses}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("tiny-2026", "tiny-2026"),
        ("", None),
        (None, None),
        (7, None),
        ("x" * 999, "x" * LONGEST_NAME),
        ("a\ud800", "a\ufffd"),
    ],
)
def test_who_has_answered_is_what_the_provider_says(form: Any, said: Any, known: str | None) -> None:
    events, value = FORMS[form](said)
    streamed, whole = form("o", lambda _: None), form("o", lambda _: None)
    for event in events:
        streamed.event("", event)
    whole.whole(value)
    assert (streamed.answer().model, whole.answer().model) == (known, known)
