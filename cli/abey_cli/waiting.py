"""Waits for a session to answer or to yield, and drives nothing."""

import time
from collections.abc import Callable
from typing import Any

from abey_cli.context import Context
from abey_cli.failures import Failure, timed_out
from abey_cli.families import children_at_work
from abey_cli.way_on import way_on

POLL_MS = 30_000
CHILDREN_POLL_MS = 500
"""The same where children are looked at: what happens to them happens in other sessions."""
PAUSE_SECONDS = 0.2
"""Before the next look where the daemon no longer has the events after the last one."""
LOOK_SECONDS = 2.0
"""For the last look at a session that was waited for in vain."""
BEYOND = (1 << 53) - 1


def wait_for(context: Context, session_id: str, until: str) -> Any:
    """The session once its turn has ended or, with `yield`, only somebody else's decision can move it.

    A session that nobody drives has neither ended nor yielded: this waits until somebody does. Raises Failure
    `timeout` after --timeout.
    """
    return wait_until(
        context,
        session_id,
        lambda session: is_over(session) or (until == "yield" and _yielded(context, session)),
    )


def wait_until(context: Context, session_id: str, there: Callable[[Any], bool]) -> Any:
    """The session once it is `there`. Raises Failure `timeout` after --timeout."""
    try:
        return _waited(context, session_id, there)
    except Failure as failure:
        if failure.kind != "timeout":
            raise
        raise timed_out(_why_not_yet(context, session_id)) from failure


def _why_not_yet(context: Context, session_id: str) -> str:
    """What keeps the session from its end: whoever drives it, or that nobody does."""
    context.client.deadline = time.monotonic() + LOOK_SECONDS
    try:
        session = context.request("agents/get", sessionId=session_id)["session"]
    except Failure:
        return "--timeout is over; what goes on in the session goes on"
    words = way_on(session)
    if words is None:
        return "--timeout is over; the session goes on"
    why = "calls wait for an answer" if session["pending"] else "nobody drives the session"
    return f"--timeout is over; {why}; {words}"


def _waited(context: Context, session_id: str, there: Callable[[Any], bool]) -> Any:
    after = _latest(context, session_id)
    while True:
        session = context.request("agents/get", sessionId=session_id)["session"]
        with_children = any(call.get("childId") for call in session["pending"])
        if there(session):
            if not with_children:
                return session
            # its reasons are those of a moment at which its children were not looked at yet
            now = context.request("agents/get", sessionId=session_id)["session"]
            if now["revision"] == session["revision"]:
                return now
            continue
        after = _next(context, session_id, after, CHILDREN_POLL_MS if with_children else POLL_MS)


def is_over(session: Any) -> bool:
    """Whether its turn has ended, or it has."""
    if session["state"] == "stopped":
        return True
    return session["state"] == "completed" and session.get("turn") is not None and session["activity"] == "idle"


def _yielded(context: Context, session: Any) -> bool:
    if session["activity"] != "idle":
        return False
    if session.get("paused") is not None:
        return True
    calls = session["pending"]
    runs = any(call["kind"] == "running" and not call.get("childId") for call in calls)
    return session["state"] == "partialUserTurn" and bool(calls) and not runs and not children_at_work(context, session)


def _latest(context: Context, session_id: str) -> int:
    """The number of the last event: what a daemon that is asked for a later one names."""
    page = context.request("agents/events", sessionId=session_id, after=BEYOND, limit=1)
    return int(page["nextSeq"]) - 1


def _next(context: Context, session_id: str, after: int, wait_ms: int) -> int:
    """Returns when something happened after `after`, or after `wait_ms`; the number of the last event then."""
    page = context.request("agents/events", sessionId=session_id, after=after, limit=1000, waitMs=wait_ms)
    if page["status"] == "expired":
        time.sleep(PAUSE_SECONDS)
    return int(page["nextSeq"]) - 1
