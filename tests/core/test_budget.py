"""What a session may use: prices, sums and limits (agent-file.md, Fields)."""

from dataclasses import replace

import pytest
from support.stories import asked, came
from support.world import CLIENT, World, agent, answer

from abey.core import events as e
from abey.core.budget import priced, total
from abey.core.conversation import ModelAnswer
from abey.protocol.config import Prices
from abey.protocol.session import Usage

PRICES = Prices(input=2.0, output=10.0, cached_input=0.5)


def used(reply: ModelAnswer, **usage: float) -> ModelAnswer:
    return replace(reply, usage=Usage.model_validate(usage))


def test_a_call_costs_what_its_tokens_cost_a_million() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=400_000)
    assert priced(usage, PRICES).cost == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10)
    assert priced(usage, Prices(input=2.0, output=10.0)).cost == pytest.approx(3.0)


def test_what_the_provider_says_it_cost_counts_and_without_prices_the_cost_is_unknown() -> None:
    said = Usage(input_tokens=5, cost=0.125)
    assert priced(said, PRICES) == said
    assert priced(Usage(input_tokens=5), None) == Usage(input_tokens=5)


def test_a_sum_knows_what_either_side_says() -> None:
    known = Usage(input_tokens=1, output_tokens=2, cached_tokens=3, cost=0.25)
    assert total(Usage(input_tokens=1, reasoning_tokens=4), known) == Usage(
        input_tokens=2, output_tokens=2, cached_tokens=3, reasoning_tokens=4, cost=0.25
    )
    assert total(known, known).cost == 0.5
    assert total(Usage(), Usage()) == Usage()


def test_cost_is_summed_over_the_calls_of_a_session() -> None:
    world = World(replace(agent(), prices=PRICES))
    world.start("hello", e.UNTIL_YIELD)
    world.model_says(used(answer(*asked("run")), inputTokens=1_000_000))
    world.tool_ends()
    world.model_says(used(answer(text="done"), outputTokens=1_000_000))
    assert world.session.usage.cost == 12.0


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"max_tokens": 100}, "the session has used 100 tokens, and limits.maxTokens is 100: raise it to go on"),
        ({"max_cost": 0.001}, "the session has cost 0.001, and limits.maxCost is 0.001: raise it to go on"),
    ],
)
def test_no_model_is_called_once_a_limit_is_reached(limits: dict[str, float], told: str) -> None:
    world = World(replace(agent(**limits), prices=Prices(input=10.0, output=10.0)))
    world.start("hello", e.UNTIL_YIELD)
    world.model_says(used(answer(text="done"), inputTokens=60, outputTokens=40))
    assert world.session.turns[-1].end == "answered"
    done = world.send(e.Send(e.NewInput((), "i2"), e.UNTIL_YIELD, CLIENT))
    assert came(done).wrote == ["input", "failed"]
    error = world.session.last_error
    assert (world.session.turns[-1].end, error.kind, error.message) == ("limit", "budget/exhausted", told)


def test_calls_that_were_asked_for_with_the_last_token_are_not_run() -> None:
    world = World(agent(max_tokens=10))
    world.start("hello", e.UNTIL_YIELD)
    done = world.model_says(used(answer(*asked("run", "bg")), inputTokens=10))
    assert came(done).wrote == ["candidate", "call-finished", "call-finished", "tool-results", "failed"]
    assert world.starts == []


def test_a_limit_of_cost_waits_until_the_cost_is_known() -> None:
    world = World(agent(max_cost=0.0001))
    world.start("hello", e.UNTIL_YIELD)
    world.model_says(used(answer(*asked("run")), inputTokens=10**9))
    world.tool_ends()
    assert came(world.model_says(answer(text="done"))).wrote == ["candidate", "final"]
