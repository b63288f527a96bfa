"""Prints where a session is, and says with which exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from abey.shared.kinds import EXIT_ERROR, EXIT_NO_ANSWER, EXIT_OK, EXIT_YIELDED
from abey_cli.context import Context
from abey_cli.failures import Failure
from abey_cli.render import last_batch, missing_lines, state_lines
from abey_cli.way_on import way_on

if TYPE_CHECKING:
    from abey_cli.protocol_types import ItemCall, Session


def show_state(context: Context, session: Session) -> None:
    """The state block, and after an ended turn its final text."""
    if session["configState"] == "stale":
        problem = session.get("configProblem", "the agent's file is broken, gone or no longer trusted")
        context.console.note(f"the agent's last good version is in use: {problem}")
    for line in state_lines(session, _batch(context, session), context.console.token):
        context.console.out(line)
    if session["state"] == "completed" and session.get("output") is not None:
        context.console.text(session["output"])


def show_end(context: Context, session: Session) -> None:
    """What `run`, `resume` and `wait` print: the final text alone, or after a yield the state block."""
    show_missing(context, session)
    if turn_end(session) == "answered":
        context.console.text(session.get("output", ""))
        return
    if session["state"] == "completed":
        for line in state_lines(session, (), context.console.token):
            context.console.err(line)
        show_way_on(context, session)
        return
    show_state(context, session)
    show_way_on(context, session)


def show_missing(context: Context, session: Session) -> None:
    """On stderr, the tools that the session went on without."""
    for line in missing_lines(session) if not context.console.json else ():
        context.console.note(line)


def show_way_on(context: Context, session: Session) -> None:
    """The next command, on stderr, of a session that goes on only with one."""
    if (words := way_on(session)) is not None and not context.console.json:
        context.console.note(words)


def show_nothing_done(context: Context, session: Session) -> None:
    """On stderr, of a session whose answer was there before: what is printed is no news."""
    if turn_end(session) == "answered":
        another = f"`abey session send {session['sessionId']} TEXT` gives it another input"
        context.console.note(f"nothing was done: the last turn was answered before; {another}")


def turn_end(session: Session) -> str | None:
    """How the last turn ended; None while it runs, or where there was none."""
    turn = session.get("turn")
    return turn.get("end", "answered") if turn is not None and session["state"] == "completed" else None


def step_code(outcome: str, session: Session) -> int:
    """The exit code of a step."""
    if outcome == "interrupted":
        return EXIT_ERROR
    if outcome == "waiting":
        return EXIT_YIELDED
    if session["state"] == "stopped":
        return EXIT_NO_ANSWER
    return EXIT_OK if turn_end(session) in (None, "answered") else EXIT_NO_ANSWER


def run_code(outcome: str, session: Session) -> int:
    """The exit code of a run: a turn that goes on was yielded, whoever or whatever stopped the run."""
    if outcome == "started":
        return EXIT_OK
    if outcome == "interrupted":
        return EXIT_ERROR
    if session["state"] == "stopped" or outcome == "cancelled":
        return EXIT_NO_ANSWER
    if session["state"] == "completed":
        return EXIT_OK if turn_end(session) in (None, "answered") else EXIT_NO_ANSWER
    return EXIT_YIELDED


@contextmanager
def naming_the_session(context: Context) -> Iterator[None]:
    """A model call that failed leaves a session behind: its id is still printed (command-line.md)."""
    try:
        yield
    except Failure as failure:
        named: Any = failure.data.get("sessionId")
        of_a_model = (failure.kind or "").startswith("model/")
        if of_a_model and isinstance(named, str) and not context.console.json:
            context.console.out(named if context.console.quiet else f"session-id: {named}")
        raise


def _batch(context: Context, session: Session) -> list[ItemCall]:
    if session["state"] not in ("llmTurn", "partialUserTurn"):
        return []
    return last_batch(context.request("agents/transcript", sessionId=session["sessionId"])["items"])
