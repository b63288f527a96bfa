"""While a command waits for a session: what goes on there stands at the bottom of the terminal, and what has ended is
said for good above it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from abey.shared.escaping import escape, escape_line
from abey_cli.connection import Message
from abey_cli.console import ID_SHOWN
from abey_cli.context import Context
from abey_cli.events import event_lines
from abey_cli.following import Following
from abey_cli.live_view import View, seen, view_of
from abey_cli.render import FINAL
from abey_cli.thinking import as_thinking_goes
from abey_cli.transcript import TEXT_SHOWN, decision_lines, output_text, transcript_lines

LEAST_SECONDS = 0.05
"""Between two frames."""
LINES_SAID = 8
"""Of the output of one call: of a longer one the last."""
SAID = frozenset({"note", "pending/resolved", "pending/expired", "tripwire", "stale-result", "record-failed"})
"""Events that are told as with --events."""


@contextmanager
def live(context: Context, session_id: str) -> Iterator[None]:
    """Shows meanwhile what happens to the session, where a person looks. Raises Failure where it cannot be attached."""
    if not is_watched(context) or getattr(context.options, "events", False):
        yield
        return
    client = context.client
    before = client.on_message, client.on_slow
    one = Live(context)
    following = Following(context, session_id, as_thinking_goes(context, one.tell), one.begin, deltas=True)
    following.attach()

    def heard(message: Message) -> None:
        before[0](message)
        following.heard(message)
        one.summed_up(message, session_id)

    client.on_message, client.on_slow = heard, one.tick
    try:
        with one:
            yield
    finally:
        client.on_message, client.on_slow = before


def is_watched(context: Context) -> bool:
    """Whether a person looks at what goes on."""
    console = context.console
    return console.live and not console.json and not console.quiet


class Live:
    """The one that draws, and with `says` also tells what has ended. An answer is told once something follows it: the
    last one is the result of the command."""

    def __init__(self, context: Context, *, says: bool = True) -> None:
        self._console = context.console
        self._says = says
        self._view = View(time.monotonic())
        self._held: list[str] = []
        self._drawn_at = 0.0

    def begin(self, result: Any) -> None:
        snapshot = result["snapshot"]
        self._view = view_of(snapshot["session"], snapshot["items"], time.monotonic())

    def tell(self, told: Any) -> None:
        """An event, as `agents/event` has it."""
        event = told["event"]
        self._view = seen(self._view, event, time.monotonic())
        if self._says:
            self._say(told["sessionId"], event)
        if time.monotonic() - self._drawn_at >= LEAST_SECONDS:
            self._draw()

    def summed_up(self, message: Message, session_id: str) -> None:
        """Takes from a summary what the session does."""
        params = message.get("params", {})
        if message.get("method") == "agents/summary" and params["sessionId"] == session_id:
            self._view = seen(
                self._view, {"type": "activity", "activity": params.get("activity", "")}, time.monotonic()
            )

    def tick(self, slow: bool) -> None:
        """Half a second went by, or (not `slow`) what was waited for came."""
        if slow:
            self._draw()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Takes away what was drawn."""
        self._release()
        self._console.draw(())

    def _say(self, session_id: str, event: Any) -> None:
        item: Any = event.get("item") or {}
        if event["type"] == "turn/completed" and event.get("end") == "answered":
            self._held = []
        elif event["type"] == "item/completed" and item.get("kind") == "answer":
            self._release()
            self._held = transcript_lines([item], has_more=False)
        elif event["type"] == "item/completed" and item.get("call", {}).get("state") in FINAL:
            self._release()
            self._console.err_call(_call_lines(session_id, item), item["call"]["state"])
        elif event["type"] in SAID or event["type"].startswith("capability/"):
            self._release()
            self._tell(event_lines(event))

    def _release(self) -> None:
        held, self._held = self._held, []
        self._tell(held)

    def _tell(self, lines: list[str]) -> None:
        for line in lines:
            self._console.err(line)

    def _draw(self) -> None:
        if not self._console.moving:
            return
        from abey_cli.live_frame import frame  # rich is slow to load, and nobody else wants it

        self._drawn_at = time.monotonic()
        self._console.draw(frame(self._view, self._drawn_at, self._console.size(), colours=self._console.colours))


def _call_lines(session_id: str, item: Any) -> list[str]:
    """A call with its output, or the end of that."""
    call = item["call"]
    lines = transcript_lines([item], has_more=False)
    head = 1 + len([*decision_lines(call)])
    output = output_text(call)
    if len(output) <= TEXT_SHOWN and len(lines) <= head + LINES_SAID + 1:
        return lines
    end = escape(output[-TEXT_SHOWN:]).splitlines()[-LINES_SAID:]
    whole = f"`abey session output {session_id[:ID_SHOWN]} {escape_line(call['callId'])}`"
    return [*lines[:head], f"    … {whole} has all", *(f"    {line}" for line in end)]
