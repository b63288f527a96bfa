"""What a user wrote below the composer line: read from the open document, and taken away once it was sent."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakValueDictionary

from lsprotocol import types as lsp

from abey.daemon.editors.desk import Desk
from abey.daemon.plain.documents import Documents
from abey.daemon.plain.telling import Errands, tell
from abey.errors import AbeyError, InvalidArguments, InvalidState
from abey.language.language import Document
from abey.language.sessions.composer import COMPOSER, composer_of
from abey.language.sessions.names import Name
from abey.rpc.faults import Unanswered
from abey.rpc.peer import Peer
from abey.rpc.structuring import unstructured

NOT_EMPTIED = "it was sent; empty the part below the composer line yourself, so that it is not sent again"
SENT_BEFORE = "what is below the composer line was sent already; read the document again from the disk"
NOT_TEXT = "what is below the composer line holds what is no text in UTF-8"

T = TypeVar("T")

_NO_TEXT = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Draft:
    """The document of a session as its user has it: `open` in the editor, else as it was saved."""

    session_id: str
    open: Document | None


class Composing:
    """Of all plain clients."""

    def __init__(self, desk: Desk, documents: Documents, errands: Errands) -> None:
        self._desk = desk
        self._documents = documents
        self._errands = errands
        self._spent: dict[str, dict[str, Sequence[Document]]] = {}
        """Documents of which what they say was sent, by client and session."""
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def left(self, peer: Peer) -> None:
        self._spent.pop(peer.id, None)

    def draft(self, peer: Peer, session_id: str) -> Draft:
        """As it is at this moment; what the user types from now on is not in it. Raises InvalidState."""
        return Draft(session_id, self._desk.document(peer, self._documents.path(Name(session_id))))

    async def send(self, peer: Peer, draft: Draft, deliver: Callable[[str], Awaitable[T]]) -> T | None:
        """Delivers what the user wrote, to the end and once: whoever sends at the same moment comes after. None where
        nothing is written. Raises InvalidState where nobody can tell, and for what was sent before."""
        return await self._errands.whole(self._send(peer, draft, deliver))

    async def _send(self, peer: Peer, draft: Draft, deliver: Callable[[str], Awaitable[T]]) -> T | None:
        async with self._turns.setdefault(draft.session_id, asyncio.Lock()):
            saved = await self._documents.text(Name(draft.session_id))
            message = self._message(peer, draft, saved or "")
            if not message:
                return None
            result = await deliver(message)
            self._spend(peer, draft, message, saved or "")
            await self._empty(peer, draft.session_id, message, saved)
        return result

    def _message(self, peer: Peer, draft: Draft, saved: str) -> str:
        if draft.open is not None and draft.open in self._spent.get(peer.id, {}).get(draft.session_id, ()):
            raise InvalidState(SENT_BEFORE, state="composer")
        text = draft.open.text.source if draft.open else saved
        composer = composer_of(text)
        if composer is None and text:
            raise InvalidState(f"the document has no composer line; put back the line: {COMPOSER}", state="composer")
        message = composer.message if composer else ""
        if found := _NO_TEXT.search(message):
            line = message.count("\n", 0, found.start()) + 1
            raise InvalidArguments(f"{NOT_TEXT}; correct line {line} of it, and try again", errors=[NOT_TEXT])
        return message

    def _spend(self, peer: Peer, draft: Draft, message: str, saved: str) -> None:
        """Marks what the sender has open, and where others have what was saved and sent."""
        session_id, composer = draft.session_id, composer_of(saved)
        was_saved = composer is not None and composer.message == message
        spent = {peer.id: [draft.open] if draft.open else []}
        for other, document in self._desk.shown(self._documents.path(Name(session_id))):
            found = composer_of(document.text.source)
            if found is not None and found.message == message and (was_saved or other is peer):
                spent.setdefault(other.id, []).append(document)
        for peer_id, documents in spent.items():
            self._spent.setdefault(peer_id, {})[session_id] = documents

    async def _empty(self, peer: Peer, session_id: str, message: str, saved: str | None) -> None:
        """Takes away what was sent, and nothing that was typed since. Where the editor has just what was saved it reads
        the file again by itself; an edit would be a change of its own, and keep it from that."""
        try:
            await self._documents.open(session_id, message)
        except AbeyError as error:
            tell(peer, f"{NOT_EMPTIED}: {error.message}", lsp.MessageType.Warning)
        shown = self._desk.shown(self._documents.path(Name(session_id)))
        own = next((document for other, document in shown if other is peer), None)
        if own and own.text.source != saved and (edit := _emptying(peer, own, message)) is not None:
            self._errands.run(_apply(peer, edit))


def _emptying(peer: Peer, document: Document, message: str) -> lsp.WorkspaceEdit | None:
    """None where the message does not stand there any more, or the client takes no edits."""
    workspace, text = peer.editor.capabilities.workspace, document.text
    composer = composer_of(text.source)
    if workspace is None or not workspace.apply_edit or composer is None or not composer.message.startswith(message):
        return None
    start = text.source.index(message, composer.start)
    edit = lsp.TextEdit(text.range(start, start + len(message)), "")
    if workspace.workspace_edit and workspace.workspace_edit.document_changes:
        identifier = lsp.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(identifier, [edit])])
    return lsp.WorkspaceEdit(changes={document.uri: [edit]})


async def _apply(peer: Peer, edit: lsp.WorkspaceEdit) -> None:
    params = unstructured(lsp.ApplyWorkspaceEditParams(edit, "Empty the composer"))
    try:
        answer = await peer.ask(lsp.WORKSPACE_APPLY_EDIT, params)
    except Unanswered:
        answer = None
    if not isinstance(answer, dict) or answer.get("applied") is not True:
        tell(peer, NOT_EMPTIED, lsp.MessageType.Warning)
