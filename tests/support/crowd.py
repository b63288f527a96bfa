"""A daemon with a client that has stopped reading and some that read much, and what each of them got."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from support import busy_client
from support.e2e import Place, says

READERS = 4


@dataclass
class Crowd:
    """`streamed` is a session whose answer is on its way; `reports` are those of the readers, the last one is that of
    who stalls."""

    place: Place
    streamed: str
    reports: list[Any] = field(default_factory=list)

    @property
    def is_cut(self) -> bool:
        return "is cut off: it left" in (self.place.root / "daemon.log").read_text()


@contextmanager
def crowd(place: Place, words: int, chunk_ms: int) -> Iterator[Crowd]:
    """Everybody is under way; when it is left, all have reported. The answer has so many pieces, so far apart."""
    big = _session_of_much(place)
    entry = {"text": "word " * words, "chunkMs": chunk_ms}
    start = {"config": place.config(script=[entry]), "prompt": "x", "cwd": str(place.work)}
    streamed = place.rpc("agents/start", **start)["sessionId"]
    clients = [_client(place, how, big, streamed) for how in [*["reads"] * READERS, "stalls"]]
    one = Crowd(place, streamed)
    place.rpc("agents/run", sessionId=streamed, wait=False)
    try:
        yield one
    finally:
        one.reports = [json.loads(client.communicate()[0]) for client in clients]


def _client(place: Place, *arguments: str) -> "subprocess.Popen[str]":
    env = {**place.env, "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, busy_client.__file__, *arguments]
    pipe = subprocess.PIPE
    client = subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True)
    assert client.stdout is not None
    assert client.stdout.readline() == "ready\n"
    return client


def _session_of_much(place: Place) -> str:
    """Its transcript has REPLY_BYTES, in two inputs."""
    half = "x" * (busy_client.REPLY_BYTES // 2)
    start = {"config": place.config(script=[says("a"), says("b")]), "cwd": str(place.work)}
    with place.peer() as peer:
        session = str(peer.request("agents/start", **start, prompt=half, run="turn")["sessionId"])
        peer.request("agents/send", sessionId=session, prompt=half, run="turn")
    return session
