"""A workspace with the tools that work in it."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.core.previews import Preview
from abey.protocol.config import AgentConfig
from abey.runtime.agents.tools import tools_of
from abey.runtime.ports import Spool, ToolCall
from abey.runtime.tools.workspace.paths import Own
from abey.runtime.tools.workspace.runner import WorkspaceRunner

ALL = ["read_file", "list_files", "search", "write_file", "edit_file"]


def tools(**more: Any) -> dict[str, Tool]:
    config = {"slug": "a", "model": {"provider": "scripted", "script": []}}
    entry = {"kind": "workspace", "allow": ALL, **more}
    return {one.name: one for one in tools_of(AgentConfig.model_validate({**config, "tools": [entry]}))}


def no_spool() -> Spool:
    raise AssertionError("nothing is printed")


@dataclass
class Work:
    """`cwd` is the session's folder; beside it stands what is outside."""

    cwd: Path
    own: Own = Own()
    runner: WorkspaceRunner = field(init=False)

    def __post_init__(self) -> None:
        self.cwd.mkdir(exist_ok=True)
        self.runner = WorkspaceRunner(self.own)

    def call(self, **arguments: Any) -> ToolCall:
        return ToolCall("s1", "c1", "i1", arguments, str(self.cwd), {}, no_spool)

    async def run(self, name: str, preimage: str | None = None, session: str = "s1", **arguments: Any) -> ToolOutcome:
        call = replace(self.call(**arguments), preimage=preimage, session_id=session)
        return await self.runner.run(tools()[name], call)

    async def told(self, name: str, **arguments: Any) -> Any:
        """What the model is told of a call that worked."""
        outcome = await self.run(name, **arguments)
        assert outcome.error is None, outcome
        return outcome.content

    async def refused(self, name: str, **arguments: Any) -> str:
        """What it is told of one that failed."""
        outcome = await self.run(name, **arguments)
        assert outcome.error == "tool/failed", outcome
        return str(outcome.content)

    def shown(self, name: str, **arguments: Any) -> Preview:
        preview = self.runner.preview(str(self.cwd), tools()[name], arguments)
        assert preview is not None
        return preview

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.cwd / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file
