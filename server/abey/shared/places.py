"""Where things are: the state, config and runtime folders, the daemon's socket and its address (protocol.md)."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

SOCKET_PATH_BYTES = 103
"""The longest path of a socket that every platform binds."""

EVERYBODYS = tuple(map(Path, ("/", "/tmp", "/var/tmp", "/dev/shm")))
"""Folders that belong to nobody in particular."""

Env = Mapping[str, str]


def state_dir(env: Env) -> Path:
    """`$ABEY_STATE_DIR`, else `$XDG_STATE_HOME/abey`, else `~/.local/state/abey`; always absolute."""
    return _folder(env, "ABEY_STATE_DIR", "XDG_STATE_HOME", ".local/state")


def config_dir(env: Env) -> Path:
    """`$ABEY_CONFIG_DIR`, else `$XDG_CONFIG_HOME/abey`, else `~/.config/abey`; always absolute."""
    return _folder(env, "ABEY_CONFIG_DIR", "XDG_CONFIG_HOME", ".config")


def runtime_dir(env: Env, state: Path) -> Path:
    """`$ABEY_RUNTIME_DIR`, else `$XDG_RUNTIME_DIR/abey`, else `<state>/run`; always absolute."""
    if own := env.get("ABEY_RUNTIME_DIR"):
        return _absolute(own, env)
    base = env.get("XDG_RUNTIME_DIR", "")
    return Path(base) / "abey" if os.path.isabs(base) else _absolute(state, env) / "run"


def socket_path(state: Path, env: Env) -> Path:
    """The socket of the daemon of `state`: one name a real state directory, short enough to be bound."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(state))).hexdigest()[:16]
    path = runtime_dir(env, state) / name
    return path if _binds(path) else _temporary(env, name)


def address_path(state: Path) -> Path:
    """The file that says where the daemon of `state` listens: the socket's path and a newline."""
    return Path(state) / "daemon.addr"


def tcp_address_path(state: Path) -> Path:
    """The file that says on which port of loopback the daemon of `state` listens, too, while it does."""
    return Path(state) / "daemon.tcp"


def read_tcp_address(state: Path) -> str | None:
    """What that file says, `127.0.0.1:43210` or `[::1]:43210`; None where it is absent."""
    try:
        return tcp_address_path(state).read_text(encoding="ascii").strip() or None
    except OSError:
        return None


_ADDRESS_BYTES = 4096


def read_address(state: Path) -> Path | None:
    """Where the daemon of `state` said that it listens, or None. Whether it still does, only the socket knows."""
    try:
        # without O_NONBLOCK whoever asks would wait at a named pipe for good
        with open(os.open(address_path(state), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            text = os.fsdecode(file.read(_ADDRESS_BYTES) or b"").rstrip("\n")
    except OSError:
        return None
    return Path(text) if os.path.isabs(text) and "\0" not in text and _binds(Path(text)) else None


def documents_dir(state: Path) -> Path:
    """The files in which editors without a plugin have sessions: by its real path, as editors spell it."""
    return Path(os.path.realpath(state)) / "documents"


def log_path(state: Path) -> Path:
    """Where a daemon that nobody watches writes its log."""
    return Path(state) / "logs" / "daemon.log"


def _folder(env: Env, own: str, xdg: str, fallback: str) -> Path:
    if path := env.get(own):
        return _absolute(path, env)
    base = env.get(xdg, "")
    return (Path(base) if os.path.isabs(base) else _home(env) / fallback) / "abey"


def _absolute(path: str | Path, env: Env) -> Path:
    text = os.fspath(path)
    if text == "~" or text.startswith("~/"):
        return _home(env) / text[2:]
    return Path(os.path.abspath(text))


def _home(env: Env) -> Path:
    """As the variable says; one that is relative would be another folder for each program."""
    said = env.get("HOME", "")
    return Path(said) if os.path.isabs(said) else _home_of_user()


def _home_of_user() -> Path:
    import pwd  # who has a variable needs none

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # as in a container that runs as a number
        return Path("/")


def _binds(path: Path) -> bool:
    return len(os.fsencode(path)) <= SOCKET_PATH_BYTES


def _temporary(env: Env, name: str) -> Path:
    """A folder of ours in the temporary directory; who listens there checks that it is ours."""
    folder = f"abey-{os.getuid()}"
    path = Path(env.get("TMPDIR") or "/tmp") / folder / name
    return path if path.is_absolute() and _binds(path) else Path("/tmp") / folder / name
