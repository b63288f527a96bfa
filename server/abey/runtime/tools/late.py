"""What runs a kind of tool, made when one is first called: most daemons need few of the kinds that there are."""

from collections.abc import Callable
from functools import cached_property

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.runtime.ports import ToolCall, ToolRunner


class LateRunner:
    """A ports.ToolRunner. `make` is called once, and imports what it makes."""

    def __init__(self, make: Callable[[], ToolRunner]) -> None:
        self._make = make

    @cached_property
    def _runner(self) -> ToolRunner:
        return self._make()

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        return await self._runner.run(tool, call)
