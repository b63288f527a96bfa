"""How long ago something was, in words that fit a column."""

from datetime import datetime

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def age(at: str, now: float) -> str:
    """Of a time of the protocol; `now` in seconds since 1970."""
    seconds = max(0, int(now - datetime.fromisoformat(at).timestamp()))
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
