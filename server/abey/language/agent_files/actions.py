"""What can be done about a place of an agent file, as changes of its text."""

from collections.abc import Iterator

from lsprotocol import types as lsp

from abey.language.agent_files.conversion import converted
from abey.language.agent_files.diagnostics import NEVER_MATCHES, diagnostic
from abey.language.agent_files.layout import Edit, indent, line_end, nested, prepended, removed, spread, written
from abey.language.agent_files.rules import decides
from abey.language.agent_files.tree import Node, Path, resolved
from abey.language.agent_files.view import POLICIES, View
from abey.protocol.agent_file_words import FOREIGN_MARKS
from abey.runtime.agents.findings import Finding, quoted
from abey.runtime.models.places import variable_for, without_credentials

_MOST = 100
"""Of more findings, as in a whole file that was selected, only the first can be fixed."""
_RULES = {
    "defer": "Ask before {} runs",
    "deny": "Deny {}",
    "runSync": "Run {} without asking",
    "runAsync": "Run {} in the background without asking",
}


def actions(view: View, start: int, end: int) -> list[lsp.CodeAction]:
    """Those for what lies between two offsets, or around them."""
    found = [one for one in view.loaded.findings if one.start <= end and one.end >= start]
    fixes = [action for one in found[:_MOST] for action in _fixes(view, one)]
    return [*fixes, *_rules(view, start), *_conversion(view)]


def _fixes(view: View, found: Finding) -> Iterator[lsp.CodeAction]:
    path = resolved(view.tree, found.source)
    node = view.tree.at(path)
    if found.replacement is not None:
        title = f"Change to {quoted(found.replacement)}"
        yield _fix(view, found, title, [(found.start, found.end, written(found.replacement))], preferred=True)
    if found.code == "unknown-field":
        yield from _removal(view, found, path, "Remove this field")
    if found.code == "duplicate-key":
        yield from _earlier(view, found, path)
    if found.code in NEVER_MATCHES:
        rule = path[: path.index("rules") + 2] if "rules" in path else path
        yield from _removal(view, found, rule, "Remove this rule, which never decides")
    if node is not None and _holds_key(found):
        yield from _key_fixes(view, found, node)


def _removal(view: View, found: Finding, path: Path, title: str) -> Iterator[lsp.CodeAction]:
    holder = view.tree.at(path[:-1]) if path else None
    for at, entry in enumerate(holder.entries if holder else ()):
        here = entry.key is None or entry.key.start == found.start
        if entry.name == path[-1] and here and holder is not None:
            yield _fix(view, found, title, removed(view.tree, holder, at))
            return


def _earlier(view: View, found: Finding, path: Path) -> Iterator[lsp.CodeAction]:
    """Without the one that does not count."""
    holder = view.tree.at(path[:-1]) if path else None
    for at, entry in enumerate(holder.entries if holder else ()):
        if holder is not None and entry.name == path[-1] and entry.key and entry.key.start < found.start:
            title = "Remove the earlier one, which does not count"
            yield _fix(view, found, title, removed(view.tree, holder, at))
            return


def _holds_key(found: Finding) -> bool:
    """Whether a key stands there in clear, or most likely does: in the place of a variable's name."""
    return found.code == "key-in-clear" or (found.code == "invalid-value" and found.pointer == "/model/apiKey/env")


def _key_fixes(view: View, found: Finding, node: Node) -> Iterator[lsp.CodeAction]:
    """The key goes out of the file, and stands in no title, text or edit of ours."""
    if found.pointer == "/model/baseUrl":
        plain = without_credentials(str(node.value))
        yield _fix(
            view, found, "Take the user and password out of the address", [(node.start, node.end, written(plain))]
        )
        return
    provider, address = view.tree.string("model", "provider"), view.tree.string("model", "baseUrl")
    name = variable_for(provider, address, view.tree.string("slug"))
    text = written(name) if found.pointer.endswith("/env") else written({"env": name})
    title = f"Read the key from the variable {name}, and take it out of the file"
    yield _fix(view, found, title, [(node.start, node.end, text)], preferred=True)


def _rules(view: View, offset: int) -> Iterator[lsp.CodeAction]:
    """Rules for the tool that the cursor is on."""
    tools = view.tree.at(("tools",)) if view.is_ours else None
    for entry in tools.entries if tools else ():
        tool = entry.value
        if tool is not None and tool.start <= offset <= tool.end:
            name = tool.get("name")
            if name is not None and isinstance(name.value, str) and name.value:
                yield from _rules_for(view, name.value)


def _rules_for(view: View, name: str) -> Iterator[lsp.CodeAction]:
    for word, title in _RULES.items():
        edits = _with_rule(view, name, word)
        if edits:
            yield lsp.CodeAction(
                title.format(quoted(name)), kind=lsp.CodeActionKind.RefactorRewrite, edit=view.edit(edits)
            )


def _with_rule(view: View, name: str, word: str) -> list[Edit]:
    """The rule for every call of this tool says so, or a new first one does, if it then decides; nothing where one says
    so already, or where others would decide all the same."""
    at, said = _rule_of(view, name)
    if said is not None and decides(view.agent, view.laws, name, word, at):
        tag = said.get("tag") or said
        return [] if tag.value == word else [(said.start, said.end, written(word))]
    text = f'{{"tool": {written(name)}, "disposition": {written(word)}}}'
    return _with_first_rule(view, text) if decides(view.agent, view.laws, name, word) else []


def _rule_of(view: View, name: str) -> tuple[int | None, Node | None]:
    """The first rule for every call of this tool and no other, and its disposition."""
    policy = _policy(view)
    rules = policy.get("rules") if policy else None
    for at, rule in enumerate(entry.value for entry in (rules.entries if rules else ())):
        there, match = (rule.get("tool"), rule.get("match")) if rule else (None, None)
        if rule and there and there.value == name and (match is None or not match.plain()):
            return at, rule.get("disposition")
    return None, None


def _with_first_rule(view: View, text: str) -> list[Edit]:
    root, tree, policy = view.tree.root, view.tree, _policy(view)
    rules = policy.get("rules") if policy else None
    if rules is not None:
        return prepended(tree, rules, text) if rules.kind == "array" else []
    if policy is not None:
        return prepended(tree, policy, f'"rules": [{text}]') if policy.kind == "object" else []
    tools = root.entry("tools") if root else None
    if root is None or tools is None:
        return []
    outer = indent(view.source, tools.start)
    gap = line_end(tree) + outer if spread(tree, root) else " "
    return [(tools.start, tools.start, f"{nested(tree, outer, ('toolCallPolicy', 'rules'), text)},{gap}")]


def _policy(view: View) -> Node | None:
    return next((found for key in POLICIES if (found := view.tree.at((key,)))), None)


def _conversion(view: View) -> Iterator[lsp.CodeAction]:
    """A file of agents-exe as one of ours."""
    root = view.tree.root
    foreign = not view.is_ours or any(view.tree.at((mark,)) for mark in FOREIGN_MARKS)
    made = converted(view) if root is not None and foreign else None
    if made is not None:
        text, lost = made
        more = f" ({lost} fields that are not supported are left out)" if lost else ""
        title = f"Convert to an agent file of abey{more}"
        edit = view.edit([(0, len(view.source), text)])
        yield lsp.CodeAction(title, kind=lsp.CodeActionKind.RefactorRewrite, edit=edit)


def _fix(view: View, found: Finding, title: str, edits: list[Edit], *, preferred: bool = False) -> lsp.CodeAction:
    return lsp.CodeAction(
        title,
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[diagnostic(view, found)],
        is_preferred=preferred or None,
        edit=view.edit(edits),
    )
