"""Code of extensions: it has its time to end, and nobody waits for ever for what ignores that it was cancelled."""

import asyncio
import logging
from collections.abc import Awaitable
from typing import TypeVar

log = logging.getLogger(__name__)

GRACE_SECONDS = 5.0

T = TypeVar("T")


async def in_time(work: Awaitable[T], what: str) -> T:
    """What `work` gives. Cancelled, it has GRACE_SECONDS to end; after that it is left alone, and what comes of it is
    nobody's. `what` names it in the log."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(_retrieved)
        await asyncio.wait({task}, timeout=GRACE_SECONDS)
        if not task.done():
            log.error("%s does not end within %g s, and is left alone", what, GRACE_SECONDS)
            raise
    return task.result()


def _retrieved(task: "asyncio.Future[T]") -> None:
    if not task.cancelled():
        task.exception()
