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


@contextmanager
def asking(context: Context, session_id: str) -> Iterator[None]:
    """At a Ctrl-C while a person is asked, says how to be asked again; KeyboardInterrupt goes on from here."""
    try:
        yield
    except KeyboardInterrupt:
        context.console.err(f"\nabey: `abey run --session {session_id}` asks again about what still waits")
        raise


@contextmanager
def resumable(context: Context, session_id: str) -> Iterator[None]:
    """Where the daemon goes while it drives, what it had recorded is there: says how to go on."""
    _ = context.client  # one that cannot be reached has driven nothing
    try:
        yield
    except Failure as failure:
        if failure.kind not in ("daemon/unreachable", "daemon/gone"):
            raise
        way_on = f"`abey session resume {session_id}` goes on"
        raise Failure(f"{failure.message}; {way_on}", failure.code, failure.data) from failure


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
