"""A client of the daemon for scripts (python-client.md): requests, and what the daemon tells unasked.

It needs nothing but the standard library, and imports nothing of the daemon. A client is for one thread; for several
sessions at once there may be a client for each thread, or `abey rpc -`.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Self

from abey_cli.channels import open_socket, with_folders
from abey_cli.connection import Connection, Message
from abey_cli.failures import Failure

__all__ = ["Client", "Events", "Failure", "Notifications"]


class Client:
    """A connection to the shared daemon of a state directory, made when this is, until `close` or the end of `with`.

    `state_dir` is that of the environment (`$ABEY_STATE_DIR` and so on) if it is None. With `start` a daemon is started
    where none runs. `name` is what others are told of who answered a call. `env` is the environment, by default that of
    this process: keys of models are looked up there. `timeout` (seconds) bounds every request that names no other.

    Raises Failure `daemon/unreachable`, `protocol/unsupported`.
    """

    def __init__(
        self,
        *,
        state_dir: str | os.PathLike[str] | None = None,
        start: bool = True,
        name: str = "script",
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> None:
        given = os.environ if env is None else env
        whole = with_folders(given, None if state_dir is None else os.fspath(state_dir))
        self._timeout = timeout
        self._listening: list[Notifications] = []
        self._connection = Connection(open_socket(whole, start))
        self._connection.on_message = self._heard
        try:
            self._connection.initialize(whole, name, "script")
        except BaseException:
            self.close()
            raise

    @property
    def daemon(self) -> Mapping[str, Any]:
        """What the daemon said of itself: `protocolVersion`, `limits`, `daemon` (protocol.md, Handshake)."""
        return self._connection.daemon

    def request(self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None) -> Any:
        """The result of a request. Raises Failure: the error that the daemon answers, `daemon/unreachable` where it
        goes meanwhile, `timeout` where there is no answer after so many seconds; what was asked for goes on then."""
        seconds = self._timeout if timeout is None else timeout
        self._connection.deadline = None if seconds is None else time.monotonic() + seconds
        try:
            return self._connection.request(method, {} if params is None else dict(params))
        finally:
            self._connection.deadline = None

    def notifications(self, *, timeout: float | None = None) -> Notifications:
        """What the daemon tells unasked from now on, such as `agents/summary`: `{method, params}` each. The iteration
        ends where none comes for `timeout` seconds; None waits as long as it takes."""
        return Notifications(self, timeout)

    def events(self, session_id: str, *, after: int | None = None, timeout: float | None = None) -> Events:
        """The events of a session (protocol.md, Events) after the one of that number, or from now on: `{sessionId, seq,
        event}` each, each once and in order. The iteration ends where none comes for `timeout` seconds.

        Where some are not kept any more, one `{snapshot, seq}` stands for them: the session as it is then, and its
        newest items. Raises Failure `session/unknown`.
        """
        return Events(self, session_id, after, timeout)

    def close(self) -> None:
        """Ends the connection; the daemon, and what it does, goes on."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _heard(self, message: Message) -> None:
        for one in tuple(self._listening):
            one.hear(message)

    def _receive(self, seconds: float | None) -> bool:
        """Whether something came within so many seconds, which who listens has heard then."""
        message = self._connection.receive(seconds)
        if message is not None:
            self._heard(message)
        return message is not None


class Notifications(Iterator[Any]):
    """Listens from when it is made until `close` or the end of `with`: what comes during a request is kept for it."""

    def __init__(self, client: Client, timeout: float | None) -> None:
        self._client = client
        self._timeout = timeout
        self._come: deque[Any] = deque()
        client._listening.append(self)

    def __next__(self) -> Any:
        """Raises StopIteration after the time-out, Failure `daemon/unreachable` where the daemon goes."""
        until = None if self._timeout is None else time.monotonic() + self._timeout
        self.catch_up()
        while not self._come:
            rest = None if until is None else until - time.monotonic()
            if (rest is not None and rest < 0) or not self._client._receive(rest):
                raise StopIteration
            self.catch_up()
        return self._come.popleft()

    def hear(self, message: Message) -> None:
        """Takes a message that is for this."""
        if "method" in message and "id" not in message:
            self._come.append({name: message[name] for name in ("method", "params") if name in message})

    def catch_up(self) -> None:
        """Asks for what was missed, while no other request is open."""

    def close(self) -> None:
        """Listens no more."""
        if self in self._client._listening:
            self._client._listening.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Events(Notifications):
    """The events of one session; where the daemon had too many for this connection it asks for the rest."""

    def __init__(self, client: Client, session_id: str, after: int | None, timeout: float | None) -> None:
        super().__init__(client, timeout)
        self._session_id = session_id
        self._missing_after: int | None = None
        try:
            self._attach(after)
        except BaseException:
            self.close()
            raise

    def hear(self, message: Message) -> None:
        params = message.get("params")
        if not isinstance(params, dict) or params.get("sessionId") != self._session_id:
            return
        if message.get("method") == "agents/event":
            self._come.append(params)
        elif message.get("method") == "agents/overflow":
            self._missing_after = params["resumeAfter"]

    def catch_up(self) -> None:
        if self._come:
            return  # those come first, and the rest is behind them
        while (after := self._missing_after) is not None:
            self._missing_after = None
            self._attach(after)

    def _attach(self, after: int | None) -> None:
        """What was missed stands before what comes meanwhile: that is told after the answer."""
        asked = {"sessionId": self._session_id, **({} if after is None else {"after": after})}
        result = self._client.request("agents/attach", asked)
        if after is not None and "snapshot" in result:
            self._come.append({"snapshot": result["snapshot"], "seq": result["seq"]})
        self._come.extend(result["replay"])
