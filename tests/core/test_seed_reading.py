"""What is no seed is refused, with the place of what is wrong (machine.md, Seeds)."""

from typing import Any

import pytest
from support.seeds import Value, answered, call, done, final, results, said, text

from abey.core.seed_reading import MOST_TOLD, seed_of
from abey.errors import InvalidSeed
from abey.protocol.seeds import LARGEST

NO_SUCH = "there is no such member"
MISSING = "it is missing"
OBJECT = "an object is expected"
STRING = "Input should be a valid string"
EMPTY = "it is empty"
WHOLE = "Input should be a valid integer"
ID = "String should match pattern '^[0-9a-z][0-9a-z_-]{0,63}$'"
KINDS = "one of 'input', 'candidate', 'tool-results', 'final'"


def seed(*transcript: Any, **more: Any) -> Value:
    return {"transcript": list(transcript), **more}


def heard(event: Any) -> Value:
    return seed({"kind": "input", "turnId": "t1", "event": event})


def without(value: Value, name: str) -> Value:
    return {key: inner for key, inner in value.items() if key != name}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


NO_SEEDS: list[tuple[Any, str]] = [
    (None, f"the seed: {OBJECT}"),
    (5, f"the seed: {OBJECT}"),
    ("text", f"the seed: {OBJECT}"),
    ([], f"the seed: {OBJECT}"),
    ({}, f"transcript: {MISSING}"),
    ({"transcript": None}, "transcript: a list is expected"),
    ({"transcript": {}}, "transcript: a list is expected"),
    ({"transcript": "text"}, "transcript: a list is expected"),
    (seed(bogus=1), f"bogus: {NO_SUCH}"),
    (seed(prompt="hi"), f"prompt: {NO_SUCH}"),
    (seed(id="Upper"), f"id: {ID}"),
    (seed(id=""), f"id: {ID}"),
    (seed(id="-a"), f"id: {ID}"),
    (seed(id="../a"), f"id: {ID}"),
    (seed(id="a" * 65), "id: String should have at most 64 characters"),
    (seed(id=5), f"id: {STRING}"),
    (seed(turnCount=-1), "turnCount: Input should be greater than or equal to 0"),
    (seed(turnCount="1"), f"turnCount: {WHOLE}"),
    (seed(revision=-1), "revision: Input should be greater than or equal to 0"),
    (seed(revision=1.5), f"revision: {WHOLE}"),
    (seed(revision=1.0), f"revision: {WHOLE}"),
    (seed(revision=True), f"revision: {WHOLE}"),
    (seed(revision=LARGEST // 2 + 1), f"revision: Input should be less than or equal to {LARGEST // 2}"),
    (seed(turnCount=LARGEST // 2 + 1), f"turnCount: Input should be less than or equal to {LARGEST // 2}"),
    (seed(userId=5), f"userId: {STRING}"),
    (seed(userId=""), f"userId: {EMPTY}"),
    (seed(context=[]), f"context: {OBJECT}"),
    (seed(context={"a": float("nan")}), "context.a: not JSON"),
    (seed(context={"a": [1, float("inf")]}), "context.a[1]: not JSON"),
    (seed(context={"a": {1, 2}}), "context.a: not JSON"),
    (seed(context={1: 2}), "context: not JSON"),
    (seed(context={"a": nested(150)}), "context.a[0][0][0][0]…: nested deeper than 100 levels"),
    (seed(5), f"transcript[0]: {OBJECT}"),
    (seed(None), f"transcript[0]: {OBJECT}"),
    (seed([]), f"transcript[0]: {OBJECT}"),
    (seed({}), f"transcript[0].kind: {MISSING}"),
    (seed({"kind": "zap"}), f"transcript[0].kind: {KINDS}"),
    (seed({"kind": 5}), f"transcript[0].kind: {KINDS}"),
    (seed(said("a"), {**said("b"), "extra": 1}), f"transcript[1].extra: {NO_SUCH}"),
    (seed(without(said("a"), "turnId")), f"transcript[0].turnId: {MISSING}"),
    (seed({**said("a"), "turnId": ""}), f"transcript[0].turnId: {EMPTY}"),
    (seed({**said("a"), "turnId": 5}), f"transcript[0].turnId: {STRING}"),
    (seed(without(said("a"), "event")), f"transcript[0].event: {MISSING}"),
    (heard(5), f"transcript[0].event: {OBJECT}"),
    (heard([]), f"transcript[0].event: {OBJECT}"),
    (heard({}), "transcript[0].event: a message has exactly one of text, content, parts"),
    (heard({"text": "a", "parts": []}), "transcript[0].event: a message has exactly one of text, content, parts"),
    (heard({"kind": "zap"}), "transcript[0].event.kind: one of 'user-message', 'interrupt', 'approve', 'respond'"),
    (heard({"text": 5}), f"transcript[0].event.text: {STRING}"),
    (heard({"text": "a", "role": "user"}), f"transcript[0].event.role: {NO_SUCH}"),
    (heard({"text": "a", "metadata": 1}), f"transcript[0].event.metadata: {OBJECT}"),
    (heard({"content": [{"type": "zap"}]}), "transcript[0].event.content[0].type: one of 'text', 'media'"),
    (
        heard({"content": [{"type": "media", "mediaType": "a/b"}]}),
        f"transcript[0].event.content[0].reference: {MISSING}",
    ),
    (heard({"parts": [{"kind": "zap"}]}), "transcript[0].event.parts[0].kind: one of 'text', 'file', 'media'"),
    (heard({"parts": [{"kind": "file"}]}), f"transcript[0].event.parts[0].path: {MISSING}"),
    (
        heard({"kind": "approve", "interactionId": "i", "approved": "yes"}),
        "transcript[0].event.approved: Input should be a valid boolean",
    ),
    (heard({"kind": "respond", "interactionId": "i"}), f"transcript[0].event.value: {MISSING}"),
    (seed(without(answered(), "candidate")), f"transcript[0].candidate: {MISSING}"),
    (seed({**answered(), "candidate": 5}), f"transcript[0].candidate: {OBJECT}"),
    (seed({**answered(), "candidate": {}}), f"transcript[0].candidate.output: {MISSING}"),
    (seed(without(answered(), "stepId")), f"transcript[0].stepId: {MISSING}"),
    (
        seed(answered({"type": "zap"})),
        "transcript[0].candidate.output[0].type: one of 'text', 'reasoning', 'json', 'tool-call'",
    ),
    (seed(answered({"text": "a"})), f"transcript[0].candidate.output[0].type: {MISSING}"),
    (seed(answered(5)), f"transcript[0].candidate.output[0]: {OBJECT}"),
    (seed(answered({"type": "text"})), f"transcript[0].candidate.output[0].text: {MISSING}"),
    (seed(answered({"type": "text", "text": 5})), f"transcript[0].candidate.output[0].text: {STRING}"),
    (seed(answered({"type": "text", "text": "a", "x": 1})), f"transcript[0].candidate.output[0].x: {NO_SUCH}"),
    (seed(answered(text("a"), call(""))), f"transcript[0].candidate.output[1].id: {EMPTY}"),
    (seed(answered(without(call("c"), "args"))), f"transcript[0].candidate.output[0].args: {MISSING}"),
    (seed(answered(without(call("c"), "name"))), f"transcript[0].candidate.output[0].name: {MISSING}"),
    (seed(answered(call("c", raw=5))), f"transcript[0].candidate.output[0].raw: {STRING}"),
    (seed(answered({"type": "json"})), f"transcript[0].candidate.output[0].value: {MISSING}"),
    (seed(answered(finishReason=5)), f"transcript[0].candidate.finishReason: {STRING}"),
    (
        seed(answered(usage={"inputTokens": -1})),
        "transcript[0].candidate.usage.inputTokens: Input should be greater than or equal to 0",
    ),
    (seed(answered(usage={"costUsd": "1"})), "transcript[0].candidate.usage.costUsd: Input should be a valid number"),
    (seed(answered(usage={"x": 1})), f"transcript[0].candidate.usage.x: {NO_SUCH}"),
    (seed(answered(evidence={"x": 1})), f"transcript[0].candidate.evidence.x: {NO_SUCH}"),
    (seed(answered(x=1)), f"transcript[0].candidate.x: {NO_SUCH}"),
    (seed(without(results(), "results")), f"transcript[0].results: {MISSING}"),
    (seed(results(5)), f"transcript[0].results[0]: {OBJECT}"),
    (seed(results({"callId": "c"})), f"transcript[0].results[0].kind: {MISSING}"),
    (
        seed(results({"callId": "c", "kind": "deferred"})),
        "transcript[0].results[0].kind: one of 'completed', 'denied', 'failed'",
    ),
    (seed(results(without(done("c"), "output"))), f"transcript[0].results[0].output: {MISSING}"),
    (seed(results(without(done("c"), "callId"))), f"transcript[0].results[0].callId: {MISSING}"),
    (seed(results({**done("c"), "code": "x"})), f"transcript[0].results[0].code: {NO_SUCH}"),
    (seed(results({"callId": "c", "kind": "denied"})), f"transcript[0].results[0].reason: {MISSING}"),
    (seed(results({"callId": "c", "kind": "failed"})), f"transcript[0].results[0].code: {MISSING}"),
    (seed(without(final("a"), "output")), f"transcript[0].output: {MISSING}"),
    (seed({**final("a"), "end": 1}), f"transcript[0].end: {NO_SUCH}"),
]


@pytest.mark.parametrize(("value", "error"), NO_SEEDS)
def test_what_is_no_seed_is_refused_with_its_place(value: Any, error: str) -> None:
    with pytest.raises(InvalidSeed) as refused:
        seed_of(value)
    assert refused.value.details == {"errors": [error]}
    assert refused.value.message == f"the seed is not valid: {error}"


def test_every_fault_is_told_but_not_without_end() -> None:
    faulty = seed(said("a"), {**said("b"), "x": 1}, {**final("c"), "y": 2})
    with pytest.raises(InvalidSeed) as refused:
        seed_of(faulty)
    assert refused.value.details == {"errors": [f"transcript[1].x: {NO_SUCH}", f"transcript[2].y: {NO_SUCH}"]}
    with pytest.raises(InvalidSeed) as many:
        seed_of(seed(*([{}] * 100)))
    assert len(many.value.details["errors"]) == MOST_TOLD


def test_what_stands_there_is_not_repeated() -> None:
    with pytest.raises(InvalidSeed) as refused:
        seed_of(heard({"kind": "secret-word"}))
    assert "secret-word" not in str(refused.value.data)


def test_what_a_seed_may_leave_out() -> None:
    found = seed_of({"transcript": []})
    assert (found.id, found.user_id, found.context, found.turn_count, found.revision) == (None, None, None, 0, 0)
    assert seed_of(seed(id=None, context=None, userId=None)) == found
