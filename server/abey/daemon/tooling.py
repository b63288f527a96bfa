"""Which kinds of tools there are, and what runs each of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from abey.core.previews import Look
from abey.daemon.settings import Settings
from abey.runtime.agents.registry import Registry
from abey.runtime.models.network import Network
from abey.runtime.ports import Clock, Listener, Toolbox, ToolRunner
from abey.runtime.store.io import FileIO
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.executables.folder import ExecutablesOpener
from abey.runtime.tools.executables.runner import ExecutableRunner
from abey.runtime.tools.http.runner import HttpRunner
from abey.runtime.tools.mcp.servers import McpServers
from abey.runtime.tools.processes import Starter
from abey.runtime.tools.programs import Programs
from abey.runtime.tools.sandbox.launcher import SandboxedLauncher
from abey.runtime.tools.sandbox.layout import surroundings
from abey.runtime.tools.sandbox.leftovers import Leftovers
from abey.runtime.tools.sandbox.sandbox import Sandbox
from abey.runtime.tools.toolbox import Opener, Toolboxes
from abey.runtime.tools.workspace.paths import Own
from abey.runtime.tools.workspace.runner import WorkspaceRunner


@dataclass(frozen=True, slots=True)
class Tooling:
    """`runners` are by the kind of the tool."""

    runners: Mapping[str, ToolRunner]
    toolbox: Toolbox
    preview: Look


def make_sandbox(settings: Settings, registry: Registry, io: FileIO) -> Sandbox:
    """What keeps programs from the rest of this user's things, and from ours."""
    ours = (settings.state_dir, settings.config_dir, settings.runtime_dir)
    leftovers = Leftovers(settings.state_dir / "leftovers.json", io)
    leftovers.clear()
    return Sandbox(surroundings(ours, settings.env, registry.in_use), leftovers=leftovers)


def own_of(settings: Settings, registry: Registry) -> Own:
    """What no tool for files touches."""
    return Own((settings.state_dir, settings.config_dir), registry.holds)


def make_tools(
    launcher: Starter, clock: Clock, env: Mapping[str, str], own: Own, sandbox: Sandbox, listener: Listener
) -> Tooling:
    programs, sandboxed = Programs(clock), SandboxedLauncher(launcher, sandbox)
    workspace = WorkspaceRunner(own)
    runners: dict[str, ToolRunner] = {"http": HttpRunner(Network(env), clock)}
    runners["command"] = CommandRunner(sandboxed, clock, env, programs)
    runners["executables"] = ExecutableRunner(sandboxed, programs, env)
    runners["workspace"] = workspace
    runners["mcp"] = servers = McpServers(launcher, env)
    openers: dict[str, Opener] = {"executables": ExecutablesOpener(launcher, programs, env), "mcp": servers}
    return Tooling(runners=runners, toolbox=Toolboxes(openers, partial(_missing, listener)), preview=workspace.preview)


def _missing(listener: Listener, session_id: str, name: str, why: str) -> None:
    """Tells who looks at the session that it goes on without a tool, or without all whose names begin so."""
    what = f"the tools {name}*" if name.endswith("_") else f"the tool {name}"
    listener.noticed(session_id, {"type": "note", "text": f"without {what}: {why}"})
