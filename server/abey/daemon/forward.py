"""`abey-daemon --stdio`: carries the bytes of an editor to the shared daemon and back; stdlib only, to be there fast.

Bytes to the daemon pass as they are: what is wrong with them is for the daemon to say. What comes back passes in whole
messages, so that the last words are never written into the middle of one.
"""

import json
import re
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

from abey.daemon.line import Line
from abey.daemon.parent import Parent
from abey.daemon.pipes import chunks, write_all
from abey.daemon.settings import Settings
from abey.errors import DaemonGone
from abey.rpc.framing import Body, Frames, frame
from abey.shared.kinds import EXIT_UNREACHABLE
from abey.shared.starting import Unreachable, connect
from abey.shared.version import VERSION

START_SECONDS = 20.0
HEADER_BYTES = 8 << 10
FRAME_BYTES = 1 << 30
"""The daemon keeps the limits; this one only keeps count."""
_NOTIFICATION = b'{"jsonrpc":"2.0","method":'
_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|[^,"]+),"(?:result|error)":')
"""How the daemon begins what it says: most of it need not be read any further."""
WAY_OUT = "`abey daemon restart` makes them one, and sessions stay"


def forward(settings: Settings, incoming: int = 0, outgoing: int = 1) -> int:
    """Runs until the client or the daemon leaves; the LSP exit code, or 1 when it was the daemon, or 6 without one."""
    reach = partial(connect, settings.state_dir, settings.env, start=True, timeout=START_SECONDS)
    try:
        with closing(Line(reach)) as line:
            return _carry(line, incoming, outgoing)
    except Unreachable as error:
        _say(str(error))
        return EXIT_UNREACHABLE


def _carry(line: Line, incoming: int, outgoing: int) -> int:
    ledger = Ledger(_say)
    parent = Parent(partial(_hang_up, line, ledger))
    threading.Thread(target=_carry_up, args=(incoming, line, ledger, parent), daemon=True).start()
    try:
        _carry_down(line, outgoing, ledger)
        for reply in ledger.last_words():
            write_all(outgoing, frame(reply))
    except BrokenPipeError:
        return 0
    return ledger.exit_code


class Ledger:
    """What the client asked and the daemon has not answered, and how the client left. `tell` is for people: it gets a
    line where the daemon turns out to be of another build."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._hello: str | None = None
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
        if body.startswith(_NOTIFICATION):
            return
        begins = _ANSWER.match(body)
        key = begins[1].decode("latin-1") if begins is not None else None
        if key in self._open and key != self._hello:
            del self._open[key]
            return
        for message in _messages(body):
            if "method" not in message:
                key = _key(message.get("id"))
                self._open.pop(key, None)
                if key == self._hello:
                    self._compare_builds(_daemon_of(message))

    @property
    def greets(self) -> bool:
        """Nothing was asked yet, or `initialize` alone."""
        return set(self._open) <= {self._hello}

    def leaves(self) -> None:
        """The client closed its end."""
        if self._ended is None:
            self._ended = 0

    def last_words(self) -> list[bytes]:
        """An error reply for everything that the daemon will not answer any more."""
        gone = DaemonGone("the daemon is gone")
        error = json.dumps({"code": gone.code, "message": gone.message, "data": gone.data})
        return [f'{{"jsonrpc":"2.0","id":{key},"error":{error}}}'.encode() for key in list(self._open)]

    def _compare_builds(self, daemon: dict[str, Any]) -> None:
        self._hello = None
        build = daemon.get("buildId")
        if build not in (None, VERSION):
            pid = daemon.get("pid")
            self._tell(f"the daemon (pid {pid!r}) is of build {build!r}, this is {VERSION!r}; {WAY_OUT}")

    def _ask(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        request_id = message.get("id")
        if isinstance(request_id, (int, str)) and not isinstance(request_id, bool) and method is not None:
            self._open[_key(request_id)] = None
        if method == "initialize":
            self._hello = _key(request_id)
        if method == "shutdown":
            self._shut_down = True
        if method == "exit":
            self._ended = 0 if self._shut_down else 1


def _hang_up(line: Line, ledger: Ledger) -> None:
    """The client was killed: nobody is left to tell anything."""
    ledger.leaves()
    line.hang_up()


def _carry_up(incoming: int, line: Line, ledger: Ledger, parent: Parent) -> None:
    """Ends with the client, or with a daemon that is gone: then the other direction says so."""
    try:
        for data in chunks(incoming):
            parent.hears(data)
            ledger.asks(data)
            line.send(data)
        ledger.leaves()
        line.finish()
    except OSError:
        return


def _carry_down(line: Line, outgoing: int, ledger: Ledger) -> None:
    frames = Frames(HEADER_BYTES, FRAME_BYTES)
    for data in line.received(lambda: ledger.greets):
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


def _daemon_of(initialized: dict[str, Any]) -> dict[str, Any]:
    """What the answer to `initialize` says of the daemon; nothing where it is none."""
    value: Any = initialized
    for name in ("result", "capabilities", "experimental", "agents", "daemon"):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _say(line: str) -> None:
    print(f"abey-daemon: {line}", file=sys.stderr, flush=True)


def _key(request_id: Any) -> str:
    """An id as it is spelled in an answer; 1 and "1" are two."""
    return json.dumps(request_id)
