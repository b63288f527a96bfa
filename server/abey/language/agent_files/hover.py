"""What is under the cursor, in words: what a rule does, what a field or a word means, what the model sees of a tool."""

from collections.abc import Iterator

from lsprotocol import types as lsp

from abey.core.agent import Tool
from abey.core.policy import judge
from abey.language.agent_files import grammar
from abey.language.agent_files.layout import written
from abey.language.agent_files.markup import Markup, for_hover
from abey.language.agent_files.rules import explained, told
from abey.language.agent_files.tree import Node, Path
from abey.language.agent_files.view import POLICIES, View
from abey.protocol.agent_file_words import WORDS
from abey.protocol.config import AnyToolKind, CommandTool, HttpTool
from abey.runtime.agents.naming import names_of

_WORDS_AT = ("provider", "kind", "tag", "disposition", "default", "inner", "executionMode", "allow")


def hover(view: View, offset: int) -> lsp.Hover | None:
    root = view.tree.root
    if root is None or not view.is_ours or view.tree.in_comment(offset):
        return None
    show = for_hover(view.asker.capabilities)
    path, node, on_key = _found(root, offset)
    paragraphs = [*_field(view, path, show)] if on_key or node.kind in ("string", "word") else []
    if not on_key:
        paragraphs = [*_word(path, node, show), *paragraphs, *_around(view, path, node, show)]
    if not paragraphs:
        return None
    return lsp.Hover(show.content(paragraphs), view.range(node.start, node.end))


def _found(root: Node, offset: int) -> tuple[Path, Node, bool]:
    """The innermost key or value around `offset`, its path, and whether it is a key."""
    path: Path = ()
    node = root
    while True:
        for at, entry in enumerate(node.entries):
            name = at if entry.name is None else entry.name
            if entry.key is not None and entry.key.start <= offset < entry.key.end:
                return (*path, name), entry.key, True
            if entry.value is not None and entry.value.start <= offset < entry.value.end:
                path, node = (*path, name), entry.value
                break
        else:
            return path, node, False


def _field(view: View, path: Path, show: Markup) -> Iterator[str]:
    """What the field at `path` is."""
    field = grammar.field_at(view.tree, path)
    if field is None or field.name == "$schema":
        return
    default = field.schema.get("default")
    more = ", required" if field.required else f", {show.code(written(default))} by default" if _says(default) else ""
    yield f"{show.strong(field.name)} ({grammar.type_name(field.schema)}{more})"
    yield field.words


def _says(default: object) -> bool:
    return default is not None and not isinstance(default, dict)


def _word(path: Path, node: Node, show: Markup) -> Iterator[str]:
    """What the word is that stands there."""
    named = [step for step in path if isinstance(step, str)]
    if node.kind == "string" and node.value in WORDS and named and named[-1] in _WORDS_AT:
        yield f"{show.code(node.value)}: {WORDS[node.value]}"


def _around(view: View, path: Path, node: Node, show: Markup) -> Iterator[str]:
    """The rule or the tool that the place belongs to, and what is known of a variable."""
    if path[:1] and path[0] in POLICIES and path[1:2] == ("rules",) and len(path) > 2:
        yield from _rule(view, path, show)
    elif path[:1] == ("tools",) and len(path) in (2, 3) and path[2:] in ((), ("name",), ("kind",)):
        yield from _tool(view, path, show)
    elif path[-1:] == ("env",) and view.asker.env is not None and node.value in view.asker.env:
        yield "It is set in your environment."


def _rule(view: View, path: Path, show: Markup) -> Iterator[str]:
    agent, config, at = view.agent, view.config, path[2]
    if agent is None or config is None or agent.policy is None or not isinstance(at, int):
        return
    if at < len(agent.policy.rules):
        yield from explained(agent, view.laws, at, config.tools, show)


def _tool(view: View, path: Path, show: Markup) -> Iterator[str]:
    config, agent, at = view.config, view.agent, path[1]
    if config is None or agent is None or not isinstance(at, int) or at >= len(config.tools):
        return
    kind = config.tools[at]
    tool = agent.tools.get(str(getattr(kind, "name", "")))
    if tool is None:
        yield _several(kind, show)
        return
    yield f"The model sees {show.code(tool.name)}:" if tool.description else f"The model sees {show.code(tool.name)}."
    yield show.block(tool.description) if tool.description else ""
    if isinstance(kind, CommandTool):
        yield f"It runs {show.code(' '.join(map(written, kind.argv)))}"
    elif isinstance(kind, HttpTool):
        yield f"It asks {show.code(f'{kind.method} {kind.url}')}"
    yield _nature(tool, show)
    yield f"A call: {told(judge(agent, tool, {}, view.laws).disposition, show)}"


def _several(kind: AnyToolKind, show: Markup) -> str:
    """Of an entry that stands for more tools than one."""
    names = list(names_of(kind))
    if not all(exact for _, exact in names):
        return f"The model sees its tools as {show.code(f'{names[0][0]}…')}, once a session has asked it for them."
    return f"The model sees {', '.join(show.code(name) for name, _ in names) or 'nothing of it'}."


def _nature(tool: Tool, show: Markup) -> str:
    """What makes it special."""
    facts = [
        f"shell-like: {show.code(tool.command)} is a shell command" if tool.command else "",
        "destructive" if tool.destructive else "",
        "idempotent" if tool.idempotent else "",
        "" if tool.runnable else "run by others only",
    ]
    return "; ".join(fact for fact in facts if fact)
