"""Runs tools of kind `command`: an argv, its output as text, its failures as results for the model."""

import asyncio
from collections.abc import Mapping
from functools import partial

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.runtime.ports import Clock, Progress, ToolCall
from abey.runtime.tools.descriptors import completed
from abey.runtime.tools.environment import tool_environment
from abey.runtime.tools.placeholders import BadArgument, fill
from abey.runtime.tools.processes import Launcher, Program
from abey.runtime.tools.programs import Programs
from abey.runtime.tools.telling import foreign_line, kept_or_why, with_lines
from abey.runtime.tools.whole import WholeOutput


class CommandRunner:
    """A ports.ToolRunner. `environment` is the daemon's, of which a tool gets only the variables it names; tools run
    among `programs`."""

    def __init__(
        self, launcher: Launcher, clock: Clock, environment: Mapping[str, str], programs: Programs | None = None
    ) -> None:
        self._programs = programs or Programs(clock)
        self._launcher = launcher
        self._environment = environment

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        try:
            argv = fill(tool.definition["argv"], tool.parameters, call.arguments)
        except BadArgument as bad:
            return ToolOutcome(str(bad), "tool/failed")
        env = tool_environment(call.env, tool.definition["env"], self._environment)
        program = Program(argv, call.cwd, env, call.isolation)
        output = WholeOutput(call.spool, lambda text: call.tell(Progress(text=text)))
        try:
            start = partial(self._launcher.launch, program)
            error, line = await self._programs.ending(program.argv[0], tool.timeout_seconds, output, start)
            text = output.text()
            whole, note = await kept_or_why(output)
            return ToolOutcome(with_lines(text, foreign_line(output), note, line), error, whole)
        finally:
            await completed(asyncio.ensure_future(output.close()))
