"""What connected clients hear unasked."""

import json
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from abey.core.machine import Machine
from abey.core.views import summary_view
from abey.daemon.streams import COALESCE_SECONDS, Streams
from abey.daemon.subscriptions import Subscriptions
from abey.protocol.notifications import CONFIG_CHANGED, DAEMON, SUMMARY, ConfigChanged, DaemonNotice, Summary
from abey.rpc.peer import Peer
from abey.runtime.ports import Delta

log = logging.getLogger(__name__)


class Publisher:
    """A ports.Listener. Plain LSP clients hear nothing: these notifications are none of LSP's."""

    def __init__(self, subscriptions: Subscriptions, coalesce_seconds: float = COALESCE_SECONDS) -> None:
        self._subscriptions = subscriptions
        self._streams = Streams(partial(subscriptions.live, delta=True), coalesce_seconds)
        self._peers: dict[str, Peer] = {}
        self._last: dict[str, Summary] = {}

    @property
    def clients(self) -> int:
        return len(self._peers)

    def joined(self, peer: Peer) -> None:
        self._peers[peer.id] = peer

    def left(self, peer: Peer) -> None:
        self._peers.pop(peer.id, None)
        self._subscriptions.left(peer)

    def changed(self, machine: Machine) -> None:
        """A summary to everybody, unless it would say what they know; its events to who is attached."""
        if machine.session.asked is None:
            self._streams.end(machine.session.id)
        self._subscriptions.advanced(machine.session.id)
        summary = summary_view(machine)
        if self._last.get(summary.session_id) != summary:
            self._last[summary.session_id] = summary
            self._tell(SUMMARY, summary.wire())

    def gone(self, machine: Machine) -> None:
        """A last summary to everybody: nothing of the session waits for anybody any more."""
        summary = summary_view(Machine(machine.session))
        self._last.pop(summary.session_id, None)
        self._subscriptions.gone(summary.session_id)
        self._tell(
            SUMMARY,
            summary.model_copy(update={"pending_count": 0, "attention": "none", "deleted": True}).wire(),
        )

    def noticed(self, session_id: str, event: Mapping[str, Any]) -> None:
        """To who is attached, and in the log."""
        log.info("session %s: %s", session_id, json.dumps(event))
        self._subscriptions.live(session_id, event)

    def streamed(self, session_id: str, step_id: str, delta: Delta) -> None:
        self._streams.add(session_id, step_id, delta)

    def restarted(self, session_id: str, event: Mapping[str, Any]) -> None:
        self._streams.end(session_id)
        self.noticed(session_id, event)

    def config_changed(self, changed: ConfigChanged) -> None:
        self._tell(CONFIG_CHANGED, changed.wire())

    def draining(self) -> None:
        self._tell(DAEMON, DaemonNotice(state="draining").wire())

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        for peer in self._peers.values():
            if peer.capabilities is not None:
                peer.notify(method, params)
