"""Nothing real happens in a simulation: what would sleep, or start a thread or a program, fails."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

REAL: tuple[tuple[Any, str], ...] = (
    (time, "sleep"),
    (threading.Thread, "start"),
    (subprocess.Popen, "__init__"),
    (socket.socket, "connect"),
    (socket.socket, "bind"),
    (os, "fork"),
    (os, "urandom"),
)


class Real(AssertionError):
    """Something real was about to happen."""


@contextmanager
def nothing_real() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patches:
        for place, name in REAL:
            patches.setattr(place, name, _refusing(name))
        yield


def _refusing(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise Real(f"{name} is called in a simulation")

    return refuse
