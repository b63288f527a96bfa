"""What is run from an agent file: a session of it; and what has to come before that, the trust of its folder."""

from collections.abc import Collection

from lsprotocol import types as lsp

from abey.language.agent_files.view import View

START, TRUST = "abey.start", "abey.trust"
START_KIND = "source.abey.start"
"""A source action: editors offer it when asked, and show no light bulb for it."""


def lens(view: View, pending: int) -> list[lsp.CodeLens]:
    """One lens where the agent's name is, or else at the top."""
    root = view.tree.root
    if root is None or root.kind != "object":
        return []
    slug = root.entry("slug") if view.is_ours else None
    start, end = (slug.start, slug.end) if slug else (root.start, root.start + 1)
    return [lsp.CodeLens(view.range(start, end), _command(view, f"Start session · {pending} pending"))]


def start_action(view: View) -> lsp.CodeAction:
    return lsp.CodeAction("Start session", kind=START_KIND, command=_command(view, "Start session"))


def trust_action(folder: str, commands: Collection[str], about: lsp.Diagnostic) -> list[lsp.CodeAction]:
    """Where the daemon can be told so."""
    if TRUST not in commands:
        return []
    command = lsp.Command("Trust this folder", TRUST, arguments=[{"dir": folder}])
    return [lsp.CodeAction("Trust this folder", kind=lsp.CodeActionKind.QuickFix, diagnostics=[about], command=command)]


def _command(view: View, title: str) -> lsp.Command:
    return lsp.Command(title, START, arguments=[{"agentFile": str(view.document.path)}])
