"""What a session is called: as at its start, as an input says, or as it was renamed (protocol.md, Session)."""

from collections.abc import Sequence

from abey.core.session import Session
from abey.protocol import journal as j
from abey.protocol.transcript import Part, TextPart
from abey.shared.values import replace

TITLE_LENGTH = 80


def title_of(parts: Sequence[Part]) -> str:
    """The first line of an input, as far as it fits; empty where it says nothing in words."""
    text = next((part.text for part in parts if isinstance(part, TextPart)), "").strip()
    line = text.splitlines()[0].rstrip() if text else ""
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1]}…"


def titled(session: Session, data: j.RecordData) -> Session:
    """The session with the title that the record gives it. An input gives one to a session that has only its agent's
    slug, and was neither renamed nor called so by an input."""
    match data:
        case j.Updated(title=str(title)):
            return replace(session, title=title, titled=True)
        case j.Input(repairs=None, parts=parts) | j.InputQueued(parts=parts):
            unnamed = not session.titled and session.title == session.created.agent
            title = title_of(parts) if unnamed else ""
            return replace(session, title=title, titled=True) if title else session
        case _:
            return session


def may_have_titled(session: Session, data: j.RecordData) -> bool:
    """Whether the session, as it is after this record, may have its title from it."""
    match data:
        case j.Updated(title=str()):
            return True
        case j.Input(parts=parts) | j.InputQueued(parts=parts):
            return session.created.title == session.created.agent and session.title == title_of(parts)
        case _:
            return False
