"""Agent files in an editor (docs/agent-file.md, In an editor): the language that answers for them."""

import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from lsprotocol import types as lsp

from abey.core.policy import Laws
from abey.language.agent_files import diagnostics as said
from abey.language.agent_files.actions import actions
from abey.language.agent_files.completion import completion
from abey.language.agent_files.hover import hover
from abey.language.agent_files.starting import lens, start_action, trust_action
from abey.language.agent_files.symbols import symbols
from abey.language.agent_files.view import View, folder_of
from abey.language.language import Asker, Document
from abey.language.turns import Turns
from abey.protocol.config import AgentConfig
from abey.runtime.agents.aside import Aside
from abey.runtime.agents.files import MAX_BYTES
from abey.runtime.agents.findings import Fact

T = TypeVar("T")

_WORKSPACE = (".abey", "agents")


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the daemon knows beyond the text.

    `trusts` says whether the workspace around a file is trusted, by the user or by a client that trusts these folders;
    `is_in_workspace` whether there is one: what is in none is never trusted.
    `key_facts` says whether a client with this environment could ask the model; it may read files and wait.
    `pending_of` counts the calls that wait in sessions of an agent file; `commands` are those that can be executed.
    `laws_of` are those that have a say in the calls of sessions that such a client starts with an agent file.
    What reads files does so in the threads of `aside`.
    """

    trusts: Callable[[Path, Sequence[Path]], bool]
    is_in_workspace: Callable[[Path], bool]
    key_facts: Callable[[Mapping[str, str] | None, AgentConfig], Iterable[Fact]]
    pending_of: Callable[[Path], Awaitable[int]]
    commands: Callable[[], Collection[str]]
    laws_of: Callable[[Path, Sequence[Path]], Laws]
    aside: Aside


class AgentFileLanguage:
    """A Language. Of a workspace that is not trusted nothing is read, the text in the editor neither: it may have come
    out of it (security.md, Workspaces). Nothing here starts a tool."""

    def __init__(self, config_dir: Path, outlook: Outlook) -> None:
        self._home = config_dir / "agents"
        self._own = {self._home, Path(os.path.realpath(self._home))}
        self._outlook = outlook
        self._turns = Turns(outlook.aside)

    def speaks(self, path: Path) -> bool:
        return path.suffix == ".json" and (path.parent in self._own or path.parts[-3:-1] == _WORKSPACE)

    async def diagnostics(self, document: Document, asker: Asker) -> Sequence[lsp.Diagnostic]:
        if _is_too_large(document):
            return [said.too_large(document)]
        return await self._read(document, asker, said.diagnostics, lambda: [self._untrusted(document)])

    async def completion(self, document: Document, offset: int, asker: Asker) -> Sequence[lsp.CompletionItem]:
        return await self._read(document, asker, partial(_at, completion, offset), list)

    async def hover(self, document: Document, offset: int, asker: Asker) -> lsp.Hover | None:
        return await self._read(document, asker, partial(_at, hover, offset), lambda: None)

    async def code_actions(self, document: Document, start: int, end: int, asker: Asker) -> Sequence[lsp.CodeAction]:
        return await self._read(
            document,
            asker,
            lambda view: [*actions(view, start, end), start_action(view)],
            partial(self._trusting, document),
        )

    async def code_lenses(self, document: Document, asker: Asker) -> Sequence[lsp.CodeLens]:
        pending = await self._outlook.pending_of(document.path)
        return await self._read(document, asker, lambda view: lens(view, pending), list)

    async def symbols(self, document: Document, asker: Asker) -> Sequence[lsp.DocumentSymbol]:
        return await self._read(document, asker, symbols, list)

    def _untrusted(self, document: Document) -> lsp.Diagnostic:
        folder = str(folder_of(document.path))
        if self._outlook.is_in_workspace(document.path):
            return said.untrusted(document, folder)
        return said.misplaced(document, folder, str(self._home))

    def _trusting(self, document: Document) -> list[lsp.CodeAction]:
        if not self._outlook.is_in_workspace(document.path):
            return []
        return trust_action(str(folder_of(document.path)), self._outlook.commands(), self._untrusted(document))

    async def _read(self, document: Document, asker: Asker, answer: Callable[[View], T], unread: Callable[[], T]) -> T:
        """What `answer` finds in the document, or `unread`, if that may not be read. Keys and folders are looked at, so
        not in the event loop."""
        return await self._turns.run(asker.client.id, self._answered, document, asker, answer, unread)

    def _answered(self, document: Document, asker: Asker, answer: Callable[[View], T], unread: Callable[[], T]) -> T:
        if _is_too_large(document) or not self._may_read(document.path, asker):
            return unread()
        laws = self._outlook.laws_of(document.path, asker.trusted)
        return answer(View(document, asker, partial(self._outlook.key_facts, asker.env), laws))

    def _may_read(self, path: Path, asker: Asker) -> bool:
        return path.parent in self._own or self._outlook.trusts(path, asker.trusted)


def _at(feature: Callable[[View, int], T], offset: int, view: View) -> T:
    return feature(view, offset)


def _is_too_large(document: Document) -> bool:
    return len(document.text.source) > MAX_BYTES
