"""Agent files as editors have them: a text with a cursor in it, and a client that can do much or little."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from abey.core.policy import Laws
from abey.language.agent_files.agent_files import AgentFileLanguage, Outlook
from abey.language.language import Asker, Document
from abey.language.text import Text
from abey.protocol.config import AgentConfig
from abey.protocol.transcript import Client
from abey.runtime.agents.aside import Aside
from abey.runtime.agents.findings import Fact
from abey.runtime.tools.shell import read_command

HOME = Path("/home/ann")
CONFIG = HOME / ".config" / "abey"
OWN = CONFIG / "agents" / "a.json"
WORKSPACE = Path("/home/ann/work")
THEIRS = WORKSPACE / ".abey" / "agents" / "a.json"

ABLE = lsp.ClientCapabilities(
    workspace=lsp.WorkspaceClientCapabilities(
        workspace_edit=lsp.WorkspaceEditClientCapabilities(document_changes=True)
    ),
    text_document=lsp.TextDocumentClientCapabilities(
        completion=lsp.CompletionClientCapabilities(
            completion_item=lsp.ClientCompletionItemOptions(
                snippet_support=True, documentation_format=[lsp.MarkupKind.Markdown]
            )
        ),
        hover=lsp.HoverClientCapabilities(content_format=[lsp.MarkupKind.Markdown, lsp.MarkupKind.PlainText]),
        publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities(
            related_information=True,
            tag_support=lsp.ClientDiagnosticsTagOptions(
                value_set=[lsp.DiagnosticTag.Unnecessary, lsp.DiagnosticTag.Deprecated]
            ),
        ),
    ),
)
"""What an editor like VS Code can do."""
BARE = lsp.ClientCapabilities()


@dataclass
class World:
    """What a daemon would know. `trusted` are workspaces."""

    trusted: list[Path] = field(default_factory=list)
    key_facts: list[Fact] = field(default_factory=list)
    pending: dict[Path, int] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    laws: Laws = field(default_factory=lambda: Laws(read=read_command))

    def language(self, config: Path = CONFIG) -> AgentFileLanguage:
        return AgentFileLanguage(
            config,
            Outlook(
                trusts=self._trusts,
                is_in_workspace=lambda path: not path.is_relative_to(HOME / ".abey"),
                key_facts=self._key_facts,
                pending_of=self._pending_of,
                commands=lambda: self.commands,
                laws_of=lambda _, __: self.laws,
                aside=Aside(),
            ),
        )

    def _trusts(self, path: Path, lent: Sequence[Path]) -> bool:
        return path.parent.parent.parent in [*self.trusted, *lent]

    async def _pending_of(self, path: Path) -> int:
        return self.pending.get(path, 0)

    def _key_facts(self, env: Mapping[str, str] | None, config: AgentConfig) -> Iterable[Fact]:
        return self.key_facts


def asker(
    capabilities: lsp.ClientCapabilities = ABLE, env: Mapping[str, str] | None = None, trusted: Sequence[Path] = ()
) -> Asker:
    client = Client(id="c", name="editor", kind="lsp")
    return Asker(client=client, capabilities=capabilities, plain=True, env=env, trusted=tuple(trusted))


def document(
    source: str, path: Path = OWN, encoding: lsp.PositionEncodingKind = lsp.PositionEncodingKind.Utf16
) -> Document:
    return Document(uri=path.as_uri(), path=path, version=7, text=Text(source, encoding))


def at_cursor(marked: str) -> tuple[Document, int]:
    """A text in which `|` is the cursor, and where that is."""
    offset = marked.index("|")
    return document(marked[:offset] + marked[offset + 1 :]), offset


def applied(doc: Document, edits: Iterable[lsp.TextEdit | Any]) -> str:
    """The text after edits that do not overlap."""
    source = doc.text.source
    spans = [(doc.text.offset(one.range.start), doc.text.offset(one.range.end), one.new_text) for one in edits]
    for start, end, text in sorted(spans, reverse=True):
        source = source[:start] + text + source[end:]
    return source


def changed(doc: Document, action: lsp.CodeAction) -> str:
    """The text after an action."""
    edit = action.edit
    assert edit is not None
    if edit.changes is not None:
        return applied(doc, edit.changes[doc.uri])
    (change,) = edit.document_changes or ()
    assert isinstance(change, lsp.TextDocumentEdit)
    return applied(doc, change.edits)
