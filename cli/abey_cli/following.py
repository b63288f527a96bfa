"""Attached to a session: each of its events once and in order, over cut subscriptions and new daemons."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from abey_cli.connection import Message
from abey_cli.context import Context
from abey_cli.events import event_lines
from abey_cli.failures import Failure, timed_out
from abey_cli.thinking import tell_thinking, thinking_goes

GONE = ("daemon/unreachable", "daemon/gone", "daemon/draining")

LOOK_SECONDS = 0.5
"""How often it is looked whether anybody still reads, and whether a daemon is there again."""


class Following:
    """`tell` gets each event, `snapshot` what stands for events that are not to be had any more."""

    def __init__(
        self,
        context: Context,
        session_id: str,
        tell: Callable[[Any], None],
        snapshot: Callable[[Any], None],
        *,
        deltas: bool = False,
    ) -> None:
        self._context = context
        self._params: dict[str, Any] = {"sessionId": session_id, **({"deltas": True} if deltas else {})}
        self._session_id = session_id
        self._tell = tell
        self._snapshot = snapshot
        self._seq: int | None = None
        self._attaching: int | None = None

    def attach(self, after: int | None = None) -> Any:
        """The answer, which is told, too. Raises Failure."""
        self._context.client.on_message = self.heard
        self._seq = after
        result = self._context.client.request("agents/attach", self._attach_params())
        self._attached(result)
        return result

    def again(self) -> None:
        """On another connection, after the last event that was told. Raises Failure."""
        self.attach(self._seq)

    def heard(self, message: Message) -> None:
        """Takes whatever comes that is no answer to a request of somebody else."""
        params: Any = message.get("params", {})
        match message.get("method"):
            case "agents/event" if params["sessionId"] == self._session_id:
                self._seq = params.get("seq", self._seq)
                self._tell(params)
            case "agents/overflow" if params["sessionId"] == self._session_id:
                # whoever waits for another answer goes on with that, and ours comes here
                self._seq = params["resumeAfter"]
                with suppress(Failure):  # then the next message does not come either
                    self._attaching = self._context.client.send("agents/attach", self._attach_params())
            case None if self._attaching is not None and message.get("id") == self._attaching:
                self._attaching = None
                if "result" in message:
                    self._attached(message["result"])

    def _attach_params(self) -> dict[str, Any]:
        return self._params if self._seq is None else {**self._params, "after": self._seq}

    def _attached(self, result: Any) -> None:
        if "snapshot" in result:
            self._snapshot(result)
        for event in result["replay"]:
            self._tell(event)
        self._seq = result["seq"]


def tell_events(context: Context, session_id: str, after: int | None = None) -> None:
    """With --events, from now on what happens to the session is told: with --json on stdout, else on stderr."""
    console, events, thinking = context.console, context.options.events, thinking_goes(context)
    if not (events or thinking):
        return

    def tell(event: Any) -> None:
        if thinking is not None and event["event"]["type"] == "item/completed":
            tell_thinking(context, thinking, event["event"].get("item"))
        if not events:
            return
        if console.json:
            event_value(context, event)
            return
        for line in event_lines(event["event"]):
            console.err(line)

    Following(context, session_id, tell, lambda _: None).attach(after)


def event_value(context: Context, event: Any) -> None:
    """An event as a line of JSON."""
    context.console.value({"method": "agents/event", "params": event})


def next_message(
    context: Context, back: Callable[[], None], on_slow: Callable[[bool], None] = lambda _: None
) -> Message | None:
    """The next message; None where nobody reads any more. `on_slow` is told each half second that none comes. After a
    daemon went it waits for another, calls `back`, and answers an empty message: what is waited for may have come with
    that.

    Raises Failure: `timeout` at the deadline.
    """
    client = context.client
    try:
        while (message := client.receive(LOOK_SECONDS)) is None:
            if not context.console.is_read_after(0):
                return None
            on_slow(True)
        return message
    except TimeoutError as late:
        raise timed_out("--timeout is over; the session goes on") from late
    except Failure as failure:
        if failure.kind not in GONE or context.transport == "stdio":
            raise
        context.console.note(f"abey: {failure.message}; waiting for another daemon")
    return {} if _reconnected(context, back) else None


def _reconnected(context: Context, back: Callable[[], None]) -> bool:
    """Whether a daemon is there again; False where nobody reads any more."""
    while context.console.is_read_after(LOOK_SECONDS):
        if context.deadline is not None and time.monotonic() >= context.deadline:
            raise timed_out("--timeout is over, and no daemon is there")
        try:
            context.reconnect()
            back()
        except Failure as failure:
            if failure.kind not in GONE:
                raise
        else:
            return True
    return False
