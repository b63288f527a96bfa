"""What a client is told of the daemon when it comes, and what `agents/status` repeats."""

import os
from collections.abc import Iterable

from abey.daemon.settings import Settings
from abey.protocol import handshake as h
from abey.protocol.base import Timestamp
from abey.protocol.schema_hash import SCHEMA_HASH
from abey.rpc.connection import LIMITS
from abey.shared.places import read_tcp_address
from abey.shared.version import VERSION

FEATURES = ("attach", "deltas", "events", "idempotencyKey", "ifRevision", "isolation", "rules")


class Greeting:
    """Of the daemon of these settings, which began at `started_at`."""

    def __init__(self, settings: Settings, started_at: Timestamp) -> None:
        self._settings = settings
        self._started_at = started_at
        self._info: h.DaemonInfo | None = None

    def capabilities(self, methods: Iterable[str]) -> h.AgentsServerCapabilities:
        return h.AgentsServerCapabilities(
            protocol_version=h.PROTOCOL_VERSION,
            methods=tuple(methods),
            features=FEATURES,
            limits=LIMITS,
            daemon=self.info(),
            schema_hash=SCHEMA_HASH,
        )

    def info(self) -> h.DaemonInfo:
        """Of a daemon that serves: nothing of it changes."""
        self._info = self._info or self._found()
        return self._info

    def _found(self) -> h.DaemonInfo:
        return h.DaemonInfo(
            pid=os.getpid(),
            build_id=VERSION,
            started_at=self._started_at,
            state_dir=str(self._settings.state_dir),
            socket=str(self._settings.socket),
            tcp=read_tcp_address(self._settings.state_dir) if self._settings.tcp else None,
        )
