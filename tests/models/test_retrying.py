"""Tries again: how often, after what, how long it waits, what it counts."""

import asyncio
from typing import Any

import pytest
from support.processes import until

from abey.core.conversation import ModelAnswer, ModelRequest, UserMessage
from abey.errors import ModelFailed
from abey.protocol.blocks import TextBlock
from abey.protocol.config import ScriptedModel
from abey.protocol.transcript import TextPart
from abey.runtime.clock import ManualClock, VirtualClock
from abey.runtime.models.retrying import Retrying
from abey.runtime.models.scripted import Scripted
from abey.runtime.ports import OnDelta
from abey.shared.kinds import MODEL_CODES, RETRIED_MODEL_CODES


def request(tries: int = 0) -> ModelRequest:
    return ModelRequest("", (UserMessage((TextPart(text="hello"),)),), (), tries)


def error(code: str, **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, **more}}


def retrying(clock: VirtualClock, *script: dict[str, Any]) -> tuple[Retrying, list[tuple[str, int, float]]]:
    """The model of a script, and the retries it reports."""
    retries: list[tuple[str, int, float]] = []
    inner = Scripted(ScriptedModel.model_validate({"provider": "scripted", "script": list(script)}), clock)
    return Retrying(inner, clock, lambda *retry: retries.append(retry)), retries


async def asked(model: Retrying, tries: int = 0) -> ModelAnswer:
    return await model.ask(request(tries), lambda delta: None)


async def test_each_try_plays_the_next_entry_and_the_answer_counts_them() -> None:
    clock = VirtualClock()
    model, retries = retrying(clock, error("auth"), error("overloaded"), error("timeout"), {"text": "at last"})
    answer = await asked(model, tries=1)
    assert (answer.blocks, answer.attempts, model.attempts) == ((TextBlock(text="at last"),), 3, 3)
    assert ([retry[:2] for retry in retries], [retry[2] for retry in retries]) == (
        [("overloaded", 1), ("timeout", 2)],
        clock.slept,
    )


@pytest.mark.parametrize("code", MODEL_CODES)
async def test_three_tries_for_what_may_pass_one_for_the_rest(code: str) -> None:
    model, retries = retrying(VirtualClock(), *[error(code)] * 5)
    tries = 3 if code in RETRIED_MODEL_CODES else 1
    with pytest.raises(ModelFailed) as caught:
        await asked(model)
    assert (caught.value.model_code, caught.value.details["attempts"], len(retries)) == (code, tries, tries - 1)


async def test_the_waits_double_less_a_random_part() -> None:
    clock = VirtualClock()
    model, _ = retrying(clock, *[error("transient")] * 3)
    with pytest.raises(ModelFailed):
        await asked(model)
    assert clock.slept == [0.5, 1.0]


async def test_the_random_part_is_at_most_a_half() -> None:
    clock = Unlucky()
    model, _ = retrying(clock, *[error("transient")] * 3)
    with pytest.raises(ModelFailed):
        await asked(model)
    assert [round(slept, 6) for slept in clock.slept] == [0.25, 0.5]


@pytest.mark.parametrize(("asked_for", "waited"), [(700, 0.7), (0, 0.0), (3_600_000, 60.0)])
async def test_what_the_provider_asks_for_is_honoured_up_to_a_minute(asked_for: int, waited: float) -> None:
    clock = VirtualClock()
    model, _ = retrying(clock, error("rate-limited", retryAfterMs=asked_for), {"text": "x"})
    await asked(model)
    assert clock.slept == [waited]


async def test_a_cancelled_ask_says_how_many_tries_it_made() -> None:
    clock = ManualClock()
    model, _ = retrying(clock, error("transient"), {"text": "late", "delayMs": 9000})
    asking = asyncio.ensure_future(asked(model))
    await until(lambda: clock.slept == [0.5])
    clock.advance(0.5)
    await until(lambda: clock.slept == [0.5, 9.0])
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert model.attempts == 2


async def test_a_wait_between_tries_can_be_cancelled() -> None:
    clock = ManualClock()
    model, _ = retrying(clock, error("transient"), {"text": "never"})
    asking = asyncio.ensure_future(asked(model))
    await until(lambda: clock.slept == [0.5])
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert model.attempts == 1


async def test_a_failure_keeps_its_own_details() -> None:
    model, _ = retrying(VirtualClock(), *[error("rate-limited", retryAfterMs=1, message="slow down")] * 3)
    with pytest.raises(ModelFailed) as caught:
        await asked(model)
    assert (caught.value.message, caught.value.data) == (
        "slow down",
        {"kind": "model/rate-limited", "retryable": True, "retryAfterMs": 1, "attempts": 3},
    )


class Unlucky(VirtualClock):
    """All bits are set in what it draws."""

    def entropy(self) -> bytes:
        return b"\xff" * 32


class FailsOfItsAbort:
    """A ports.Model that makes a failure that may pass of being cancelled."""

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ModelFailed("transient", "the stream broke") from None
        raise AssertionError


async def test_what_was_aborted_is_not_tried_again() -> None:
    clock = VirtualClock()
    asking = asyncio.ensure_future(asked(Retrying(FailsOfItsAbort(), clock)))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(ModelFailed) as caught:
        await asking
    assert (caught.value.details["attempts"], clock.slept) == (1, [])
