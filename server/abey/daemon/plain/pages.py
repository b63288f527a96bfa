"""The pages of sessions (language/sessions/page.py), made of what is in memory or in the journal."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from abey.core.session import AnswerEntry, Entry, Session, Turn
from abey.core.views import turn_items
from abey.daemon.services import Services
from abey.errors import AbeyError
from abey.language.sessions.page import Before, Page
from abey.protocol.session import Session as SessionView

ITEMS_SHOWN = 400
"""Of a longer transcript the end is shown, in whole answers."""


class Pages:
    """Of all sessions; `folder` is where their documents are."""

    def __init__(self, services: Services, folder: Path) -> None:
        self._services = services
        self.folder = folder

    async def look(self, session_id: str) -> Page | None:
        """A `Look` (language/sessions/page.py)."""
        try:
            return await self.read(session_id)
        except AbeyError:
            return None

    async def read(self, session_id: str) -> Page:
        """The page as it is now; a damaged session as far as it can be read. Raises UnknownSession, SessionDamaged."""
        machine, damage = await self._services.look(session_id)
        view = self._services.show_machine(machine, damage)
        return await asyncio.to_thread(page_of, view, self._services.now(machine).session, self.folder)


def page_of(view: SessionView, session: Session, folder: Path, most: int = ITEMS_SHOWN) -> Page:
    """The end of the transcript with about `most` items; the last answer is always whole."""
    shown, before = _end(session.turns, most)
    items = [item for turn in shown for item in turn_items(turn)]
    return Page(view, items, folder, before)


def _end(turns: Sequence[Turn], most: int) -> tuple[list[Turn], Before]:
    """The last turns, the first of them perhaps without its beginning, and what comes before them."""
    shown: list[Turn] = []
    room, items, calls = most, 0, 0
    for turn in reversed(turns):
        kept: list[Entry] = []
        for entry in reversed(turn.entries):
            size = _calls(entry) + (len(entry.blocks) if isinstance(entry, AnswerEntry) else 1)
            if room > 0:
                kept.append(entry)
                room -= size
            else:
                items += size
                calls += _calls(entry)
        if kept:
            shown.append(replace(turn, entries=tuple(reversed(kept))))
    shown.reverse()
    first = shown[0].turn_id if shown else None
    earlier = next((index for index, turn in enumerate(turns) if turn.turn_id == first), len(turns))
    return shown, Before(items=items, turns=earlier, calls=calls)


def _calls(entry: Entry) -> int:
    return len(entry.calls) if isinstance(entry, AnswerEntry) else 0
