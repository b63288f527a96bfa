"""Exchanges with real providers, and some of our own: what each comes to, over HTTP and at every split of its bytes."""

from typing import Any

import pytest
from support.exchanges import REQUEST, Exchange, Outcome, outcome, outcome_or_failure, own, read, recorded
from support.replay import Canned, replaying

from abey.errors import ModelFailed
from abey.protocol.blocks import ThinkingBlock
from abey.runtime.clock import SystemClock
from abey.runtime.models.asking import Asking
from abey.runtime.models.network import Network
from abey.runtime.ports import Delta

EXCHANGES = [*recorded(), *own()]
ANSWERS = [one for one in EXCHANGES if one.status == 200]
SEEN = 60_000
"""Bytes that are read of one exchange, in all its splits: a short body is split at every byte, a long one here and
there. Under the mark `slow` each body of up to two kilobytes is split at every byte."""

by_name = pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda one: one.name)
by_answer = pytest.mark.parametrize("exchange", ANSWERS, ids=lambda one: one.name)

CODES = {
    "14-chat-stream-error-comments": "invalid-request",  # the reason `length` came first; the error after it counts
    "15-chat-stream-error-event": "invalid-output",  # the server checked the call that the model made, and refused it
    "37-responses-stream-error": "rate-limited",
    "38-error-400-openai": "invalid-request",
    "39-error-400-context-anthropic": "context-overflow",
    "40-error-400-context-ollama": "context-overflow",
    "41-error-400-tool-use-failed": "invalid-output",
    "42-error-401-openai": "auth",
    "43-error-404-openai": "invalid-request",
    "44-error-429-azure": "rate-limited",
    "49-llamacpp-stream-error": "transient",
    "50-llamacpp-400-context": "context-overflow",
    "52-mock-error-408-chat": "timeout",
    "53-mock-error-413-messages": "context-overflow",
    "54-mock-error-500-chat": "transient",
    "55-mock-error-503-chat": "overloaded",
    "56-mock-error-529-messages": "overloaded",
}
"""What an error means, for each that was looked at by hand; of another one only that it is a failure is known.

Three rows are read otherwise by the official clients, and not by us:

- 27, cut off in a call: the client repairs the half arguments into a whole object. A call that was cut may mean
  something else than what was meant, so it is `invalid-output`, and there is no call.
- 29, a second message_start in mid-stream: the client keeps the blocks of both messages, and so a half call beside the
  whole one. We begin again: the first message was given up by who sent it, and its call was never finished.
- 48, arguments that are no JSON under a regular end: the client raises. For us that is a call, kept as it was written;
  it fails with `tool/invalid-arguments`, and the model is told.
"""

FINISHES = {
    "end_turn": "stop",
    "completed": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    None: "stop",
}


def expected(exchange: Exchange) -> Outcome | str:
    """The outcome, or the code of the failure, `failure` where that can be any."""
    want = exchange.expected
    calls = want.get("tool_calls", ())
    reason = want.get("stop_reason")
    if "code" in want:
        return str(want["code"])
    if want.get("error") or exchange.status != 200:
        return CODES.get(exchange.name, "failure")
    if reason == "content_filter":
        return "content-policy"
    if reason == "engine_overloaded":
        return "overloaded"
    if reason in ("length", "max_tokens", "incomplete", None) and any(
        call.get("arguments_valid_json") is False for call in calls
    ):
        return "invalid-output"
    finish = "refusal" if want.get("refusal") else FINISHES.get(reason, reason)
    return Outcome(
        text=want.get("text") or want.get("refusal") or "",
        thinking=want.get("reasoning") or "",
        calls=tuple((call["id"], call["name"], call["arguments"] or "{}") for call in calls),
        finish="tool_calls" if calls and finish == "stop" else finish,
        tokens=tokens(want.get("usage") or {}),
    )


def tokens(usage: dict[str, Any]) -> tuple[int, int]:
    """Input is everything that was read: Anthropic counts apart what the cache had, or took."""
    given = usage.get("prompt_tokens", usage.get("input_tokens", 0))
    cached = sum(usage.get(name) or 0 for name in ("cache_read_input_tokens", "cache_creation_input_tokens"))
    return given + cached, usage.get("completion_tokens", usage.get("output_tokens", 0))


def asking(exchange: Exchange, url: str) -> Asking:
    return Asking(exchange.model(url), lambda: None, Network({}), SystemClock())


@by_name
async def test_over_http_it_comes_to_what_is_expected(exchange: Exchange) -> None:
    canned = Canned((exchange.body,), exchange.status, exchange.headers)
    deltas: list[Delta] = []
    async with replaying(canned) as server:
        try:
            answer = await asking(exchange, server.url).ask(REQUEST, deltas.append)
        except ModelFailed as failure:
            want = expected(exchange)
            known = failure.model_code if want == "failure" else want
            assert (failure.model_code, failure.details) == (known, details(exchange))
        else:
            assert outcome(answer) == expected(exchange)
            kinds = [block.type for block in answer.blocks]
            assert kinds.count("thinking") >= exchange.expected.get("signatures", 0)
    assert len(server.asked) == 1


def details(exchange: Exchange) -> dict[str, Any]:
    """The status, of the answer or of an error in it, and how long to wait, where that is said."""
    error = exchange.expected.get("error")
    inside = [error.get(name) for name in ("status_code", "code")] if isinstance(error, dict) else []
    status = exchange.status if exchange.status != 200 else exchange.expected.get("status")
    status = status or next((found for found in inside if isinstance(found, int) and 400 <= found <= 599), None)
    want = {"httpStatus": status} if status else {}
    asked = exchange.expected.get("retry_after")
    return want if asked is None else {**want, "retryAfterMs": int(float(asked) * 1000)}


@by_answer
def test_no_split_of_the_bytes_makes_a_difference(exchange: Exchange) -> None:
    splits(exchange, places(exchange.body))
    single = [exchange.body[at : at + 1] for at in range(len(exchange.body))]
    assert outcome_or_failure(exchange, *single) == outcome_or_failure(exchange, exchange.body)


@pytest.mark.slow
@pytest.mark.parametrize("exchange", [one for one in ANSWERS if len(one.body) < 2048], ids=lambda one: one.name)
def test_no_split_at_any_byte_makes_a_difference(exchange: Exchange) -> None:
    splits(exchange, range(len(exchange.body)))


def splits(exchange: Exchange, at: range) -> None:
    whole = outcome_or_failure(exchange, exchange.body)
    for place in at:
        assert outcome_or_failure(exchange, exchange.body[:place], exchange.body[place:]) == whole


def places(body: bytes) -> range:
    """Where a body is split: an odd step, so that every kind of place is met."""
    return range(0, len(body), (len(body) ** 2 // SEEN) | 1)


@by_answer
def test_a_cut_anywhere_is_a_failure_or_the_whole_answer(exchange: Exchange) -> None:
    """The whole may be without its usage, which some send after the end."""
    whole = outcome_or_failure(exchange, exchange.body)
    for at in places(exchange.body):
        found = outcome_or_failure(exchange, exchange.body[:at])
        if isinstance(found, Outcome) and isinstance(whole, Outcome):
            assert (found.text, found.thinking, found.calls, found.finish) == (
                whole.text,
                whole.thinking,
                whole.calls,
                whole.finish,
            )
        elif isinstance(found, Outcome):
            # only where what fails comes after a regular end: an error that follows the reason
            assert (found.calls, bool(exchange.expected.get("error"))) == ((), True)


@by_answer
def test_what_was_streamed_adds_up_to_the_answer(exchange: Exchange) -> None:
    try:
        answer, deltas = read(exchange, exchange.body)
    except ModelFailed:
        return
    whole = outcome(answer)
    text = "".join(delta.text for delta in deltas if delta.kind == "answer")
    thinking = "".join(delta.text for delta in deltas if delta.kind == "thinking")
    # what a message had said before it began again was shown, too: what counts is the answer
    assert (text.endswith(whole.text), thinking.endswith(whole.thinking)) == (True, True)


def test_signatures_and_encrypted_thoughts_are_kept() -> None:
    kept = {}
    for exchange in ANSWERS:
        try:
            answer, _ = read(exchange, exchange.body)
        except ModelFailed:
            continue
        thoughts = [block for block in answer.blocks if isinstance(block, ThinkingBlock)]
        signed = [block for block in thoughts if block.signature]
        encrypted = [block for block in thoughts if isinstance(block.opaque, dict) and block.opaque.get("item")]
        want = exchange.expected.get("signatures", 0), exchange.expected.get("encrypted_reasoning", 0)
        kept[exchange.name] = ((len(signed), len(encrypted)), want)
    assert {name: pair for name, pair in kept.items() if pair[0] != pair[1]} == {}
