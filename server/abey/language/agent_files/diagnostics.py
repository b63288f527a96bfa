"""The findings about an agent file as an editor shows them."""

from lsprotocol import types as lsp

from abey.language.agent_files.view import View
from abey.language.language import Asker, Document
from abey.runtime.agents.files import MAX_BYTES
from abey.runtime.agents.findings import Finding
from abey.shared.escaping import escape_line
from abey.shared.workspace import MARK

MOST = 500
SOURCE = "abey"
NEVER_MATCHES = ("shadowed-rule", "unmatched-rule", "impossible-match")
"""Of a rule, or a part of one, that may as well go."""

_RELATED = {"shadowed-rule": "this rule comes first", "duplicate-tool": "the first of that name"}
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "information": lsp.DiagnosticSeverity.Information,
    "hint": lsp.DiagnosticSeverity.Hint,
}


def diagnostics(view: View) -> list[lsp.Diagnostic]:
    return [diagnostic(view, found) for found in view.checked.findings[:MOST]]


def diagnostic(view: View, found: Finding) -> lsp.Diagnostic:
    can = _can(view.asker)
    unnecessary = found.code in NEVER_MATCHES and bool(can and can.tag_support)
    related = _related(view, found) if found.related and can and can.related_information else None
    return lsp.Diagnostic(
        view.range(found.start, found.end),
        found.message,
        _SEVERITIES[found.severity],
        found.code,
        source=SOURCE,
        tags=[lsp.DiagnosticTag.Unnecessary] if unnecessary else None,
        related_information=related,
    )


def untrusted(document: Document, folder: str) -> lsp.Diagnostic:
    """Said of a file of which not a character was read (security.md, Workspaces)."""
    message = f"this folder is not trusted, and its agent files are not read: abey trust {escape_line(folder)}"
    top = document.text.range(0, 0)
    return lsp.Diagnostic(top, message, lsp.DiagnosticSeverity.Information, "untrusted", source=SOURCE)


def misplaced(document: Document, folder: str, home: str) -> lsp.Diagnostic:
    """The same where no folder is to be trusted: the file is in the `.abey` of the home folder, or of everybody's."""
    message = (
        f"{escape_line(folder)} cannot be trusted, and its agent files are not read: move this one to"
        f" {escape_line(home)}, or into the {MARK} of a folder below"
    )
    top = document.text.range(0, 0)
    return lsp.Diagnostic(top, message, lsp.DiagnosticSeverity.Information, "untrusted", source=SOURCE)


def too_large(document: Document) -> lsp.Diagnostic:
    message = f"larger than {MAX_BYTES} bytes"
    return lsp.Diagnostic(document.text.range(0, 0), message, lsp.DiagnosticSeverity.Error, "unreadable", source=SOURCE)


def _related(view: View, found: Finding) -> list[lsp.DiagnosticRelatedInformation] | None:
    if found.related is None:
        return None
    where = lsp.Location(view.document.uri, view.range(*found.related))
    return [lsp.DiagnosticRelatedInformation(where, _RELATED[found.code])]


def _can(asker: Asker) -> lsp.PublishDiagnosticsClientCapabilities | None:
    documents = asker.capabilities.text_document
    return documents.publish_diagnostics if documents else None
