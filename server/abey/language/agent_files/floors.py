"""`policy.json` in an editor (docs/agent-file.md, Floors): what is wrong with it, as it is typed."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from lsprotocol import types as lsp

from abey.core.policy import NO_LAWS
from abey.language.agent_files import diagnostics as said
from abey.language.agent_files.view import View
from abey.language.language import Asker, Document
from abey.language.turns import Turns
from abey.runtime.agents.aside import Aside
from abey.runtime.agents.files import MAX_BYTES
from abey.runtime.agents.floors import is_floor, load_policy
from abey.shared.workspace import MARK


class FloorLanguage:
    """A Language. `trusts` and `is_in_workspace` are those of an Outlook: of a workspace that is not trusted nothing is
    read, as with agent files."""

    def __init__(
        self,
        config_dir: Path,
        trusts: Callable[[Path, Sequence[Path]], bool],
        is_in_workspace: Callable[[Path], bool],
        aside: Aside,
    ) -> None:
        self._config_dir = config_dir
        self._trusts = trusts
        self._is_in_workspace = is_in_workspace
        self._turns = Turns(aside)

    def speaks(self, path: Path) -> bool:
        return is_floor(path, self._config_dir)

    async def diagnostics(self, document: Document, asker: Asker) -> Sequence[lsp.Diagnostic]:
        if len(document.text.source) > MAX_BYTES:
            return [said.too_large(document)]
        return await self._turns.run(asker.client.id, partial(self._found, document, asker))

    async def completion(self, document: Document, offset: int, asker: Asker) -> Sequence[lsp.CompletionItem]:
        return ()

    async def hover(self, document: Document, offset: int, asker: Asker) -> lsp.Hover | None:
        return None

    async def code_actions(self, document: Document, start: int, end: int, asker: Asker) -> Sequence[lsp.CodeAction]:
        return ()

    async def code_lenses(self, document: Document, asker: Asker) -> Sequence[lsp.CodeLens]:
        return ()

    async def symbols(self, document: Document, asker: Asker) -> Sequence[lsp.DocumentSymbol]:
        return ()

    def _found(self, document: Document, asker: Asker) -> Sequence[lsp.Diagnostic]:
        if document.path.parent.name == MARK and not self._trusts(document.path, asker.trusted):
            folder = str(document.path.parent.parent)
            return [said.untrusted(document, folder)] if self._is_in_workspace(document.path) else []
        view = View(document, asker, lambda _: (), NO_LAWS)
        _policy, loaded = load_policy(document.text.source)
        return [said.diagnostic(view, found) for found in loaded.findings[: said.MOST]]
