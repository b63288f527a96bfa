"""Puts together what a plain editor is served besides the languages of its documents, and the documents themselves."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from abey.core.machine import Machine
from abey.daemon.editors.commands import Command
from abey.daemon.editors.desk import Desk
from abey.daemon.editors.progress import Progresses
from abey.daemon.plain.answering import Answering
from abey.daemon.plain.asking import Asking
from abey.daemon.plain.commands import Commands
from abey.daemon.plain.composing import Composing
from abey.daemon.plain.documents import Documents
from abey.daemon.plain.news import News
from abey.daemon.plain.opening import Opening
from abey.daemon.plain.pages import Pages
from abey.daemon.plain.parts import Handlers
from abey.daemon.plain.targets import document_name
from abey.daemon.plain.telling import Errands
from abey.daemon.plain.working import Working
from abey.daemon.services import Services
from abey.rpc.dispatch import Binding
from abey.rpc.peer import Peer


class Plain:
    """The commands, the questions, the news of documents. It hears of every session that changes."""

    def __init__(
        self,
        services: Services,
        bindings: Mapping[str, Binding[Any, Any]],
        pages: Pages,
        desk: Desk,
        progresses: Progresses,
        documents: Documents,
    ) -> None:
        self._folder = pages.folder
        self._errands = errands = Errands()
        handlers = Handlers(services, bindings, pages)
        self._documents = documents
        self._working = working = Working(progresses, errands, documents.settle)
        self._composing = composing = Composing(desk, documents, errands)
        opening = Opening(handlers, desk, documents, working, errands)
        answering = Answering(handlers, desk, documents, working)
        self._asking = Asking(handlers, opening, errands)
        self._news = News(desk, pages, errands)
        documents.on_gone, documents.on_written = self._news.gone, self._news.written
        desk.on_saved = self._saved
        self.commands: Mapping[str, Command] = {
            **Commands(handlers, composing, working).table,
            **opening.table,
            "abey.complete": answering.complete,
        }

    async def close(self) -> None:
        """Ends the questions."""
        await self._errands.close()

    def joined(self, peer: Peer) -> None:
        self._asking.joined(peer)
        self._news.joined(peer)

    def left(self, peer: Peer) -> None:
        self._composing.left(peer)
        self._asking.left(peer)
        self._news.left(peer)

    def changed(self, machine: Machine) -> None:
        self._working.changed(machine)
        self._asking.changed(machine)

    def _saved(self, path: Path) -> None:
        """Whoever saves over what the daemon wrote meanwhile has the session as it was; the file has it as it is."""
        if (name := document_name(str(path), self._folder)) is not None:
            self._documents.changed(name.session_id)

    def gone(self, machine: Machine) -> None:
        self._asking.gone(machine.session.id)
