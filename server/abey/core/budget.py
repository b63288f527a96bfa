"""What a session has used, and whether its agent allows another model call (agent-file.md, Fields)."""

from typing import Any

from abey.core.agent import Agent
from abey.core.session import Session
from abey.protocol.config import Prices
from abey.protocol.session import Usage

MILLION = 1_000_000


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """`usage` with its cost, where the provider did not say it and the prices are known."""
    if usage.cost is not None or prices is None:
        return usage
    cached = min(usage.cached_tokens or 0, usage.input_tokens)
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    spent = (usage.input_tokens - cached) * prices.input + cached * cached_price + usage.output_tokens * prices.output
    return usage.model_copy(update={"cost": spent / MILLION})


def total(before: Usage, more: Usage) -> Usage:
    """The sum; what neither says stays unsaid. `contextTokens` is no sum, and is left out."""
    # of most there is nothing to be said, and an object that has heard of it is twice as large
    sums: dict[str, Any] = {
        "input_tokens": before.input_tokens + more.input_tokens,
        "output_tokens": before.output_tokens + more.output_tokens,
    }
    for name in ("cached_tokens", "reasoning_tokens", "cost"):
        said, added = getattr(before, name), getattr(more, name)
        if said is not None or added is not None:
            sums[name] = (said or 0) + (added or 0)
    return Usage(**sums)


def exhausted(session: Session, agent: Agent) -> str | None:
    """Why no further model call is allowed, and the way on, in a line for people, or None."""
    used, limits = session.usage, agent.limits
    tokens = used.input_tokens + used.output_tokens
    if limits.max_tokens is not None and tokens >= limits.max_tokens:
        return f"the session has used {tokens} tokens, and limits.maxTokens is {limits.max_tokens}: raise it to go on"
    if limits.max_cost is not None and used.cost is not None and used.cost >= limits.max_cost:
        return f"the session has cost {used.cost:g}, and limits.maxCost is {limits.max_cost:g}: raise it to go on"
    turn = session.open_turn
    if turn is not None and turn.steps >= limits.max_steps:
        taken = "1 step" if turn.steps == 1 else f"{turn.steps} steps"
        way_on = "another input begins a new turn"
        return f"the turn has taken {taken}, and limits.maxSteps is {limits.max_steps}: {way_on}"
    return None
