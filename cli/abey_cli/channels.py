"""The way to the shared daemon, its socket, and what every way to a daemon has in common."""

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from abey.shared import starting
from abey.shared.places import log_path, state_dir
from abey_cli.failures import Failure, unreachable

START_SECONDS = 30.0


class Channel(Protocol):
    """Two file descriptors, and what to say when they end."""

    @property
    def read_fd(self) -> int: ...
    @property
    def write_fd(self) -> int: ...

    def gone(self) -> Failure:
        """Why nothing comes any more."""
        ...

    def close(self, farewell: Callable[[], None]) -> None:
        """Ends the connection; `farewell` ends the life cycle of a daemon that is ours alone."""
        ...


class SocketChannel:
    """A connection to the shared daemon, which outlives it."""

    def __init__(self, connection: socket.socket, log: Path) -> None:
        self._connection = connection
        self._log = log
        self.read_fd = self.write_fd = connection.fileno()

    def gone(self) -> Failure:
        return unreachable(f"the daemon closed the connection; its log is {self._log}")

    def close(self, farewell: Callable[[], None]) -> None:
        del farewell
        self._connection.close()


def open_socket(env: Mapping[str, str], start: bool, turn: int | None = None) -> Channel:
    """The shared daemon of the state directory that `env` names; `turn` as in starting.connect. Raises Failure
    `daemon/unreachable`."""
    try:
        state = state_dir(env)
        return SocketChannel(starting.connect(state, env, start, START_SECONDS, turn), log_path(state))
    except starting.Unreachable as error:
        raise unreachable(str(error)) from error


@contextmanager
def kept_turn(env: Mapping[str, str]) -> Iterator[int]:
    """Meanwhile only who shows this turn starts a shared daemon. Raises Failure `daemon/unreachable`."""
    try:
        with starting.keep_turn(state_dir(env), START_SECONDS) as turn:
            yield turn
    except starting.DidNotStart as error:
        raise unreachable(str(error)) from error


def with_folders(env: Mapping[str, str], state: str | None) -> dict[str, str]:
    """`env` with its abey folders absolute and --state-dir in place: a daemon runs in `/`."""
    folders = {name: env[name] for name in ("ABEY_STATE_DIR", "ABEY_CONFIG_DIR", "ABEY_RUNTIME_DIR") if env.get(name)}
    if state is not None:
        folders["ABEY_STATE_DIR"] = state
    return {**env, **{name: os.fspath(Path(folder).expanduser().absolute()) for name, folder in folders.items()}}
