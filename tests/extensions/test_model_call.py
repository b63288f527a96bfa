"""What a hook may do to a model call, when, and what it is told otherwise."""

from collections.abc import Callable
from typing import Any

import pytest
from support.hooks import NO_CAPABILITIES, SESSION, asked, given, request, user

from abey.core.conversation import AssistantMessage, CallRuling, OfferedTool, ResultMessage
from abey.extensions import (
    AnsweredCall,
    InvalidQuestion,
    InvalidReplacement,
    LateMutation,
    ModelCall,
    NotAnswered,
    Question,
    TextBlock,
    ThinkingBlock,
    Tripped,
    UnknownCall,
    UnknownTool,
)
from abey.extensions.exchange import Exchange
from abey.extensions.model_call import Stage
from abey.extensions.wording import LONGEST
from abey.protocol.rulings import Tripwire
from abey.runtime.tools.arguments import QUESTION_BYTES, question_fault

EXTRA = OfferedTool("extra", "more", {"type": "object"})
MAY = Question(kind="approval", prompt="May it?")


def in_hand(exchange: Exchange, stage: Stage = Stage.BEFORE, name: str = "one") -> ModelCall:
    call = ModelCall(name, exchange, SESSION, NO_CAPABILITIES, {"extra": EXTRA, "hidden": None})
    call.stage = stage
    return call


def answered(*tools: str, text: str = "hi") -> Exchange:
    exchange = Exchange(request(), question_fault)
    exchange.answered(given(*tools, text=text))
    return exchange


def test_what_is_added_is_what_the_model_is_asked() -> None:
    exchange = Exchange(request("q", system="be brief"), question_fault)
    call = in_hand(exchange)
    call.add_instructions("be kind")
    call.add_context("it rains")
    call.add_tool("extra")
    call.add_tool("extra")
    call.add_tool("hidden")
    assert (exchange.request.system_prompt, exchange.request.messages) == (
        "be brief\n\nbe kind",
        (user("q", "it rains"),),
    )
    assert (call.system_prompt, call.messages) == (exchange.request.system_prompt, exchange.request.messages)
    assert (call.tools, exchange.request.tools) == (("extra",), (EXTRA,))


def test_context_after_results_is_a_message_of_its_own() -> None:
    exchange = Exchange(request("q"), question_fault)
    told = (user("q"), AssistantMessage((), ()), ResultMessage("c1", "t", "ok", False))
    exchange.request = request(messages=told, system="")
    call = in_hand(exchange)
    call.add_context("a")
    call.add_context("b")
    call.add_instructions("alone")
    assert exchange.request == request(messages=(*told, user("a", "b")), system="alone")


def test_an_answer_is_seen_as_the_model_gave_it() -> None:
    exchange = answered("t", text="hi")
    seen = in_hand(exchange, Stage.ASKED).answer
    one = AnsweredCall(0, "c0", "t", '{"x":"0"}')
    assert (seen.text, seen.calls, seen.finish_reason) == ("hi", (one,), "tool_calls")
    assert (seen.calls[0].value, AnsweredCall(0, "c", "t", "{").value) == ({"x": "0"}, None)


def test_the_first_ruling_on_a_call_counts_and_a_denial_beats_a_question() -> None:
    exchange = answered("a", "b", "c", "d")
    inner, outer = in_hand(exchange, Stage.ASKED, "inner"), in_hand(exchange, Stage.ASKED, "outer")
    a, b, c, _ = inner.answer.calls
    inner.deny(a, "first")
    outer.deny(a, "second")
    inner.ask(b, MAY)
    outer.ask(b, Question(kind="response", prompt="other"))
    inner.ask(c, MAY)
    outer.deny(c, "no")
    inner.deny(c, "late")
    assert exchange.outcome().rulings == (
        CallRuling(0, "inner", "first"),
        CallRuling(1, "inner", None, MAY),
        CallRuling(2, "outer", "no"),
    )


def test_a_question_does_not_take_a_denial_back() -> None:
    exchange = answered("a")
    call = in_hand(exchange, Stage.ASKED)
    call.deny(call.answer.calls[0], "no")
    call.ask(call.answer.calls[0], MAY)
    assert exchange.outcome().rulings == (CallRuling(0, "one", "no"),)


def test_a_replacement_loses_calls_with_what_was_ruled_of_them() -> None:
    exchange = answered("a", "b", "c")
    call = in_hand(exchange, Stage.ASKED)
    a, b, c = call.answer.calls
    call.deny(b, "no")
    call.ask(c, MAY)
    call.replace(blocks=[ThinkingBlock(text="hm"), TextBlock(text="new")], keep=[a, c])
    call.replace(keep=[c])
    left = exchange.outcome()
    assert (left.blocks, left.calls) == ((ThinkingBlock(text="hm"), TextBlock(text="new")), (asked("c", 2),))
    assert (left.rulings, left.usage, left.attempts) == ((CallRuling(0, "one", None, MAY),), given().usage, 1)


def test_a_replacement_gets_no_calls_and_leaves_something() -> None:
    exchange = answered("a", "b")
    call = in_hand(exchange, Stage.ASKED)
    a, b = call.answer.calls
    before = exchange.outcome()
    other = AnsweredCall(0, a.id, a.tool, '{"x":"other"}')
    for blocks, keep in ((None, [other]), (None, [b, a]), (None, [a, a]), ([], []), (["text"], [a])):
        with pytest.raises(InvalidReplacement):
            call.replace(blocks, keep)  # type: ignore[arg-type] - what is no block is one of the cases
    assert exchange.outcome() == before
    call.replace(keep=[a])
    with pytest.raises(InvalidReplacement):
        call.replace(keep=[a, b])
    with pytest.raises(UnknownCall):
        call.deny(b, "it is gone")


BEFORE: dict[str, Callable[[ModelCall], None]] = {
    "instructions": lambda call: call.add_instructions("x"),
    "context": lambda call: call.add_context("x"),
    "tool": lambda call: call.add_tool("extra"),
}
AFTER: dict[str, Callable[[ModelCall, Any], None]] = {
    "deny": lambda call, one: call.deny(one, "x"),
    "ask": lambda call, one: call.ask(one, MAY),
    "replace": lambda call, one: call.replace(keep=[one]),
}


@pytest.mark.parametrize("name", BEFORE)
def test_the_request_is_not_changed_once_it_has_gone_out(name: str) -> None:
    exchange = answered("a")
    before = exchange.request
    for stage in (Stage.ASKED, Stage.OVER):
        with pytest.raises(LateMutation):
            BEFORE[name](in_hand(exchange, stage))
    assert exchange.request == before


@pytest.mark.parametrize("name", AFTER)
def test_the_answer_is_ruled_when_it_is_there_and_only_while_the_hook_runs(name: str) -> None:
    one = answered("a").the_answer.calls[0]
    with pytest.raises(NotAnswered):
        AFTER[name](in_hand(Exchange(request(), question_fault)), one)
    exchange = answered("a")
    before = exchange.outcome()
    with pytest.raises(LateMutation):
        AFTER[name](in_hand(exchange, Stage.OVER), one)
    assert exchange.outcome() == before


def test_a_tool_that_is_not_declared_cannot_be_added() -> None:
    with pytest.raises(UnknownTool, match="declares no tool strange"):
        in_hand(Exchange(request(), question_fault)).add_tool("strange")


def test_the_first_tripwire_counts_at_any_time_while_the_hook_runs() -> None:
    exchange = answered("a")
    with pytest.raises(Tripped, match="enough"):
        in_hand(exchange, name="inner").trip("enough", "session")
    with pytest.raises(Tripped, match="enough"):
        in_hand(exchange, Stage.ASKED).trip("more")
    with pytest.raises(LateMutation):
        in_hand(exchange, Stage.OVER).trip("late")
    assert (exchange.tripwire, exchange.message) == (Tripwire(extension="inner", scope="session"), "enough")


def test_what_people_are_told_is_bounded() -> None:
    exchange = answered("a", "b")
    call = in_hand(exchange, Stage.ASKED)
    long = "x" * (LONGEST + 7)
    call.deny(call.answer.calls[0], long)
    call.ask(call.answer.calls[1], Question(kind="approval", prompt=long))
    with pytest.raises(Tripped):
        call.trip(long)
    cut = f"{'x' * LONGEST}… (7 more characters)"
    denied, question = exchange.outcome().rulings
    assert (denied.reason, question.question, exchange.message) == (cut, Question(kind="approval", prompt=cut), cut)


UNANSWERABLE: dict[str, tuple[dict[str, Any], str]] = {
    "broken": ({"type": 5}, "the schema of the question is broken at /type"),
    "a pattern that may take for ever": ({"pattern": "(?=a)"}, "the schema of the question is broken at /pattern"),
    "elsewhere": ({"$ref": "http://127.0.0.1:1/x"}, "the schema of the question is broken"),
    "no JSON": ({"const": float("nan")}, "the schema of the question is no JSON"),
    "endless": ({"description": "x" * QUESTION_BYTES}, "the schema of the question has more than 65536 bytes"),
}


@pytest.mark.parametrize("name", UNANSWERABLE)
def test_a_question_that_nobody_could_answer_is_not_asked(name: str) -> None:
    schema, why = UNANSWERABLE[name]
    exchange = answered("bash")
    with pytest.raises(InvalidQuestion, match=f"^{why}"):
        in_hand(exchange, Stage.ASKED).ask(
            exchange.the_answer.calls[0], Question(kind="response", prompt="p", schema=schema)
        )
    assert exchange.outcome().rulings == ()


def test_half_a_character_is_told_to_nobody() -> None:
    half, whole = "a\ud800b", "a\ufffdb"
    exchange = Exchange(request("q"), question_fault)
    before = in_hand(exchange)
    before.add_instructions(half)
    before.add_context(half)
    assert (exchange.request.system_prompt, exchange.request.messages) == (f"sys\n\n{whole}", (user("q", whole),))
    exchange.answered(given("a", "b"))
    after = in_hand(exchange, Stage.ASKED)
    first, second = after.answer.calls
    after.deny(first, half)
    after.ask(second, Question(kind="approval", prompt=half))
    after.replace(blocks=[TextBlock(text=half), ThinkingBlock(text=half)])
    outcome = exchange.outcome()
    assert outcome.blocks == (TextBlock(text=whole), ThinkingBlock(text=whole))
    assert outcome.rulings == (
        CallRuling(0, "one", whole),
        CallRuling(1, "one", None, Question(kind="approval", prompt=whole)),
    )
    with pytest.raises(Tripped):
        after.trip(half)
    assert exchange.message == whole


def test_what_a_hook_does_to_what_it_sees_or_gives_away_happens_to_copies() -> None:
    told = (user("q"), AssistantMessage((), ()), ResultMessage("c1", "t", {"key": ["secret"]}, False))
    exchange = Exchange(request(messages=told), question_fault)
    call = in_hand(exchange)
    seen = call.messages[-1]
    assert isinstance(seen, ResultMessage)
    seen.content["key"].clear()
    assert exchange.request.messages[-1] == ResultMessage("c1", "t", {"key": ["secret"]}, False)
    exchange.answered(given("a"))
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    in_hand(exchange, Stage.ASKED).ask(
        exchange.the_answer.calls[0], Question(kind="response", prompt="p", schema=schema)
    )
    schema["properties"]["later"] = {}
    [ruling] = exchange.outcome().rulings
    assert ruling.question is not None
    assert ruling.question.schema_ == {"type": "object", "properties": {}}
