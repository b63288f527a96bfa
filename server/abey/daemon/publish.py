"""What connected clients hear unasked."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from abey.core.machine import Machine
from abey.core.views import damaged_summary, summary_view
from abey.daemon.streams import COALESCE_SECONDS, Streams
from abey.daemon.subscriptions import Subscriptions
from abey.daemon.tool_streams import ToolStreams
from abey.protocol.notifications import DAEMON, SUMMARY, DaemonNotice, Summary
from abey.rpc.peer import Peer, notification
from abey.runtime.live import Live
from abey.runtime.ports import Progress
from abey.runtime.reviving import Entry

log = logging.getLogger(__name__)

TOGETHER_SECONDS = 0.005
"""A step goes through several states while its client waits: of those that a session has within so long, everybody is
told the last, unless somebody is answered before."""


class Follower(Protocol):
    """Who makes something of its own of the sessions."""

    def changed(self, machine: Machine) -> None: ...

    def gone(self, machine: Machine) -> None: ...


class Publisher:
    """A ports.Listener. Plain LSP clients hear nothing unasked: these notifications are none of LSP's."""

    def __init__(self, subscriptions: Subscriptions, coalesce_seconds: float = COALESCE_SECONDS) -> None:
        self._subscriptions = subscriptions
        self._streams = Streams(partial(subscriptions.live, delta=True), coalesce_seconds)
        self.streamed = self._streams.add  # for each word of a model: no call more than it takes
        self._tools = ToolStreams(partial(subscriptions.live, delta=True), subscriptions.live, coalesce_seconds)
        self._peers: dict[str, Peer] = {}
        self._last: dict[str, bytes] = {}
        self._changed: dict[str, Machine] = {}
        self._due: asyncio.TimerHandle | None = None
        self._followers: list[Follower] = []

    def follow(self, follower: Follower) -> None:
        """From now on it hears what the sessions are like."""
        self._followers.append(follower)

    @property
    def clients(self) -> int:
        return len(self._peers)

    def everybody(self) -> tuple[Peer, ...]:
        """Every client that is connected, plain ones too."""
        return tuple(self._peers.values())

    def joined(self, peer: Peer) -> None:
        self.tell()
        self._peers[peer.id] = peer

    def left(self, peer: Peer) -> None:
        self._peers.pop(peer.id, None)
        self._subscriptions.left(peer)

    def changed(self, machine: Machine) -> None:
        """A summary to everybody, unless it would say what they know; its events to who is attached. Neither keeps
        anybody waiting: who goes on with the session goes first."""
        session, session_id = machine.session, machine.session.id
        self._streams.end(session_id, session.asked.step_id if session.asked is not None else None)
        self._tools.changed(session)
        self._subscriptions.advanced(session_id)
        self._changed[session_id] = machine
        if not self._peers:
            self.tell()
        elif self._due is None:
            self._due = asyncio.get_running_loop().call_later(TOGETHER_SECONDS, self.tell)
        for follower in self._followers:
            _unharmed(follower.changed, machine)

    def tell(self) -> None:
        """What everybody is still to be told of the changes up to now."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        changed, self._changed = self._changed, {}
        for machine in changed.values():
            self._summarize(summary_view(machine))

    def settle(self, peer: Peer) -> None:
        """All that `peer` is to hear before it is answered."""
        self.tell()
        self._subscriptions.settle(peer)

    def kept(self, entry: Entry) -> None:
        """A session was read. Who had heard of it before hears what is true now; of one that is damaged everybody
        does, and who was attached begins anew."""
        self.tell()
        match entry:
            case Live(machine=machine):
                self._subscriptions.reloaded(entry.id)
                if entry.id in self._last:
                    self._summarize(summary_view(machine))
            case _:
                self._subscriptions.reloaded(entry.damage.session_id)
                if entry.machine is not None:
                    self._summarize(damaged_summary(entry.machine))

    def gone(self, machine: Machine) -> None:
        """A last summary to everybody: nothing of the session waits for anybody any more."""
        self.tell()
        summary = summary_view(Machine(machine.session))
        self._last.pop(summary.session_id, None)
        self._streams.end(summary.session_id)
        self._tools.gone(summary.session_id)
        self._subscriptions.gone(summary.session_id)
        last = summary.model_copy(update={"pending_count": 0, "attention": "none", "deleted": True})
        self._tell(notification(SUMMARY, last))
        for follower in self._followers:
            _unharmed(follower.gone, machine)

    def noticed(self, session_id: str, event: Mapping[str, Any]) -> None:
        """To who is attached, and in the log."""
        log.info("session %s: %s", session_id, json.dumps(event))
        self._subscriptions.live(session_id, event)

    def progressed(self, session_id: str, call_id: str, news: Progress) -> None:
        self._tools.add(session_id, call_id, news)

    def restarted(self, session_id: str, event: Mapping[str, Any]) -> None:
        self._streams.end(session_id)
        self.noticed(session_id, event)

    def draining(self) -> None:
        self.tell()
        self._tell(notification(DAEMON, DaemonNotice(state="draining")))

    def _summarize(self, summary: Summary) -> None:
        body = notification(SUMMARY, summary)
        if self._last.get(summary.session_id) != body:
            self._last[summary.session_id] = body
            self._tell(body)

    def _tell(self, body: bytes) -> None:
        for peer in self._peers.values():
            if peer.capabilities is not None:
                peer.send(body)


def _unharmed(tell: Callable[[Machine], None], machine: Machine) -> None:
    """What goes wrong with who follows a session is no matter of the session."""
    try:
        tell(machine)
    except Exception:
        log.exception("session %s cannot be followed", machine.session.id)
