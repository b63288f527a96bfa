"""The scripted model: which entry a try plays, what it streams, how it fails."""

from typing import Any

import pytest

from abey.core.conversation import AskedCall, Message, ModelAnswer, ModelRequest, UserMessage
from abey.errors import ModelFailed
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.config import ScriptedModel
from abey.protocol.session import Usage
from abey.protocol.transcript import FilePart, TextPart
from abey.runtime.clock import VirtualClock
from abey.runtime.models.scripted import Scripted
from abey.runtime.ports import Delta


def ask_user(*texts: str) -> UserMessage:
    return UserMessage(tuple(TextPart(text=text) for text in texts))


class Played:
    """A script being played: `deltas` and `clock` show what one ask did."""

    def __init__(self, *script: dict[str, Any], loop: bool = False) -> None:
        config = {"provider": "scripted", "script": list(script), "loop": loop}
        self.clock = VirtualClock()
        self.model = Scripted(ScriptedModel.model_validate(config), self.clock)
        self.deltas: list[Delta] = []

    async def ask(self, tries: int = 0, *messages: Message) -> ModelAnswer:
        request = ModelRequest("", messages or (ask_user("hello"),), (), tries)
        return await self.model.ask(request, self.deltas.append)

    async def fails(self, tries: int = 0) -> tuple[str, str, dict[str, Any]]:
        with pytest.raises(ModelFailed) as caught:
            await self.ask(tries)
        return caught.value.model_code, caught.value.message, caught.value.details


async def test_the_nth_try_plays_the_nth_entry() -> None:
    played = Played({"text": "one"}, {"text": "two"})
    assert [(await played.ask(tries)).blocks for tries in (0, 1, 0)] == [
        (TextBlock(text="one"),),
        (TextBlock(text="two"),),
        (TextBlock(text="one"),),
    ]


async def test_past_its_end_the_script_has_ended() -> None:
    assert await Played({"text": "one"}).fails(1) == (
        "invalid-request",
        "the script has ended: it has 1 entries",
        {},
    )


async def test_a_loop_never_ends_unless_it_is_empty() -> None:
    played = Played({"text": "one"}, {"text": "two"}, loop=True)
    assert (await played.ask(5)).blocks == (TextBlock(text="two"),)
    assert (await Played(loop=True).fails())[0] == "invalid-request"


async def test_an_answer_holds_all_that_the_entry_says() -> None:
    entry = {
        "text": "hi there",
        "thinking": "hm",
        "calls": [
            {"tool": "a", "arguments": {"é": [1, None]}},
            {"tool": "b", "rawArguments": "{not json", "id": "own"},
            {"tool": "c", "id": ""},
        ],
        "usage": {"input": 3, "output": 4},
    }
    assert await Played({}, entry).ask(1) == ModelAnswer(
        blocks=(ThinkingBlock(text="hm"), TextBlock(text="hi there")),
        calls=(
            AskedCall("call_2_1", "a", '{"é": [1, null]}'),
            AskedCall("own", "b", "{not json"),
            AskedCall("", "c", "{}"),
        ),
        finish_reason="tool_calls",
        usage=Usage(input_tokens=3, output_tokens=4),
        attempts=1,
    )


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"text": "x"}, "stop"),
        ({"text": "x", "finishReason": "length"}, "length"),
        ({"finishReason": "refusal"}, "refusal"),
    ],
)
async def test_the_finish_reason_is_the_entrys_own(entry: dict[str, Any], reason: str) -> None:
    assert (await Played(entry).ask()).finish_reason == reason


async def test_it_streams_thinking_then_the_answer_in_tokens_that_add_up() -> None:
    played = Played({"thinking": "let me see", "text": " one  two\n"})
    await played.ask()
    assert played.deltas == [
        Delta("thinking", "let"),
        Delta("thinking", " me"),
        Delta("thinking", " see"),
        Delta("answer", " one"),
        Delta("answer", "  two"),
        Delta("answer", "\n"),
    ]


async def test_it_waits_before_the_first_token_and_between_tokens() -> None:
    played = Played({"text": "one two three", "delayMs": 500, "chunkMs": 20})
    await played.ask()
    assert played.clock.slept == [0.5, 0.02, 0.02]


async def test_an_error_comes_after_the_delay_and_before_any_token() -> None:
    played = Played({"text": "never", "delayMs": 10, "error": {"code": "rate-limited", "retryAfterMs": 700}})
    assert await played.fails() == ("rate-limited", "the script says rate-limited", {"retryAfterMs": 700})
    assert (played.deltas, played.clock.slept) == ([], [0.01])


@pytest.mark.parametrize(
    ("cut", "streamed"),
    [(0, []), (5, ["one", " t"]), (7, ["one", " two"]), (99, ["one", " two"])],
)
async def test_the_stream_breaks_after_so_many_characters(cut: int, streamed: list[str]) -> None:
    played = Played({"text": "one two", "cutAfter": cut})
    assert await played.fails() == ("transient", f"the stream broke after {cut} characters", {})
    assert [delta.text for delta in played.deltas] == streamed


async def test_an_echo_answers_with_the_last_input() -> None:
    answer = await Played({"echo": True}).ask(
        0, UserMessage((TextPart(text="one"), FilePart(path="/x"), TextPart(text="two")))
    )
    assert answer.blocks == (TextBlock(text="one\ntwo"),)


async def test_a_content_filter_is_a_failure() -> None:
    assert (await Played({"text": "x", "finishReason": "content_filter"}).fails())[0] == "content-policy"


async def test_an_answer_cut_inside_a_call_is_invalid_output() -> None:
    cut = {"calls": [{"tool": "a", "rawArguments": '{"x": '}], "finishReason": "length"}
    whole = {"calls": [{"tool": "a"}], "finishReason": "length"}
    assert ((await Played(cut).fails())[0], (await Played(whole).ask()).finish_reason) == ("invalid-output", "length")
