"""The end of the process, whatever code of others still does."""

import gc
import logging
import os
import threading
import time
from collections.abc import Sequence
from typing import NoReturn

log = logging.getLogger(__name__)

END_SECONDS = 2.0


def leave_threads(code: int) -> None:
    """Waits for the threads that would hold up the end; ends the process with `code` where one takes too long. Some end
    with the loop: this is for after it."""
    until = time.monotonic() + END_SECONDS
    for one in _threads():
        one.join(max(0.0, until - time.monotonic()))
    if left := [*map(repr, _threads())]:
        leave_at_once(code, left)
    gc.freeze()  # else the interpreter looks through all that is in memory before it ends
    gc.disable()


def leave_at_once(code: int, stuck: Sequence[str]) -> NoReturn:
    """Although this does not end."""
    log.error("ends although something does not: %s", ", ".join(sorted(stuck)))
    logging.shutdown()
    os._exit(code)


def _threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if not one.daemon and one is not threading.main_thread()]
