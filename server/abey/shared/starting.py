"""Connecting to the shared daemon, and starting it when there is none."""

import fcntl
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from abey.shared.kinds import EXIT_OK, EXIT_UNREACHABLE
from abey.shared.owner import NotOurs, peer_uid, state_folder
from abey.shared.places import log_path, read_address, socket_path

POLL_SECONDS = 0.02
ANOTHER_HOLDS = (EXIT_OK, EXIT_UNREACHABLE)
"""How a daemon ends that finds another one in its place; 6 where it was to serve TCP, too."""


class Unreachable(Exception):
    """There is no daemon to talk to; the message says why, for people."""


class NoDaemon(Unreachable):
    """Nothing listens, and none was to be started."""


class DidNotStart(Unreachable):
    """A daemon was started, and ended or did not accept in time."""


class NotOurDaemon(Unreachable):
    """What listens there belongs to another user, or cannot be reached by this one."""


def connect(
    state_dir: Path, env: Mapping[str, str], start: bool, timeout: float, turn: int | None = None
) -> socket.socket:
    """A blocking socket to the daemon of `state_dir`; with `start` one is started when there is none.

    `timeout` (seconds) bounds the wait for a daemon to accept; `turn` is what `keep_turn` gave to who has it. Raises
    NoDaemon, DidNotStart, NotOurDaemon.
    """
    if found := _reach(state_dir, env):
        return found
    if not start:
        raise NoDaemon(f"no daemon is running for {state_dir}; `abey daemon start` starts one")
    return _start(state_dir, env, timeout, turn)


@contextmanager
def keep_turn(state_dir: Path, timeout: float) -> Iterator[int]:
    """Meanwhile nobody but the holder starts a daemon: who comes waits for the one that the holder starts.

    Raises DidNotStart where another is still starting one after `timeout` seconds.
    """
    with _folder(state_dir) as folder:
        for _ in range(max(1, round(timeout / POLL_SECONDS))):
            if _locked(folder):
                break
            time.sleep(POLL_SECONDS)
        else:
            raise DidNotStart(f"another program has been starting a daemon of {state_dir} for {timeout:g} s; try again")
        yield folder


def command(env: Mapping[str, str]) -> list[str]:
    """How a daemon is started: this Python, never one found on PATH; `$ABEY_DAEMON` overrides.

    Raises DidNotStart where that is no command."""
    own = env.get("ABEY_DAEMON", "").strip()
    try:
        return shlex.split(own) if own else [sys.executable, "-P", "-m", "abey.daemon"]
    except ValueError as error:
        raise DidNotStart(f"the daemon cannot be started: ABEY_DAEMON is no command: {error}") from error


def not_started(env: Mapping[str, str], error: OSError) -> str:
    """Why the command could not be started, for people."""
    named = f" (ABEY_DAEMON is {env['ABEY_DAEMON']!r})" if env.get("ABEY_DAEMON") else ""
    return f"the daemon cannot be started: {error.filename}: {error.strerror}{named}"


def _start(state_dir: Path, env: Mapping[str, str], timeout: float, turn: int | None) -> socket.socket:
    """One starter at a time starts a daemon; the others wait for it, and take their turn should it fail."""
    from abey.shared.spawning import Daemon, last_words, spawn  # not on the way of who finds a daemon: that is quick

    daemon: Daemon | None = None
    with _folder(state_dir) if turn is None else nullcontext(turn) as folder:
        for _ in range(max(1, round(timeout / POLL_SECONDS))):
            our_turn = _locked(folder)
            if found := _reach(state_dir, env):
                return found
            ended = daemon.poll() if daemon else EXIT_OK
            if daemon and ended not in (None, *ANOTHER_HOLDS):
                raise DidNotStart(f"the daemon ended with status {daemon.returncode}: {last_words(state_dir, daemon)}")
            if our_turn and ended in ANOTHER_HOLDS:  # none was started, or an older one was still about to end
                daemon = spawn(state_dir, env)
            time.sleep(POLL_SECONDS)
    raise DidNotStart(f"no daemon accepted within {timeout:g} s; see {log_path(state_dir)}")


@contextmanager
def _folder(state_dir: Path) -> Iterator[int]:
    """A descriptor of the state folder, made if absent; closing it gives the turn to the next starter."""
    try:
        descriptor = os.open(state_folder(state_dir), os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, NotOurs) as error:
        raise DidNotStart(f"the daemon cannot be started: {error}") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _locked(folder: int) -> bool:
    """Whether the turn is ours, now or from before; never waits."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: the daemon is the one that says so
    return True


def _reach(state_dir: Path, env: Mapping[str, str]) -> socket.socket | None:
    """A connection to where a daemon said it listens, else to where it would; None if neither answers. An address of
    another name came with a copied folder, and is the way to the daemon of the folder it was copied from."""
    would, said = socket_path(state_dir, env), read_address(state_dir)
    if said is not None and said != would and said.name == would.name and (found := _knock(said)):
        return found
    return _knock(would)


def _knock(path: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(os.fspath(path))
        owner = peer_uid(connection)
    except (FileNotFoundError, NotADirectoryError, ConnectionError):
        connection.close()
        return None
    except OSError as error:
        connection.close()
        raise NotOurDaemon(f"{path} cannot be reached: {error.strerror or error}") from error
    if owner != os.getuid():
        connection.close()
        raise NotOurDaemon(f"what listens at {path} belongs to user {owner}")
    return connection
