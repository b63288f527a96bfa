"""The outline of an agent file: the agent, its model, its policy with the rules, its tools, its limits."""

from collections.abc import Callable, Iterator

from lsprotocol import types as lsp

from abey.language.agent_files.tree import Entry, Node
from abey.language.agent_files.view import WRAPPER, View
from abey.shared.escaping import cut, escape_line

_SHOWN = 80
_MOST = 500

Inside = Callable[[View, Node], Iterator[lsp.DocumentSymbol]]


def symbols(view: View) -> list[lsp.DocumentSymbol]:
    root = view.tree.root
    agent = root.get(WRAPPER) if root and not view.is_ours and root.get(WRAPPER) else root
    if agent is None or agent.kind != "object" or root is None:
        return []
    slug = agent.get("slug")
    name = _text(slug) or "agent"
    return [_symbol(view, name, "agent", lsp.SymbolKind.Class, root, slug, list(_children(view, agent)))]


def _children(view: View, agent: Node) -> Iterator[lsp.DocumentSymbol]:
    for entry in agent.entries:
        if entry.value is None or entry.key is None:
            continue
        match entry.name:
            case "model":
                detail = " ".join(filter(None, (_text(entry.value.get("provider")), _text(entry.value.get("name")))))
                yield _member(view, entry, detail, lsp.SymbolKind.Object)
            case "toolCallPolicy" | "toolCallPolicyConfig":
                yield _member(view, entry, _disposition(entry.value.get("default")), lsp.SymbolKind.Namespace, _rules)
            case "tools":
                yield _member(view, entry, f"{len(entry.value.entries)}", lsp.SymbolKind.Array, _tools)
            case "limits" | "compaction":
                yield _member(view, entry, "", lsp.SymbolKind.Object, _numbers)


def _rules(view: View, policy: Node) -> Iterator[lsp.DocumentSymbol]:
    rules = policy.get("rules")
    for at, entry in enumerate(rules.entries[:_MOST] if rules else ()):
        if entry.value is not None:
            tool, disposition = entry.value.get("tool"), _disposition(entry.value.get("disposition"))
            yield _symbol(view, _text(tool) or f"rule {at + 1}", disposition, lsp.SymbolKind.Event, entry.value, tool)


def _tools(view: View, tools: Node) -> Iterator[lsp.DocumentSymbol]:
    for at, entry in enumerate(tools.entries[:_MOST]):
        if entry.value is not None:
            name = entry.value.get("name") or entry.value.get("directory")
            kind = _text(entry.value.get("kind"))
            yield _symbol(
                view, _text(name) or kind or f"tool {at + 1}", kind, lsp.SymbolKind.Function, entry.value, name
            )


def _numbers(view: View, limits: Node) -> Iterator[lsp.DocumentSymbol]:
    for entry in limits.entries[:_MOST]:
        if entry.key is not None and entry.value is not None:
            number = view.source[entry.value.start : entry.value.end] if entry.value.kind == "word" else ""
            yield _member(view, entry, number, lsp.SymbolKind.Number)


def _member(
    view: View, entry: Entry, detail: str, kind: lsp.SymbolKind, inside: Inside | None = None
) -> lsp.DocumentSymbol:
    """A field of the file; `inside` says what is in its value."""
    children = list(inside(view, entry.value)) if inside and entry.value else []
    name = cut(escape_line(str(entry.name)), _SHOWN).strip() or "?"
    return _made(view, (name, detail, kind), (entry.start, entry.end), entry.key, children)


def _symbol(
    view: View,
    name: str,
    detail: str,
    kind: lsp.SymbolKind,
    node: Node,
    selected: Node | None,
    children: list[lsp.DocumentSymbol] | None = None,
) -> lsp.DocumentSymbol:
    return _made(view, (name, detail, kind), (node.start, node.end), selected, children or [])


def _made(
    view: View,
    said: tuple[str, str, lsp.SymbolKind],
    span: tuple[int, int],
    selected: Node | None,
    children: list[lsp.DocumentSymbol],
) -> lsp.DocumentSymbol:
    """What is selected lies inside the whole, or is its beginning."""
    name, detail, kind = said
    inside = selected is not None and span[0] <= selected.start and selected.end <= span[1]
    start, end = (selected.start, selected.end) if selected and inside else (span[0], span[0])
    whole, shown = view.range(*span), view.range(start, end)
    return lsp.DocumentSymbol(name, kind, whole, shown, detail=detail or None, children=children or None)


def _disposition(node: Node | None) -> str:
    return _text(node) or (_text(node.get("tag")) if node else "")


def _text(node: Node | None) -> str:
    found = node.value if node and node.kind == "string" else None
    return cut(escape_line(found), _SHOWN) if isinstance(found, str) and found.strip() else ""
