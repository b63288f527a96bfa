"""Stdin and stdout of a standalone daemon, whatever they are: a client over two pipes, over two sockets, over one."""

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from support.raw_peer import INITIALIZE, LIMITS, Link, RawPeer, Stage, until

from abey.daemon.pipes import Stdio
from abey.daemon.stdio import serve_stdio
from abey.protocol.handshake import Limits
from abey.rpc.framing import frame

Ends = tuple[Stdio, Stdio]
"""The daemon's, and its client's."""


def pipes() -> Ends:
    (incoming, to_daemon), (from_daemon, outgoing) = os.pipe(), os.pipe()
    return Stdio(incoming, outgoing), Stdio(from_daemon, to_daemon)


def sockets() -> Ends:
    """As Node.js and libuv make them."""
    (incoming, to_daemon), (from_daemon, outgoing) = socket.socketpair(), socket.socketpair()
    return Stdio(incoming.detach(), outgoing.detach()), Stdio(from_daemon.detach(), to_daemon.detach())


def one_socket() -> Ends:
    """As sshd does."""
    ours, theirs = socket.socketpair()
    return Stdio(os.dup(ours.fileno()), ours.detach()), Stdio(os.dup(theirs.fileno()), theirs.detach())


@pytest.fixture(params=[pipes, sockets, one_socket])
def ends(request: pytest.FixtureRequest) -> Ends:
    made: Callable[[], Ends] = request.param
    return made()


def reading(peer: RawPeer) -> asyncio.ReadTransport:
    """Which asyncio gives to nobody."""
    transport: asyncio.ReadTransport = vars(peer.reader)["_transport"]
    return transport


@asynccontextmanager
async def served(stage: Stage, ends: Ends, limits: Limits = LIMITS) -> AsyncIterator[Link]:
    heard: list[bytes] = []
    ours, theirs = ends
    end = asyncio.create_task(serve_stdio(stage.surface, ours, heard.append, limits=limits))
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    if os.path.samestat(os.fstat(theirs.incoming), os.fstat(theirs.outgoing)):
        os.close(theirs.incoming)
        peer = RawPeer(*await asyncio.open_connection(sock=socket.socket(fileno=theirs.outgoing)))
    else:
        incoming, outgoing = os.fdopen(theirs.incoming, "rb", 0), os.fdopen(theirs.outgoing, "wb", 0)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), incoming)
        way, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, outgoing)
        peer = RawPeer(reader, asyncio.StreamWriter(way, protocol, reader, loop))
    try:
        yield Link(peer, end)
    finally:
        stage.release.set()
        peer.hang_up()
        reading(peer).close()
        await end
    assert b"initialize" in b"".join(heard)


async def test_a_client_is_answered_and_leaves(ends: Ends) -> None:
    async with served(Stage(), ends) as link:
        assert "result" in await link.peer.initialize()
        large = "x" * 300_000
        link.peer.ask(1, "agents/echo", {"value": large})
        link.peer.ask(2, "agents/now", {"value": 2})
        answers = {answer["id"]: answer["result"] for answer in [await link.peer.message(), await link.peer.message()]}
        assert answers == {1: {"value": large}, 2: {"value": 2}}
        await link.peer.reply("shutdown")
        link.peer.notify("exit")
        assert await link.end == 0


async def test_what_was_asked_before_the_end_of_stdin_is_answered(ends: Ends) -> None:
    stage = Stage()
    async with served(stage, ends) as link:
        await link.peer.initialize()
        link.peer.ask(1, "agents/wait")
        await until(lambda: stage.waiting == 1)
        if link.peer.writer.can_write_eof():
            link.peer.writer.write_eof()
        else:
            link.peer.hang_up()
        stage.release.set()
        assert await link.peer.message() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert await link.end == 0


async def test_who_reads_no_more_has_left(ends: Ends) -> None:
    stage = Stage()
    ours, theirs = ends
    end = asyncio.create_task(serve_stdio(stage.surface, ours, lambda _: None, limits=LIMITS))
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    os.write(theirs.outgoing, frame(json.dumps(asked).encode()))
    await until(lambda: len(stage.joined) == 1)
    for descriptor in {theirs.incoming, theirs.outgoing}:
        os.close(descriptor)
    assert await end == 0
    assert [peer.id for peer in stage.left] == [peer.id for peer in stage.joined]


async def test_who_leaves_too_much_unread_is_cut_off(ends: Ends, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    async with served(stage, ends) as link:
        await link.peer.initialize()
        reading(link.peer).pause_reading()
        link.peer.ask(1, "agents/flood", {"size": 400})
        await until(lambda: "is cut off: it left" in caplog.text)
        await link.end


async def test_who_breaks_the_framing_in_mid_sentence_is_told_so(ends: Ends) -> None:
    limits = LIMITS.model_copy(update={"frame_bytes": 1000})
    async with served(Stage(), ends, limits) as link:
        await link.peer.initialize()
        link.peer.raw(b"Content-Length: 1000000\r\n\r\n")
        for _ in range(10):
            link.peer.raw(b"x" * 1000)
        refused = await link.peer.message()
        assert (refused["error"]["data"]["kind"], refused["id"]) == ("too-large", None)
        link.peer.raw(b"x" * 1000)


@pytest.mark.parametrize("end", ["pipes", "a file that stderr is, too"])
async def test_only_pipes_of_our_own_are_told_not_to_block(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pipes()
    kept = os.dup(ours.outgoing)
    real = os.fstat
    if end != "pipes":
        monkeypatch.setattr(os, "fstat", lambda each: real(ours.outgoing if each == 2 else each))
    try:
        async with served(Stage(), (ours, theirs)) as link:
            await link.peer.initialize()
            assert os.get_blocking(kept) == (end != "pipes")
            assert stat.S_ISFIFO(real(kept).st_mode)
            os.close(kept)
    finally:
        monkeypatch.undo()
