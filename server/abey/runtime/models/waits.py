"""How long a provider asks to wait: Retry-After in all its forms (RFC 9110 10.2.3)."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime

MOST_MILLIS = 24 * 3600 * 1000
"""More than that says nothing."""


def retry_after_ms(headers: Mapping[str, str], now: datetime) -> int | None:
    """Milliseconds to wait, from lower-case `headers`; None where they ask for nothing that makes sense.

    `retry-after-ms` is the finer one, and counts unless it is 0 beside a `retry-after`; seconds may have a fraction; a
    date counts from `now`, and one that is past means at once.
    """
    seconds = headers.get("retry-after", "")
    asked = (_number(headers.get("retry-after-ms", ""), 1), _number(seconds, 1000), _until(seconds, now))
    found = [millis for millis in asked if millis is not None]
    return next((millis for millis in found if millis > 0), found[0] if found else None)


def _number(text: str, unit: int) -> int | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return min(math.ceil(value * unit), MOST_MILLIS) if math.isfinite(value) and value >= 0 else None


def _until(text: str, now: datetime) -> int | None:
    from email.utils import parsedate_to_datetime  # late: slow, and only for failures

    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0, min(math.ceil((aware - now).total_seconds() * 1000), MOST_MILLIS))
