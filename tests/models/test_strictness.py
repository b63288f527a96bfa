"""The history check of the scripted model: a test double that cannot be fooled."""

from typing import Any

import pytest

from abey.core.conversation import (
    AssistantMessage,
    CallMessage,
    Message,
    ModelRequest,
    OfferedTool,
    ResultMessage,
    UserMessage,
)
from abey.protocol.blocks import TextBlock
from abey.protocol.transcript import TextPart
from abey.runtime.models.strictness import fault_of, misfit_of

USER = UserMessage((TextPart(text="hello"),))
SAYS = AssistantMessage((TextBlock(text="hi"),), ())


def calls(*ids: str, arguments: str = "{}") -> AssistantMessage:
    return AssistantMessage((), tuple(CallMessage(call_id, "tool", arguments) for call_id in ids))


def result(call_id: str, content: Any = "done") -> ResultMessage:
    return ResultMessage(call_id, "tool", content, is_error=False)


def fault(*messages: Message) -> str | None:
    return fault_of(ModelRequest("", messages, (), 0))


@pytest.mark.parametrize(
    "messages",
    [
        (USER,),
        (USER, SAYS, USER),
        (USER, calls("a", "b"), result("a"), result("b")),
        (USER, calls("a"), result("a"), USER),
        (USER, calls("a"), result("a"), calls("b"), result("b"), SAYS, USER),
    ],
)
def test_a_closed_history_has_no_fault(messages: tuple[Message, ...]) -> None:
    assert fault(*messages) is None


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ((), "the history is empty"),
        ((SAYS, USER), "the first message is the model's"),
        ((USER, USER), "message 2 is the user's, and so is the one before it"),
        ((USER, SAYS, SAYS, USER), "message 3 is the model's, and so is the one before it"),
        ((USER, SAYS), "the last message is the model's own"),
        ((USER, calls("a")), "call 'a' has no result"),
        ((USER, calls("a", "b"), result("a")), "call 'b' has no result"),
        ((USER, calls("a"), USER), "call 'a' has no result before message 3"),
        ((USER, calls("a"), calls("b"), result("b")), "call 'a' has no result before message 3"),
        (
            (USER, calls("a"), result("a"), result("a")),
            "message 4 answers call 'a', which is answered twice, or out of its place",
        ),
        ((USER, calls("a", "b"), result("b"), result("a")), "message 3 answers call 'b' before call 'a'"),
        ((USER, result("z")), "message 2 answers call 'z', which was never made"),
        ((USER, calls("a", "a"), result("a"), result("a")), "two calls have the id 'a'"),
        ((USER, calls("a"), result("a"), calls("a"), result("a")), "two calls have the id 'a'"),
        ((USER, calls(""), result("")), "a call has an empty id"),
        ((UserMessage((TextPart.model_construct(text="\ud800"),)),), "message 1 holds a lone surrogate"),
        ((USER, calls("a", arguments="\udc00"), result("a")), "message 2 holds a lone surrogate"),
        ((USER, calls("a"), result("a", {"x": ["\ud83d"]})), "message 3 holds a lone surrogate"),
        ((USER, calls("a"), result("a", {"\ud83d": 1})), "message 3 holds a lone surrogate"),
    ],
)
def test_a_fault_is_named(messages: tuple[Message, ...], named: str) -> None:
    assert fault(*messages) == named


def test_the_prompt_and_the_tools_are_looked_at_too() -> None:
    tool = OfferedTool("t", "", {"properties": {"x": {"description": "\udfff"}}})
    assert [
        fault_of(ModelRequest("\ud800", (USER,), (), 0)),
        fault_of(ModelRequest("", (USER,), (tool,), 0)),
    ] == ["the system prompt holds a lone surrogate", "tool 't' holds a lone surrogate"]


def test_a_lone_surrogate_is_no_misfit_since_a_request_can_be_spelled_without_it() -> None:
    asked = ModelRequest("", (UserMessage((TextPart(text="\ud83d"),)),), (), 0)
    assert (misfit_of(asked), fault_of(asked)) == (None, "message 1 holds a lone surrogate")
    unpaired = ModelRequest("", (USER, result("c1")), (), 0)
    assert misfit_of(unpaired) == fault_of(unpaired) == "message 2 answers call 'c1', which was never made"
