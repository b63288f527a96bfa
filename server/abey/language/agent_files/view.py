"""A document as the features see it: its text, its tree, what the loader says of it, and what its asker can show."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lsprotocol import types as lsp

from abey.core.agent import Agent
from abey.core.policy import Laws
from abey.language.agent_files.layout import Edit
from abey.language.agent_files.tolerant import tree
from abey.language.agent_files.tree import Tree
from abey.language.language import Asker, Document
from abey.protocol.config import AgentConfig
from abey.runtime.agents.loading import Loaded, Look, load_text
from abey.runtime.agents.resolve import resolve

WRAPPER = "contents"
POLICIES = ("toolCallPolicy", "toolCallPolicyConfig")
"""The key of the policy, and its older spelling."""


@dataclass(frozen=True)
class View:
    """One version of a document that may be read, for one asker. `look` says of a config what its machine knows, and
    `laws` have a say in the calls of its agent."""

    document: Document
    asker: Asker
    look: Look
    laws: Laws

    @property
    def source(self) -> str:
        return self.document.text.source

    @cached_property
    def tree(self) -> Tree:
        return tree(self.source)

    @property
    def checked(self) -> Loaded:
        """With what its machine knows, which may take a while to find out."""
        return load_text(self.source, self.document.path, self.look)

    @cached_property
    def loaded(self) -> Loaded:
        return load_text(self.source, self.document.path)

    @property
    def config(self) -> AgentConfig | None:
        return self.loaded.config

    @cached_property
    def agent(self) -> Agent | None:
        """What the file comes to, None while it has errors."""
        return resolve(self.loaded.config, self.loaded.raw) if self.loaded.config else None

    @property
    def is_ours(self) -> bool:
        """Whether the file is in our form, and none of agents-exe."""
        return self.tree.at((WRAPPER,)) is None and self.tree.at(("flavor",)) is None

    def range(self, start: int, end: int) -> lsp.Range:
        return self.document.text.range(start, end)

    def edit(self, edits: list[Edit]) -> lsp.WorkspaceEdit:
        """A change of this document, of this version where the client can say so."""
        made = [lsp.TextEdit(self.range(start, end), text) for start, end, text in edits]
        if not _versioned(self.asker.capabilities):
            return lsp.WorkspaceEdit(changes={self.document.uri: made})
        named = lsp.OptionalVersionedTextDocumentIdentifier(uri=self.document.uri, version=self.document.version)
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(named, list(made))])


def folder_of(path: Path) -> Path:
    """The workspace of `<workspace>/.abey/agents/name.json`."""
    return path.parent.parent.parent


def _versioned(capabilities: lsp.ClientCapabilities) -> bool:
    edits = capabilities.workspace.workspace_edit if capabilities.workspace else None
    return bool(edits and edits.document_changes)
