"""Pages of a list that is in order: as much of it as fits, and a cursor that says how many items are before it."""

from collections.abc import Iterable
from typing import TypeVar

from abey.core.abridging import measured_view
from abey.errors import InvalidArguments
from abey.protocol.base import Wire
from abey.rpc.dispatch import PAGE_BYTES

W = TypeVar("W", bound=Wire)


def fitting_views(views: Iterable[W], room: int = PAGE_BYTES) -> tuple[W, ...]:
    """The first views, abridged, that fit into one reply; always one, so that a reader gets on."""
    page: list[W] = []
    for view in views:
        shown, size = measured_view(view)
        room -= size
        if room < 0 and page:
            break
        page.append(shown)
    return tuple(page)


def start_of(cursor: str | None) -> int:
    """Where a page begins. Raises InvalidArguments for a cursor that is none of ours."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise InvalidArguments(f"cursor {cursor!r} is not one that was given out", errors=["cursor is unknown"])
    return int(cursor or "0")


def cursor_at(end: int, count: int) -> str | None:
    """The cursor after a page that ends there, None after the last one."""
    return str(end) if end < count else None
