"""A peer that speaks byte for byte, and a small surface for it to talk to."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from abey.errors import UnknownSession
from abey.protocol.base import Json, Wire
from abey.protocol.handshake import AgentsServerCapabilities, DaemonInfo, Limits
from abey.protocol.methods import Method
from abey.protocol.params import NoParams, Nothing
from abey.rpc.admission import OPEN, Admission
from abey.rpc.connection import LIMITS, Connection
from abey.rpc.dispatch import Binding, Surface, bind, bind_prompt
from abey.rpc.framing import frame
from abey.rpc.peer import Peer
from abey.rpc.speaking import Answers, Takes, feature, notice

Message = dict[str, Any]
PATIENCE = 60.0
"""How long a test waits for what has to come, in seconds: only a test that fails takes it, on a busy machine, too."""
AGENTS = {"protocolVersions": ["1.0"], "clientId": "raw-1", "name": "raw", "kind": "test"}
INITIALIZE = {"processId": None, "rootUri": None, "capabilities": {"experimental": {"agents": AGENTS}}}


class EchoParams(Wire):
    value: Json = None


class Echo(Wire):
    value: Json


class SizeParams(Wire):
    size: int


ECHO = Method("agents/echo", EchoParams, Echo)
NOW = Method("agents/now", EchoParams, Echo)
WAIT = Method("agents/wait", NoParams, Nothing)
BOOM = Method("agents/boom", NoParams, Nothing)
MISS = Method("agents/miss", NoParams, Nothing)
BIG = Method("agents/big", SizeParams, Echo)
FLOOD = Method("agents/flood", SizeParams, Nothing)
PRINT = Method("agents/print", NoParams, Nothing)


@dataclass
class Stage:
    """The daemon of a test: who joined and left, whose waits were ended."""

    joined: list[Peer] = field(default_factory=list)
    left: list[Peer] = field(default_factory=list)
    waiting: int = 0
    release: asyncio.Event = field(default_factory=asyncio.Event)
    features: dict[str, Answers] = field(default_factory=dict)
    notices: dict[str, Takes] = field(default_factory=dict)

    @property
    def surface(self) -> Surface:
        handlers: list[Binding[Any, Any]] = [
            bind(ECHO, self.echo),
            bind_prompt(NOW, self.now),
            bind(WAIT, self.wait),
            bind(BOOM, self.boom),
            bind(MISS, self.miss),
            bind(BIG, self.big),
            bind(FLOOD, self.flood),
            bind(PRINT, self.print),
        ]
        bindings = {binding.method.name: binding for binding in handlers}
        joined, left = self.joined.append, self.left.append
        features = {name: feature(name, answers) for name, answers in self.features.items()}
        notices = {name: notice(name, takes) for name, takes in self.notices.items()}
        return Surface(bindings, capabilities, joined, left, features, notices, settle=self.settle)

    def settle(self, peer: Peer) -> None:
        """There is nothing to be told before an answer."""

    async def echo(self, peer: Peer, params: EchoParams) -> Echo:
        return Echo(value=params.value)

    def now(self, peer: Peer, params: EchoParams) -> Echo:
        return Echo(value=params.value)

    async def wait(self, peer: Peer, params: NoParams) -> Nothing:
        self.waiting += 1
        try:
            await self.release.wait()
        finally:
            self.waiting -= 1
        return Nothing()

    async def boom(self, peer: Peer, params: NoParams) -> Nothing:
        raise ValueError("secret in /home/somebody")

    async def miss(self, peer: Peer, params: NoParams) -> Nothing:
        raise UnknownSession("no session is called x", sessionId="x")

    async def big(self, peer: Peer, params: SizeParams) -> Echo:
        return Echo(value="x" * params.size)

    async def flood(self, peer: Peer, params: SizeParams) -> Nothing:
        for _ in range(params.size):
            peer.notify("agents/event", {"pad": "y" * 65_000})
        return Nothing()

    async def print(self, peer: Peer, params: NoParams) -> Nothing:
        print("noise from a handler", flush=True)
        child = await asyncio.create_subprocess_exec("echo", "noise from a child")
        await child.wait()
        return Nothing()


def capabilities() -> AgentsServerCapabilities:
    daemon = DaemonInfo(pid=1, build_id="b", started_at="2026-01-01T00:00:00.000Z", state_dir="/state", socket="/s")
    return AgentsServerCapabilities(
        protocol_version="1.0",
        methods=("agents/echo",),
        features=(),
        limits=LIMITS,
        daemon=daemon,
        schema_hash="0" * 64,
    )


class RawPeer:
    """Sends what it is told to, whole or in pieces; reads messages in order."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def raw(self, data: bytes) -> None:
        self.writer.write(data)

    def send(self, message: Json) -> None:
        self.raw(frame(json.dumps(message).encode()))

    def ask(self, request_id: Json, method: str, params: Json = None) -> None:
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def notify(self, method: str, params: Json = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def body(self) -> bytes | None:
        """The next message as it came, or None at the end of the stream."""
        async with asyncio.timeout(PATIENCE):
            try:
                head = await self.reader.readuntil(b"\r\n\r\n")
                return await self.reader.readexactly(int(head.split(b":")[1]))
            except (asyncio.IncompleteReadError, ConnectionError):
                return None

    async def message(self) -> Any:
        body = await self.body()
        return None if body is None else json.loads(body)

    async def reply(self, method: str, params: Json = None) -> Any:
        """The answer to a request of its own; nothing else may come before it."""
        self.ask("own", method, params)
        return await self.message()

    async def initialize(self, params: Json = None) -> Any:
        reply = await self.reply("initialize", INITIALIZE if params is None else params)
        self.notify("initialized", {})
        return reply

    def hang_up(self) -> None:
        self.writer.close()


@dataclass
class Link:
    """A peer and the connection that serves it; `end` has its exit code."""

    peer: RawPeer
    end: asyncio.Task[int]


async def connect(surface: Surface, limits: Limits = LIMITS, admission: Admission = OPEN) -> Link:
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    made = partial(Connection, surface, limits=limits, admission=admission)
    _, connection = await loop.create_connection(made, sock=ours)
    end = asyncio.create_task(connection.served())
    return Link(RawPeer(*await asyncio.open_connection(sock=theirs)), end)


@asynccontextmanager
async def connected(stage: Stage, limits: Limits = LIMITS, admission: Admission = OPEN) -> AsyncIterator[Link]:
    """A peer that has not said anything yet; nothing waits any more when it leaves."""
    link = await connect(stage.surface, limits, admission)
    try:
        yield link
    finally:
        stage.release.set()
        link.peer.hang_up()
        await link.end


@asynccontextmanager
async def greeted(stage: Stage, limits: Limits = LIMITS) -> AsyncIterator[Link]:
    """A peer that has said initialize."""
    async with connected(stage, limits) as link:
        await link.peer.initialize()
        yield link


async def until(condition: Callable[[], bool]) -> None:
    """Returns when the condition holds; fails when it does not come to."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  what is waited for knows of no event
            await asyncio.sleep(0.001)
