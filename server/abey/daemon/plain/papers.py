"""The documents of one session on the disk: written from its page, and removed when they are about nothing any more.

Everything here blocks; nothing here is done twice at once for one session (documents.py).
"""

import logging
from collections.abc import Sequence

from abey.daemon.plain.folder import DRAFT, Folder
from abey.daemon.plain.memos import Memo, memo_of, read_memo, read_memo_name, remove_memo, write_memo
from abey.language.sessions.arguments import first_text
from abey.language.sessions.composer import composer_of, with_composer
from abey.language.sessions.names import Name, read_name
from abey.language.sessions.page import Page, Waiting
from abey.language.sessions.rendering import shown

log = logging.getLogger(__name__)

KEPT = ".kept.md"
"""The end of the name of what was found in place of a session's document, without its composer line."""


class Papers:
    """Of the sessions whose documents were opened once."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def sessions(self) -> frozenset[str]:
        """Those of which anything is here."""
        return frozenset(found for found in map(_session_of, self._folder.names()) if found is not None)

    def sweep(self) -> None:
        """Removes what a crash left on its way into a file."""
        for name in self._folder.names():
            if name.startswith(".") and name.endswith(DRAFT):
                target = name[1 : -len(DRAFT)]
                if read_name(target) or read_memo_name(target):
                    self._folder.remove(name)

    def write(self, page: Page, sent: str = "") -> Sequence[Name]:
        """Brings the documents of a session up to date, and names those that are gone. The user's part stays as it is,
        but for what was just `sent`; what is written in the document of a call that still waits is the user's, too.
        Whatever the session's document names is there before it, unless that cannot be written: then the session's is
        all the same."""
        try:
            for one in page.waiting:
                if one.has_document:
                    self._write_call(one)
        finally:
            self._write_session(page, sent)
        return self._clear(page)

    def renew(self, waiting: Waiting) -> None:
        """The call has changed since its document was written: from now on that is about the call as it is. Arguments
        never change, so what a user has written in their place is not lost; an answer is to no other question."""
        self._write_call(waiting)
        write_memo(self._folder, waiting.name, memo_of(waiting.pending))

    def memo(self, name: Name) -> Memo | None:
        return read_memo(self._folder, name)

    def text(self, name: Name) -> str | None:
        """A document as it was saved last; None for a name that none can have."""
        return self._folder.read(str(name)) if read_name(str(name)) == name else None

    def remove(self, session_id: str) -> Sequence[Name]:
        """The session is no more."""
        names = self._names(session_id)
        for name in names:
            self._remove(name)
        self._folder.remove(f"{session_id}{KEPT}")
        return names

    def _write_session(self, page: Page, sent: str) -> None:
        text = shown(page)

        def change(before: str | None) -> str:
            composer = composer_of(before or "")
            if composer is None:
                self._keep(page.session.session_id, before)
                return with_composer(text, "")
            return with_composer(text, "" if sent and composer.message == sent else composer.text)

        self._folder.update(str(Name(page.session.session_id)), change)

    def _keep(self, session_id: str, text: str | None) -> None:
        """Without the composer line nobody can tell which part is the user's: all of it is put aside."""
        if text and text.strip():
            aside = f"{session_id}{KEPT}"
            self._folder.update(aside, lambda before: _added(before or "", text))
            log.warning("the document of session %s had no composer line; it was kept as %s", session_id, aside)

    def _write_call(self, waiting: Waiting) -> None:
        """Once for each call, and for each question that it asks; the memo goes first, so that no document is ever
        about another call than it shows."""
        memo, name = read_memo(self._folder, waiting.name), waiting.name
        fresh = memo_of(waiting.pending)
        if memo is not None and _about_the_same(memo, fresh) and self._folder.read(str(name)) is not None:
            return
        self._folder.remove(str(name))
        write_memo(self._folder, name, fresh)
        self._folder.write(str(name), first_text(waiting.pending))

    def _clear(self, page: Page) -> Sequence[Name]:
        """Removes the documents of the calls that wait no more."""
        live = {one.name for one in page.waiting if one.has_document}
        gone = [name for name in self._names(page.session.session_id) if name.call is not None and name not in live]
        for name in gone:
            self._remove(name)
        return gone

    def _names(self, session_id: str) -> list[Name]:
        """Of its documents, and of what was kept beside one that somebody removed."""
        found = self._folder.names()
        names = dict.fromkeys((*map(read_name, found), *map(read_memo_name, found)))
        return [name for name in names if name is not None and name.session_id == session_id]

    def _remove(self, name: Name) -> None:
        self._folder.remove(str(name))
        if name.call is not None:
            remove_memo(self._folder, name)


def _about_the_same(memo: Memo, fresh: Memo) -> bool:
    """A call may be shown anew, and what is written in its document stays; an answer is to one question."""
    return memo == fresh if fresh.asks else (memo.token, memo.asks) == (fresh.token, fresh.asks)


def _session_of(file: str) -> str | None:
    """The session that a file of this name is about; None for what is none of ours."""
    kept = Name(file.removesuffix(KEPT)) if file.endswith(KEPT) else None
    name = read_name(str(kept)) if kept else read_name(file) or read_memo_name(file)
    return name.session_id if name else None


def _added(before: str, text: str) -> str:
    """Both, the newer one last; once what is in it already."""
    return before if text.strip() in before else f"{before.rstrip()}\n\n{text}".lstrip("\n")
