"""What a command works with: its options, the streams, the environment, and the daemon on first use."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from abey_cli.connection import Connection
from abey_cli.console import Console
from abey_cli.failures import Failure, usage
from abey_cli.parsing import Options

Which = Literal["any", "shared", "running"]
"""Any daemon, as the transport says; the shared one, started if need be; the shared one if it runs."""

Connect = Callable[["Context", Which], Connection]
"""A client after its handshake. Raises Failure `daemon/unreachable`."""


class Context:
    """Made once a command. `cwd` is absolute; `env` has the folders absolute, too."""

    def __init__(self, options: Options, console: Console, env: Mapping[str, str], cwd: str, connect: Connect) -> None:
        self.options = options
        self.console = console
        self.env = env
        self.cwd = cwd
        self._connect = connect
        self._client: Connection | None = None
        self.deadline: float | None = None
        self.turn: int | None = None
        """Our turn to start a shared daemon, where we keep it."""
        self.builds_told = False
        """Nothing more is to be said of the build of the daemon."""

    @property
    def transport(self) -> str:
        """auto, socket or stdio. Raises Failure `usage` for another value of $ABEY_TRANSPORT."""
        transport = self.options.transport or self.env.get("ABEY_TRANSPORT") or "auto"
        if transport not in ("auto", "socket", "stdio"):
            raise usage(f"ABEY_TRANSPORT is {transport!r}, not auto, socket or stdio")
        return str(transport)

    @property
    def client(self) -> Connection:
        """The connection, made when first needed; --timeout covers also the way to the daemon."""
        if self._client is None:
            timeout = getattr(self.options, "timeout", None)
            self.deadline = None if timeout is None else time.monotonic() + timeout
            self._client = self._connect(self, "any")
        return self._client

    def reconnect(self) -> Connection:
        """The connection made anew where a shared daemon runs; starts none. Raises Failure `daemon/unreachable`."""
        if self._client is not None:
            self._client.close()
            self._client = None
        self._client = self._connect(self, "running")
        return self._client

    def connected(self, which: Which) -> Connection:
        """A connection of its own, for the caller to close. Raises Failure `daemon/unreachable`."""
        return self._connect(self, which)

    def request(self, method: str, **params: Any) -> Any:
        """The result of a request; a param that is None is left out."""
        try:
            return self.client.request(method, {name: value for name, value in params.items() if value is not None})
        except Failure as failure:
            failure.asked = params.get("sessionId")
            raise

    @property
    def effect(self) -> dict[str, Any]:
        """What every request with an effect takes besides, as the options say."""
        return {"ifRevision": self.options.if_revision, "idempotencyKey": self.options.idempotency_key}

    def absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.cwd, path))

    def answer(self, result: Any, show: Callable[[], None]) -> None:
        """The result on stdout: with --json as it is, or as the last of many lines; else as `show` prints it."""
        if self.console.json:
            self.console.value({"result": result} if self._many_lines else result)
            return
        self._tell_of_repeat(result if isinstance(result, dict) else {})
        show()

    def _tell_of_repeat(self, result: dict[str, Any]) -> None:
        if result.get("replayed"):
            self.console.note("this was asked before under the same key: nothing was done again")
        if result.get("interrupted"):
            self.console.err("the daemon ended before this request did: nobody can tell how far it got")

    @property
    def _many_lines(self) -> bool:
        return any(getattr(self.options, name, False) for name in ("events", "follow", "watch"))

    def again(self, options: Options) -> "Context":
        """The same place and connection for another command; only this context closes it."""
        return Context(options, self.console, self.env, self.cwd, lambda _context, _which: self.client)

    def elsewhere(self, console: Console, env: Mapping[str, str], cwd: str) -> "Context":
        """Another machine, as it were, for the same options."""
        return Context(self.options, console, env, cwd, self._connect)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
