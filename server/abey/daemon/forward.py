"""`abey-daemon --stdio`: carries the bytes of an editor to the shared daemon and back; stdlib only, to be there fast.

Bytes to the daemon pass as they are: what is wrong with them is for the daemon to say. What comes back passes in whole
messages, so that the last words are never written into the middle of one.
"""

import json
import socket
import sys
import threading
from typing import Any

from abey.daemon.pipes import chunks, received, write_all
from abey.daemon.settings import Settings
from abey.errors import DaemonGone
from abey.rpc.framing import Body, Frames, frame
from abey.shared.kinds import EXIT_UNREACHABLE
from abey.shared.starting import Unreachable, connect

START_SECONDS = 20.0
HEADER_BYTES = 8 << 10
FRAME_BYTES = 1 << 30
"""The daemon keeps the limits; this one only keeps count."""


def forward(settings: Settings, incoming: int = 0, outgoing: int = 1) -> int:
    """Runs until the client or the daemon leaves; the LSP exit code, or 1 when it was the daemon, or 6 without one."""
    try:
        daemon = connect(settings.state_dir, settings.env, start=True, timeout=START_SECONDS)
    except Unreachable as error:
        print(f"abey-daemon: {error}", file=sys.stderr)
        return EXIT_UNREACHABLE
    with daemon:
        ledger = Ledger()
        threading.Thread(target=_carry_up, args=(incoming, daemon, ledger), daemon=True).start()
        try:
            _carry_down(daemon, outgoing, ledger)
            for reply in ledger.last_words():
                write_all(outgoing, frame(reply))
        except BrokenPipeError:
            return 0
        return ledger.exit_code


class Ledger:
    """What the client asked and the daemon has not answered, and how the client left."""

    def __init__(self) -> None:
        self._sent = Frames(HEADER_BYTES, FRAME_BYTES)
        self._open: dict[str, None] = {}
        self._shut_down = False
        self._ended: int | None = None

    @property
    def exit_code(self) -> int:
        """0 when the client left as LSP wants it, or by closing its end with everything answered."""
        return 1 if self._open or self._ended is None else self._ended

    def asks(self, data: bytes) -> None:
        """Bytes on their way to the daemon."""
        for event in self._sent.feed(data):
            if isinstance(event, Body):
                for message in _messages(event.data):
                    self._ask(message)

    def answers(self, body: bytes) -> None:
        """A message that came from the daemon."""
        for message in _messages(body):
            if "method" not in message:
                self._open.pop(_key(message.get("id")), None)

    def leaves(self) -> None:
        """The client closed its end."""
        if self._ended is None:
            self._ended = 0

    def last_words(self) -> list[bytes]:
        """An error reply for everything that the daemon will not answer any more."""
        gone = DaemonGone("the daemon is gone")
        error = json.dumps({"code": gone.code, "message": gone.message, "data": gone.data})
        return [f'{{"jsonrpc":"2.0","id":{key},"error":{error}}}'.encode() for key in list(self._open)]

    def _ask(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        request_id = message.get("id")
        if isinstance(request_id, (int, str)) and not isinstance(request_id, bool) and method is not None:
            self._open[_key(request_id)] = None
        if method == "shutdown":
            self._shut_down = True
        if method == "exit":
            self._ended = 0 if self._shut_down else 1


def _carry_up(incoming: int, daemon: socket.socket, ledger: Ledger) -> None:
    """Ends with the client, or with a daemon that is gone: then the other direction says so."""
    try:
        for data in chunks(incoming):
            ledger.asks(data)
            daemon.sendall(data)
        ledger.leaves()
        daemon.shutdown(socket.SHUT_WR)
    except OSError:
        return


def _carry_down(daemon: socket.socket, outgoing: int, ledger: Ledger) -> None:
    frames = Frames(HEADER_BYTES, FRAME_BYTES)
    for data in received(daemon):
        for event in frames.feed(data):
            if isinstance(event, Body):
                ledger.answers(event.data)
                write_all(outgoing, frame(event.data))


def _messages(body: bytes) -> list[dict[str, Any]]:
    """The messages of a body; none where the daemon will say what is wrong with it."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return []
    return [message for message in (value if isinstance(value, list) else [value]) if isinstance(message, dict)]


def _key(request_id: Any) -> str:
    """An id as it is spelled in an answer; 1 and "1" are two."""
    return json.dumps(request_id)
