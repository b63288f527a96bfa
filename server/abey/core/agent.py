"""An agent as the core sees it: what its file came to, resolved, without keys."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from abey.protocol.config import Compaction, Model, Prices
from abey.protocol.policy import Policy
from abey.shared.values import Referable, dataclass

ISOLABLE = ("command", "executables")
"""Kinds of tools that are programs, each started for its call: no other one ever runs in a sandbox."""


@dataclass(frozen=True, slots=True)
class Tool(Referable):
    """A tool under the name the model sees.

    `definition` is the resolved definition and `hash` its toolHash (security.md, Approval); `runnable` is false for
    what only others can run; `command` names the parameter of a shell-like tool that holds the command; what is not
    `offered` is no tool that every model call may use: some are given it on their way.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    definition: Mapping[str, Any]
    hash: str
    runnable: bool = True
    idempotent: bool = False
    destructive: bool = False
    command: str | None = None
    timeout_seconds: float = 120.0
    offered: bool = True

    @property
    def kind(self) -> str:
        return str(self.definition["kind"])


@dataclass(frozen=True, slots=True)
class ToolSource:
    """What has tools that are known only once it was asked: an MCP server, a folder of programs.

    Their names begin with `prefix`; `definition` is the resolved entry of the agent file, and `hash` that of it.
    `destructive`, where the entry says something, and what follows it hold for each of the tools.
    """

    prefix: str
    definition: Mapping[str, Any]
    hash: str
    destructive: bool | None = None
    idempotent: bool = False
    shell: str | None = None
    timeout_seconds: float = 120.0

    @property
    def kind(self) -> str:
        return str(self.definition["kind"])


@dataclass(frozen=True, slots=True)
class Limits:
    max_concurrency: int = 4
    max_steps: int = 50
    stop_grace_seconds: float = 10.0
    max_tokens: int | None = None
    max_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Agent(Referable):
    """One version of an agent. `config` is the parsed file without keys, `config_hash` its hash, and `model` the one
    that it names.

    `sources` have more tools: while it is `unlisted` some of them were not asked yet, and `missing` says of those that
    cannot be asked why not, by their prefix, and of single tools by their name. Every final answer is JSON that fits
    `output_schema`, where there is one. `synchronous` is the file's
    executionMode; `stale` says why this is only the last good version: its file is broken or gone, or no longer
    trusted.
    """

    slug: str
    config: Mapping[str, Any]
    config_hash: str
    policy_hash: str
    system_prompt: str = ""
    tools: Mapping[str, Tool] = field(default_factory=dict)
    policy: Policy | None = None
    limits: Limits = Limits()
    model: Model | None = None
    prices: Prices | None = None
    compaction: Compaction | None = None
    output_schema: Mapping[str, Any] | None = None
    synchronous: bool = False
    stale: str | None = None
    sources: tuple[ToolSource, ...] = ()
    unlisted: bool = False
    missing: Mapping[str, str] = field(default_factory=dict)

    def why_missing(self, tool: str) -> str | None:
        """Why a tool that is not there cannot be known, where its source, or itself, could not be asked."""
        begun = (why for name, why in self.missing.items() if name.endswith("_") and tool.startswith(name))
        return self.missing.get(tool) or next(begun, None)
