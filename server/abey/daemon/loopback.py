"""A port of loopback, and the file of the token that is asked for there; light, so that a fault is told at once."""

import ipaddress
import os
import secrets
import socket
import stat
import string
from pathlib import Path

TOKEN_BITS = 256
LONGEST_TOKEN = 4096
MOST_ALIKE = 8
"""A token of fewer different characters is no secret, however long."""

_ALPHABETS = ((string.hexdigits, 4), (string.ascii_letters + string.digits + "-_+/=", 6))
"""Characters, and the bits that one of them holds."""


class TokenRefused(Exception):
    """The file of the token is none to be used; the message says why, and the way out."""


def bind_loopback(address: str, port: int) -> socket.socket:
    """A listening socket; port 0 is one that is free. Raises OSError."""
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    return socket.create_server((address, port), family=family)


def shown(bound: socket.socket) -> str:
    """Where it listens, as `address:port`."""
    address, port = bound.getsockname()[:2]
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def read_token(path: Path) -> str:
    """The token in the file, which is made (0600, a fresh token) if absent. Raises TokenRefused, OSError."""
    try:
        return _made(path)
    except FileExistsError:
        pass
    # without O_NONBLOCK one would wait at a named pipe for good
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="ascii", errors="replace") as file:
        _check_owner(path, os.fstat(file.fileno()))
        token = file.read(LONGEST_TOKEN + 1).strip()
    if _bits(token) < TOKEN_BITS or len(token) > LONGEST_TOKEN:
        raise TokenRefused(f"{path} holds no token of {TOKEN_BITS} bits; remove it, and a fresh one is made")
    return token


def _made(path: Path) -> str:
    token = secrets.token_hex(TOKEN_BITS // 8)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(f"{token}\n")
    return token


def _check_owner(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise TokenRefused(f"{path} is not a file")
    if found.st_uid != os.getuid():
        raise TokenRefused(f"{path} belongs to user {found.st_uid}, not to {os.getuid()}")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise TokenRefused(f"others can read or write {path}; `chmod 600` it, or remove it: a fresh one is made")


def _bits(token: str) -> int:
    """How many it can hold at most, 0 for what is no token."""
    if len(set(token)) < MOST_ALIKE:
        return 0
    for characters, each in _ALPHABETS:
        if set(token) <= set(characters):
            return each * len(token)
    return 0
