"""The names under which the model sees the tools of an agent file, as far as the file alone tells them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from abey.core.globs import fits
from abey.protocol.config import (
    AgentTool,
    AnyToolKind,
    CommandTool,
    ExecutablesTool,
    ExternalTool,
    HttpTool,
    McpTool,
    WorkspaceTool,
)
from abey.runtime.tools.placeholders import shell_parameters


def command_of(tool: AnyToolKind) -> str | None:
    """The parameter that holds the command of a shell-like tool, None for any other tool."""
    if tool.shell is not None:
        return tool.shell
    handed = shell_parameters(tool.argv, tool.parameters) if isinstance(tool, CommandTool) else ()
    return handed[0] if handed else None


def shown_name(tool: AnyToolKind) -> str:
    """What a person would call it."""
    match tool:
        case ExecutablesTool():
            return tool.directory
        case WorkspaceTool():
            return ", ".join(tool.allow)
        case _:
            return tool.name


def names_of(tool: AnyToolKind) -> Iterator[tuple[str, bool]]:
    """The names that the model would see: (name, True), or (what they begin with, False)."""
    match tool:
        case CommandTool() | HttpTool() | ExternalTool() | AgentTool():
            yield tool.name, True
        case McpTool():
            yield f"mcp_{tool.name}_", False
        case ExecutablesTool():
            yield "bash_", False
        case WorkspaceTool():
            yield from ((name, True) for name in tool.allow)


def may_begin(pattern: str, start: str) -> bool:
    """Whether a name that begins like this could be what the pattern says."""
    head = pattern.partition("*")[0]
    return head.startswith(start) or ("*" in pattern and start.startswith(head))


@dataclass(frozen=True, slots=True)
class Offered:
    """What the tools of a file offer: by name, and by what the names begin with that are not known yet."""

    known: Mapping[str, AnyToolKind]
    begun: tuple[tuple[str, AnyToolKind], ...]

    def fitting(self, pattern: str) -> tuple[list[str], list[AnyToolKind]]:
        """The names that a rule's pattern fits, and the tools of which it may fit what is not known yet."""
        if "*" in pattern:
            names = [name for name in self.known if fits(pattern, name)]
        else:
            names = [pattern] if pattern in self.known else []
        return names, [tool for start, tool in self.begun if may_begin(pattern, start)]


def offered_by(tools: Iterable[AnyToolKind]) -> Offered:
    found = [(name, exact, tool) for tool in tools for name, exact in names_of(tool)]
    known = {name: tool for name, exact, tool in found if exact}
    return Offered(known, tuple((name, tool) for name, exact, tool in found if not exact))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one of `known` that somebody meant who wrote `word`, if any is near enough."""
    folded = {name.lower().replace("_", ""): name for name in known}
    from difflib import get_close_matches  # only what is wrong is compared

    near = get_close_matches(word.lower().replace("_", ""), folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else None
