"""What connected clients hear unasked."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from abey.core.machine import Machine
from abey.core.views import summary_view
from abey.protocol.notifications import DAEMON, SUMMARY, DaemonNotice, Summary
from abey.rpc.peer import Peer

log = logging.getLogger(__name__)


class Publisher:
    """A ports.Listener. Plain LSP clients hear nothing: these notifications are none of LSP's."""

    def __init__(self) -> None:
        self._peers: dict[str, Peer] = {}
        self._last: dict[str, Summary] = {}

    @property
    def clients(self) -> int:
        return len(self._peers)

    def joined(self, peer: Peer) -> None:
        self._peers[peer.id] = peer

    def left(self, peer: Peer) -> None:
        self._peers.pop(peer.id, None)

    def changed(self, machine: Machine) -> None:
        """A summary to everybody, unless it would say what they know."""
        summary = summary_view(machine)
        if self._last.get(summary.session_id) != summary:
            self._last[summary.session_id] = summary
            self._tell(SUMMARY, summary.wire())

    def noticed(self, session_id: str, event: Mapping[str, Any]) -> None:
        """Live only, and nobody can attach to a session yet: the log is where it is told."""
        log.info("session %s: %s", session_id, json.dumps(event))

    def draining(self) -> None:
        self._tell(DAEMON, DaemonNotice(state="draining").wire())

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        for peer in self._peers.values():
            if peer.capabilities is not None:
                peer.notify(method, params)
