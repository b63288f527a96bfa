"""What reading the stream of a model costs: a delta in the pure half, and one over HTTP."""

import asyncio
import json
import time
from typing import Any

import pytest
from support.exchanges import PROVIDERS, REQUEST
from support.figures import Figures
from support.replay import Canned, replaying_beside

from abey.protocol.config import HttpModel
from abey.runtime.clock import SystemClock
from abey.runtime.models.asking import Asking
from abey.runtime.models.bodies import AnswerBody
from abey.runtime.models.dialects import assembly_of
from abey.runtime.models.network import Network
from abey.runtime.models.places import place_of

pytestmark = pytest.mark.figures

MOST_MICROSECONDS = 15.0
ROUNDS = 5


def event(name: str, **value: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **value})}\n\n".encode()


def chat(number: int) -> bytes:
    choice = {"index": 0, "delta": {"content": f" word{number}"}, "logprobs": None, "finish_reason": None}
    names = {"id": "chatcmpl-0123456789abcdef", "object": "chat.completion.chunk", "created": 1764000000, "model": "m"}
    return f"data: {json.dumps({**names, 'system_fingerprint': 'fp_1', 'choices': [choice]})}\n\n".encode()


def messages(number: int) -> bytes:
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": f" word{number}"})


def responses(number: int) -> bytes:
    names = {"sequence_number": number, "item_id": "msg_0123456789abcdef0123456789abcdef", "output_index": 0}
    return event("response.output_text.delta", **names, content_index=0, delta=f" word{number}", logprobs=[])


STREAMS: dict[str, Any] = {
    "chat": (b"", chat, b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'),
    "messages": (
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        messages,
        event("message_delta", delta={"stop_reason": "end_turn"}) + event("message_stop"),
    ),
    "responses": (b"", responses, event("response.completed", response={"output": []})),
}


def pieces_of(protocol: str, count: int) -> list[bytes]:
    """A stream with so many deltas, each of them a piece of its own."""
    head, delta, tail = STREAMS[protocol]
    return [head, *(delta(number) for number in range(count)), tail]


@pytest.mark.parametrize("protocol", STREAMS)
def test_a_delta_costs_a_few_microseconds(protocol: str, figures: Figures) -> None:
    count = figures.size(5_000, 50_000)
    pieces = pieces_of(protocol, count)
    model = HttpModel(provider=PROVIDERS[protocol], name="m")
    taken = []
    for _ in range(ROUNDS):
        shown: list[Any] = []
        body = AnswerBody(assembly_of(model, place_of(model))(shown.append))
        began = time.thread_time()
        for piece in pieces:
            body.feed(piece)
        body.end()
        taken.append((time.thread_time() - began) / count * 1e6)
        assert len(shown) == count
    figures.note(f"reading a delta, {protocol}, processor time", f"{min(taken):.1f} µs", f"{count} deltas")
    if figures.large:
        assert min(taken) < MOST_MICROSECONDS


async def test_a_delta_over_http_costs_little_more(figures: Figures) -> None:
    count = figures.size(2_000, 20_000)
    taken = []
    with replaying_beside(Canned(pieces_of("chat", count))) as server:
        model = HttpModel(provider="openai", name="m", base_url=server.url)
        for _ in range(ROUNDS):
            shown: list[Any] = []
            began = time.thread_time()
            await Asking(model, lambda: None, Network({}), SystemClock()).ask(REQUEST, shown.append)
            taken.append((time.thread_time() - began) / count * 1e6)
            assert len(shown) == count
    figures.note("the same over HTTP, chat", f"{min(taken):.1f} µs", f"{count} deltas")


async def test_what_else_the_loop_does_waits_little_for_a_stream(figures: Figures) -> None:
    count = figures.size(2_000, 40_000)
    waits: list[float] = []
    with replaying_beside(Canned(pieces_of("chat", count), rate=2_000)) as server:
        model = HttpModel(provider="openai", name="m", base_url=server.url)
        shown: list[Any] = []
        began = time.monotonic()
        asked = asyncio.create_task(Asking(model, lambda: None, Network({}), SystemClock()).ask(REQUEST, shown.append))
        while not asked.done():
            at = time.monotonic()
            await asyncio.sleep(0)
            waits.append(time.monotonic() - at)
        await asked
    rate = count / (time.monotonic() - began)
    waits.sort()
    usual, most = waits[len(waits) * 99 // 100], waits[-1]
    assert len(shown) == count
    figures.note(
        "a turn of the loop beside a stream, 99 of 100, longest",
        f"{usual * 1000:.1f} ms, {most * 1000:.1f} ms",
        f"{rate:.0f} deltas/s",
    )
