"""The ways into one daemon."""

from dataclasses import dataclass, field
from socket import socket as Socket

from abey.daemon.pipes import Stdio


@dataclass(frozen=True, slots=True)
class Ways:
    """The unix socket and, where they were asked for, a port of loopback with its token, and stdin and stdout."""

    socket: Socket
    loopback: Socket | None = None
    token: str = field(default="", repr=False)
    stdio: Stdio | None = None
