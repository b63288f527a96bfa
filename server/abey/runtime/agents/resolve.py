"""From an agent's file to the agent the core works with: hashes, tools, limits."""

from collections.abc import Mapping
from typing import Any

from abey.core.agent import Agent, Limits
from abey.protocol.base import sha256_hex
from abey.protocol.config import AgentConfig, HttpModel
from abey.protocol.policy import Policy
from abey.runtime.agents.tools import sources_of, tools_of
from abey.runtime.models.places import variable_of


def resolve(config: AgentConfig, raw: Mapping[str, Any]) -> Agent:
    """The agent of a valid file, whose self-contained JSON is `raw`. Tools of kinds that cannot run are left out."""
    sources = tuple(sources_of(config))
    return Agent(
        slug=config.slug,
        config=raw,
        config_hash=sha256_hex(raw),
        policy_hash=_policy_hash(config.tool_call_policy),
        system_prompt=config.system_prompt,
        tools={tool.name: tool for tool in tools_of(config)},
        sources=sources,
        unlisted=bool(sources),
        policy=config.tool_call_policy,
        limits=Limits(
            max_concurrency=config.limits.max_concurrency,
            max_steps=config.limits.max_steps,
            stop_grace_seconds=config.limits.stop_grace_seconds,
            max_tokens=config.limits.max_tokens,
            max_cost=config.limits.max_cost,
        ),
        model=config.model,
        prices=config.model.prices,
        compaction=config.compaction,
        output_schema=config.output_schema,
        synchronous=config.execution_mode == "synchronous",
    )


def env_names(config: AgentConfig) -> tuple[str, ...]:
    """The environment variables that the file needs: the one of its key, then those that its tools name."""
    model = config.model
    key = variable_of(model) if isinstance(model, HttpModel) else None
    named = [key] if key else []
    return tuple(dict.fromkeys([*named, *(name for tool in config.tools for name in getattr(tool, "env", ()))]))


def _policy_hash(policy: Policy | None) -> str:
    """The hash of the default and the ordered rules; an absent policy has the one of an empty one."""
    return sha256_hex((policy or Policy()).wire())
