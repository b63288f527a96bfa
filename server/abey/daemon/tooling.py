"""Which kinds of tools there are, and what runs each of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from abey.core.previews import Look
from abey.daemon.settings import Settings
from abey.runtime.agents.registry import Registry
from abey.runtime.around import Hooks, NoHooks
from abey.runtime.capabilities import CapabilityStates
from abey.runtime.extending.hooks import ExtensionHooks
from abey.runtime.extending.installed import KIND
from abey.runtime.extending.loading import Extensions
from abey.runtime.extending.programs import Starting
from abey.runtime.extending.runner import ExtensionRunner
from abey.runtime.extending.scoped import Declared
from abey.runtime.extending.toolbox import Extended
from abey.runtime.models.network import Network
from abey.runtime.ports import Clock, Listener, Toolbox, ToolRunner
from abey.runtime.store.io import FileIO
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.executables.folder import ExecutablesOpener
from abey.runtime.tools.late import LateRunner
from abey.runtime.tools.mcp.servers import McpServers
from abey.runtime.tools.processes import Starter
from abey.runtime.tools.programs import Programs
from abey.runtime.tools.sandbox.launcher import SandboxedLauncher
from abey.runtime.tools.sandbox.layout import surroundings
from abey.runtime.tools.sandbox.leftovers import Leftovers
from abey.runtime.tools.sandbox.sandbox import Find, Sandbox
from abey.runtime.tools.sources import Opener
from abey.runtime.tools.toolbox import Toolboxes
from abey.runtime.tools.workspace.paths import Own
from abey.runtime.tools.workspace.runner import WorkspaceRunner


@dataclass(frozen=True, slots=True)
class Tooling:
    """`runners` are by the kind of the tool; `states` are what the sessions keep open for their tools, and for
    extensions; `hooks` are the extensions' own."""

    runners: Mapping[str, ToolRunner]
    toolbox: Toolbox
    states: CapabilityStates
    preview: Look
    hooks: Hooks = NoHooks()


def make_sandbox(settings: Settings, registry: Registry, io: FileIO, find: Find) -> Sandbox:
    """What keeps programs from the rest of this user's things, and from ours; `find` says what there is for it."""
    ours = (settings.state_dir, settings.config_dir, settings.runtime_dir)
    leftovers = Leftovers(settings.state_dir / "leftovers.json", io)
    leftovers.clear()
    return Sandbox(surroundings(ours, settings.env, registry.in_use), look=find, leftovers=leftovers)


def own_of(settings: Settings, registry: Registry) -> Own:
    """What no tool for files touches."""
    return Own((settings.state_dir, settings.config_dir), registry.holds)


def make_tools(
    launcher: Starter, clock: Clock, env: Mapping[str, str], own: Own, sandbox: Sandbox, listener: Listener
) -> Tooling:
    programs, sandboxed = Programs(clock), SandboxedLauncher(launcher, sandbox)
    workspace = WorkspaceRunner(own)
    runners: dict[str, ToolRunner] = {"http": LateRunner(partial(_http_runner, env, clock))}
    runners["command"] = CommandRunner(sandboxed, clock, env, programs)
    runners["executables"] = LateRunner(partial(_executable_runner, sandboxed, programs, env))
    runners["workspace"] = workspace
    runners["mcp"] = servers = McpServers(launcher, env)
    openers: dict[str, Opener] = {"executables": ExecutablesOpener(launcher, programs, env), "mcp": servers}
    states = CapabilityStates(clock, listener.noticed, Starting(launcher).of)
    declared = Declared(Extensions(), states)
    runners[KIND] = ExtensionRunner(declared, clock, partial(_late, listener))
    toolbox = Toolboxes(openers, states, partial(_missing, listener))
    return Tooling(
        runners=runners,
        toolbox=Extended(toolbox, declared.extensions),
        states=states,
        preview=workspace.preview,
        hooks=ExtensionHooks(declared, partial(_missing, listener)),
    )


MakeTools = Callable[[Starter, Clock, Mapping[str, str], Own, Sandbox, Listener], Tooling]


def _http_runner(env: Mapping[str, str], clock: Clock) -> ToolRunner:
    from abey.runtime.tools.http.runner import HttpRunner

    return HttpRunner(Network(env), clock)


def _executable_runner(launcher: SandboxedLauncher, programs: Programs, env: Mapping[str, str]) -> ToolRunner:
    from abey.runtime.tools.executables.runner import ExecutableRunner

    return ExecutableRunner(launcher, programs, env)


def _late(listener: Listener, session_id: str, invocation_id: str) -> None:
    listener.noticed(session_id, {"type": "stale-result", "invocationId": invocation_id})


def _missing(listener: Listener, session_id: str, name: str, why: str) -> None:
    """Tells who looks at the session that it goes on without a tool, or without all whose names begin so."""
    what = f"the tools {name}*" if name.endswith("_") else f"the tool {name}"
    listener.noticed(session_id, {"type": "note", "text": f"without {what}: {why}"})
