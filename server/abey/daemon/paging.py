"""Pages of a list that is in order: a cursor says how many items are before it."""

from abey.errors import InvalidArguments


def start_of(cursor: str | None) -> int:
    """Where a page begins. Raises InvalidArguments for a cursor that is none of ours."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise InvalidArguments(f"cursor {cursor!r} is not one that was given out", errors=["cursor is unknown"])
    return int(cursor or "0")


def cursor_at(end: int, count: int) -> str | None:
    """The cursor after a page that ends there, None after the last one."""
    return str(end) if end < count else None
