"""Which kinds of tools there are, and what runs each of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from abey.runtime.ports import Clock, Toolbox, ToolRunner
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.processes import Launcher
from abey.runtime.tools.toolbox import Toolboxes


@dataclass(frozen=True, slots=True)
class Tooling:
    """`runners` are by the kind of the tool."""

    runners: Mapping[str, ToolRunner]
    toolbox: Toolbox


def make_tools(launcher: Launcher, clock: Clock, env: Mapping[str, str]) -> Tooling:
    return Tooling(runners={"command": CommandRunner(launcher, clock, env)}, toolbox=Toolboxes({}))
