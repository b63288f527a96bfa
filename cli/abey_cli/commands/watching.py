"""`abey session tail`, and what comes after `abey session pending --watch`."""

from contextlib import nullcontext
from typing import Any

from abey.shared.escaping import escape_line
from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.commands.pending import show_call
from abey_cli.connection import Message
from abey_cli.context import Context
from abey_cli.events import event_lines
from abey_cli.failures import Failure, unknown_session
from abey_cli.families import pending_below
from abey_cli.following import GONE, Following, event_value, next_message
from abey_cli.live import Live, is_watched
from abey_cli.transcript import transcript_lines

ITEMS = 50


def tail(context: Context) -> int:
    session_id = lookup.session_id(context, context.options.session)
    if context.options.follow:
        return _follow(context, session_id)
    page = context.request("agents/transcript", sessionId=session_id, limit=ITEMS)
    context.answer(page, lambda: _show(context, transcript_lines(page["items"], page["hasMore"])))
    return EXIT_OK


def _follow(context: Context, session_id: str) -> int:
    """Until the session is stopped, or gone, or nobody reads any more."""
    ended: list[Any] = []
    drawn = Live(context, says=False) if context.console.terminal and is_watched(context) else None

    def tell(event: Any) -> None:
        if context.console.json:
            event_value(context, event)
        else:
            _show(context, event_lines(event["event"]))
        if drawn is not None:
            drawn.tell(event)
        note(event["event"].get("session"))

    def snapshot(result: Any) -> None:
        if context.console.json:
            context.console.value({"snapshot": result["snapshot"], "seq": result["seq"]})
        else:
            _show(context, transcript_lines(result["snapshot"]["items"], has_more=False))
        if drawn is not None:
            drawn.begin(result)
        note(result["snapshot"]["session"])

    def note(session: Any) -> None:
        if session is not None and session["state"] == "stopped":
            ended.append(session)

    following = Following(context, session_id, tell, snapshot, deltas=drawn is not None)
    with drawn or nullcontext():
        _listen(context, session_id, following, drawn, ended)
    if ended:
        context.answer({"session": ended[0]}, lambda: context.console.note("the session was stopped"))
    return EXIT_OK


def _listen(context: Context, session_id: str, following: Following, drawn: Live | None, ended: list[Any]) -> None:
    following.attach()
    while not ended:
        message = next_message(context, following.again, drawn.tick if drawn else _nothing)
        if message is None:
            return
        _refuse_the_end(message, session_id)
        if drawn is not None:
            drawn.summed_up(message, session_id)
        following.heard(message)


def _nothing(_slow: bool) -> None:
    pass


def _refuse_the_end(message: Message, session_id: str) -> None:
    """Raises Failure where the session was deleted."""
    params = message.get("params", {})
    if message.get("method") == "agents/summary" and params["sessionId"] == session_id and params.get("deleted"):
        raise unknown_session(f"session {session_id} was deleted")


def watch(context: Context, session_id: str | None) -> int:
    """The calls that wait, of one session or of all, as they come and go; until nobody reads any more."""
    return _Watch(context, session_id).run()


class _Watch:
    """Asks again where a summary says that something changed. A child belongs to the session whose call it works on."""

    def __init__(self, context: Context, session_id: str | None) -> None:
        self._context = context
        self._session_id = session_id
        self._family = set() if session_id is None else {session_id}
        self._known: dict[str, Any] = {}
        self._changed: dict[str, None] = {}

    def run(self) -> int:
        try:
            self._begin()
            while True:
                while self._changed:
                    self._look_again(next(iter(self._changed)))
                self._count()
                message = next_message(self._context, self._begin)
                if message is None:
                    return EXIT_OK
                self._heard(message)
        finally:
            self._context.console.progress("")

    def _begin(self) -> None:
        """All that wait now, on a connection that hears of the others."""
        self._context.client.on_message = self._heard
        now = list(lookup.pending(self._context, sessionId=self._session_id))
        if self._session_id is not None:
            now += pending_below(self._context, now)
            self._family = {self._session_id, *_children(now)}
        self._tell(now, tuple(self._known))

    def _heard(self, message: Message) -> None:
        if message.get("method") == "agents/summary":
            session_id = message["params"]["sessionId"]
            if self._session_id is None or session_id in self._family:
                self._changed[session_id] = None

    def _count(self) -> None:
        """At the bottom of a terminal: how many wait."""
        if not self._context.console.json:
            waiting = sum(call["kind"] != "running" for call in self._known.values())
            self._context.console.progress(f"{waiting} waiting; Ctrl-C ends")

    def _look_again(self, session_id: str) -> None:
        del self._changed[session_id]
        try:
            now = list(lookup.pending(self._context, sessionId=session_id))
        except Failure as failure:
            if failure.kind in GONE:
                return  # the next message does not come, and then all are asked for again
            if failure.kind not in ("session/unknown", "session/damaged"):
                raise
            now = []
        self._tell(now, [token for token, call in self._known.items() if call["sessionId"] == session_id])
        if self._session_id is not None:
            new = _children(now) - self._family
            self._family |= new
            self._changed.update(dict.fromkeys(new))

    def _tell(self, now: list[Any], before: Any) -> None:
        """What differs from the tokens before."""
        tokens = {call["token"] for call in now}
        for token in [token for token in before if token not in tokens]:
            self._say("pending/resolved", self._known.pop(token))
        for call in now:
            known = self._known.get(call["token"])
            if known is None or _seen(known) != _seen(call):
                self._say("pending/added", call)
            self._known[call["token"]] = call

    def _say(self, kind: str, call: Any) -> None:
        console = self._context.console
        if console.json:
            console.value({"event": {"type": kind, "pending": call}})
        elif kind == "pending/added":
            show_call(self._context, call)
        elif not console.quiet:
            console.out(f"resolved: {console.token(call['token'])} ({escape_line(call['tool'])})")


def _children(calls: list[Any]) -> set[str]:
    """The sessions that work on these calls."""
    return {call["childId"] for call in calls if call.get("childId")}


def _seen(call: Any) -> tuple[str, str]:
    """What makes it another question."""
    return call["kind"], call["argumentsHash"]


def _show(context: Context, lines: list[str]) -> None:
    for line in lines:
        context.console.out(line)
