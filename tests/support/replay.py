"""A local HTTP server that answers each request with what the test laid ready, over real sockets."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

REASONS = {200: "OK"}


@dataclass(frozen=True)
class Canned:
    """One answer: the body in the pieces in which it is sent. `cut`: the connection ends before the body does;
    `hold`: after the pieces nothing comes any more; `rate`: so many pieces a second."""

    pieces: Sequence[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    hold: bool = False
    rate: int | None = None


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Replay:
    """`left` counts the clients that hung up before their answer had ended."""

    port: int
    answers: list[Canned]
    asked: list[Asked] = field(default_factory=list)
    left: int = 0
    sent: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@asynccontextmanager
async def replaying(*answers: Canned) -> AsyncIterator[Replay]:
    """Gives the answers in order, the last one again and again."""
    replay = Replay(0, list(answers))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            replay.asked.append(await _request(reader))
            canned = replay.answers.pop(0) if len(replay.answers) > 1 else replay.answers[0]
            await _answer(replay, canned, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            replay.left += 1
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    replay.port = server.sockets[0].getsockname()[1]
    try:
        yield replay
    finally:
        server.close()


@contextmanager
def replaying_beside(*answers: Canned) -> Iterator[Replay]:
    """The same for tests that wait for programs: the server has a thread of its own."""
    found: list[Replay] = []
    up, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with replaying(*answers) as replay:
            found.append(replay)
            up.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert up.wait(10)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Asked(first.split()[1], headers, await reader.readexactly(int(headers.get("content-length", "0"))))


async def _answer(replay: Replay, canned: Canned, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    headers = {"connection": "close", "transfer-encoding": "chunked", **canned.headers}
    lines = [f"HTTP/1.1 {canned.status} {REASONS.get(canned.status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number, piece in enumerate(canned.pieces):
        if canned.rate is not None:
            await asyncio.sleep(began + number / canned.rate - loop.time())
        if piece:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
    replay.sent.set()
    if canned.hold and not await reader.read(1):
        replay.left += 1
        return
    if not canned.cut:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
