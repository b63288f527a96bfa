"""The forwarder's line to the daemon. One that hangs up before it has said a word was about to end: another one takes
its place, and hears what was said so far."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

from abey.daemon.pipes import received

DAEMONS = 3
"""So many are tried."""


class Line:
    """`connect` gives a daemon, started if need be; it raises Unreachable. Two threads use it: one sends, one reads."""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._daemon = connect()
        self._said = b""
        self._answered = False
        self._over = False
        self._lock = threading.Lock()

    def send(self, data: bytes) -> None:
        """Raises OSError when a daemon that had begun to answer is gone."""
        with self._lock:
            if not self._answered:
                self._said += data
            try:
                self._daemon.sendall(data)
            except OSError:
                if self._answered:
                    raise

    def finish(self) -> None:
        """Nothing more is sent."""
        with self._lock:
            self._over = True
            with contextlib.suppress(OSError):
                self._daemon.shutdown(socket.SHUT_WR)

    def hang_up(self) -> None:
        """Nothing more is sent or read."""
        self._over = True
        with contextlib.suppress(OSError):
            self._daemon.shutdown(socket.SHUT_RDWR)

    def received(self, again: Callable[[], bool]) -> Iterator[bytes]:
        """What comes from the daemon, to its end. One that hung up without a word is replaced if `again` says so."""
        for left in reversed(range(DAEMONS)):
            for data in received(self._daemon):
                self._answered = True
                self._said = b""
                yield data
            if self._answered or self._over or not left or not again():
                return
            self._replace()

    def close(self) -> None:
        self._daemon.close()

    def _replace(self) -> None:
        with self._lock:
            self._daemon.close()
            self._daemon = self._connect()
            with contextlib.suppress(OSError):  # it may be gone, too: nothing comes from it then
                self._daemon.sendall(self._said)
