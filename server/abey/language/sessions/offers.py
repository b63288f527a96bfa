"""What can be done with a session or a call from its document: each a command, shown as a code action and as a lens."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lsprotocol import types as lsp

from abey.language.sessions.arguments import offered, title
from abey.language.sessions.harmless import harmless_line
from abey.language.sessions.page import Page, Waiting

SEND = "abey.send"
STEP = "abey.step"
RUN = "abey.run"
CANCEL = "abey.cancel"
OPEN = "abey.open"
COMPLETE = "abey.complete"

WAITS_TOLD = 5
"""Calls that one message names."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A command with its one argument."""

    title: str
    command: str
    argument: Any

    def action(self) -> lsp.CodeAction:
        return lsp.CodeAction(title=self.title, command=self._command())

    def lens(self, range: lsp.Range) -> lsp.CodeLens:
        return lsp.CodeLens(range=range, command=self._command())

    def _command(self) -> lsp.Command:
        return lsp.Command(title=self.title, command=self.command, arguments=[self.argument])


def session_offers(page: Page, uri: str, message: str) -> Iterator[Offer]:
    """Of a session whose document has `message` below its composer line: what would do something now."""
    session = page.session
    if session.state == "stopped" or session.damaged is not None:
        return
    if message:
        yield Offer("Send", SEND, uri)
    if session.activity == "idle" and (session.state != "completed" or message or session.queued):
        yield Offer("Step", STEP, uri)
        yield Offer("Run", RUN, uri)
    if session.turn is not None and session.turn.end is None:
        yield Offer("Cancel", CANCEL, uri)
    for one in page.waiting:
        if one.has_document:
            yield open_offer(one)


def open_offer(waiting: Waiting) -> Offer:
    argument = {"sessionId": waiting.pending.session_id, "call": waiting.n}
    return Offer(f"Open arguments of call {waiting.n}", OPEN, argument)


def why_unmoved(page: Page) -> str:
    """Why a step or a run of the session does nothing, and the way out."""
    session = page.session
    if session.paused is not None:
        reason = f" ({harmless_line(session.paused.reason, 200)})" if session.paused.reason else ""
        return f"the session is paused{reason}; `abey session resume {session.session_id}` ends that"
    if session.state == "completed":
        return "the session waits for a message; write it below the composer line, and run the code action Send"
    waits = [_way_on(one) for one in page.waiting]
    more = [f"and {len(waits) - WAITS_TOLD} more"] if len(waits) > WAITS_TOLD else []
    return "; ".join((*waits[:WAITS_TOLD], *more)) or f"the session is {session.state}, {session.activity}"


def _way_on(waiting: Waiting) -> str:
    call = f"call {waiting.n} ({harmless_line(waiting.pending.tool, 60)})"
    if not waiting.has_document:
        return f"{call} runs"
    return f"{call} waits ({waiting.pending.kind}): run the code action {open_offer(waiting).title}"


def call_offers(waiting: Waiting, uri: str) -> Iterator[Offer]:
    """Of a call that waits, in its document."""
    for decision in offered(waiting.pending):
        yield Offer(title(waiting.pending, decision), COMPLETE, {"document": uri, "decision": decision})
