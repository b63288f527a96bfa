"""What is shown of large values."""

import json
from typing import Any

import pytest

from abey.core.abridging import SHOWN_BYTES, abridged, abridged_view
from abey.protocol.transcript import Item, ItemCall, TextPart


def size(value: Any) -> int:
    return len(json.dumps(value))


def test_what_is_small_enough_is_shown_as_it_is() -> None:
    value = {"output": "x" * (SHOWN_BYTES - 100), "n": 1.0, "z": None}
    assert abridged(value) is value


def test_a_long_text_is_shown_with_its_head_and_its_tail() -> None:
    text = "".join(f"{number:07}" for number in range(300_000))
    assert abridged({"text": text, "kind": "answer"}) == {
        "text": f"{text[:8192]}[… {len(text) - 16384} characters left out …]{text[-8192:]}",
        "kind": "answer",
    }


@pytest.mark.parametrize(
    "value",
    [
        {"output": [[1, None]] * 500_000},
        {"call": {"arguments": {"a": [{"b": "c"}] * 200_000}, "output": "\x01" * 2_000_000}},
        {"parts": [{"kind": "text", "text": "x" * 1000}] * 10_000},
        {"parts": [{"kind": "text", "text": "é" * 20_000}] * 400},
    ],
    ids=["elements", "call", "small parts", "parts"],
)
def test_whatever_is_large_about_it_it_is_shown(value: Any) -> None:
    shown = abridged(value)
    assert size(shown) <= 2 * SHOWN_BYTES
    assert "left out …]" in json.dumps(shown, ensure_ascii=False)


def test_an_item_stays_an_item() -> None:
    call = ItemCall(call_id="c", tool="t", arguments={}, state="completed", output=["x"] * 900_000)
    item = Item(
        item_id="1.0", revision=1, turn_id="t", at="T", kind="toolCall", call=call, parts=(TextPart(text="short"),)
    )
    shown = abridged_view(item)
    assert shown.call is not None and isinstance(shown.call.output, str)
    text = json.dumps(call.output)
    expected = f"{text[:8192]}[… {len(text) - 16384} characters left out …]{text[-8192:]}"
    assert shown == item.model_copy(update={"call": call.model_copy(update={"output": expected})})
