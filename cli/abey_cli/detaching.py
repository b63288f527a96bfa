"""Ctrl-C while a session runs: the first one detaches, a second one cancels the turn (command-line.md)."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from abey_cli.context import Context
from abey_cli.failures import Failure

SECOND_SECONDS = 1.5
CANCEL_SECONDS = 15.0


@contextmanager
def detachable(context: Context, session_id: str) -> Iterator[None]:
    """Leaves the session running at a Ctrl-C and says how to come back; KeyboardInterrupt goes on from here."""
    try:
        yield
    except KeyboardInterrupt:
        try:
            _say_how_to_come_back(context, session_id)
            time.sleep(SECOND_SECONDS)
        except KeyboardInterrupt:
            _cancel(context, session_id)
        raise


def _say_how_to_come_back(context: Context, session_id: str) -> None:
    back = "resume" if context.transport == "stdio" else "wait"
    context.console.progress("")
    context.console.err(f"abey: detached; come back with `abey session {back} {session_id}`")
    context.console.note("Ctrl-C again now cancels the turn")


def _cancel(context: Context, session_id: str) -> None:
    context.client.deadline = time.monotonic() + CANCEL_SECONDS
    try:
        context.request("agents/cancel", sessionId=session_id)
    except Failure as failure:
        context.console.err(f"abey: the turn could not be cancelled: {failure.message}")
    else:
        context.console.err("abey: the turn was cancelled")
