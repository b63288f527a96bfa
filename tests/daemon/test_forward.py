"""The forwarder: bytes through, and a last word for what the daemon will never answer."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.fake_daemon import ROOT, environment
from support.raw_peer import INITIALIZE, RawPeer, Stage

from abey.daemon.binding import bind, write_address
from abey.daemon.forward import Ledger, forward
from abey.daemon.line import DAEMONS
from abey.daemon.listen import Listener
from abey.daemon.reception import Reception
from abey.daemon.settings import read_settings
from abey.rpc.connection import LIMITS
from abey.rpc.framing import frame
from abey.shared.places import socket_path
from abey.shared.version import VERSION

GONE = {"code": -31021, "message": "the daemon is gone", "data": {"kind": "daemon/gone", "retryable": True}}


@dataclass
class Editor:
    """A client behind a forwarder, which runs in a thread of this process."""

    peer: RawPeer
    status: asyncio.Future[int]


@contextmanager
def no_daemon(root: Path) -> Iterator[socket.socket]:
    """Where the daemon of `root` would listen, to be accepted from by hand."""
    path = root / "run" / socket_path(root, {}).name
    with bind(path) as bound:
        write_address(root, path)
        bound.setblocking(False)
        yield bound


@asynccontextmanager
async def editor(root: Path) -> AsyncIterator[Editor]:
    loop = asyncio.get_running_loop()
    settings = read_settings(["--stdio"], {"ABEY_STATE_DIR": str(root), "ABEY_RUNTIME_DIR": str(root / "run")})
    incoming, to_it = os.pipe()
    from_it, outgoing = os.pipe()
    status: asyncio.Future[int] = loop.create_future()

    def run() -> None:
        code = forward(settings, incoming, outgoing)
        os.close(outgoing)
        loop.call_soon_threadsafe(status.set_result, code)

    thread = threading.Thread(target=run)
    thread.start()
    reader = asyncio.StreamReader()
    reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_it, "rb", 0))
    writing, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(to_it, "wb", 0))
    try:
        yield Editor(RawPeer(reader, asyncio.StreamWriter(writing, protocol, reader, loop)), status)
    finally:
        writing.close()
        await status
        reading.close()
        thread.join()


@asynccontextmanager
async def daemon(root: Path) -> AsyncIterator[Listener]:
    path = root / "run" / socket_path(root, {}).name
    reception = Reception(Stage().surface, LIMITS)
    listener = Listener(reception, bind(path), path, root)
    write_address(root, path)
    await listener.start()
    try:
        yield listener
    finally:
        listener.close()
        await reception.close()


async def test_a_session_through_the_forwarder_ends_as_lsp_wants_it(tmp_path: Path) -> None:
    async with daemon(tmp_path), editor(tmp_path) as client:
        hello = await client.peer.initialize()
        echo = await client.peer.reply("agents/echo", {"value": "é" * 100_000})
        bye = await client.peer.reply("shutdown")
        client.peer.notify("exit")
        assert ("result" in hello, len(echo["result"]["value"]), bye["result"], await client.status) == (
            True,
            100_000,
            None,
            0,
        )


async def test_exit_without_shutdown_is_1(tmp_path: Path) -> None:
    async with daemon(tmp_path), editor(tmp_path) as client:
        await client.peer.initialize()
        client.peer.notify("exit")
        assert await client.status == 1


async def test_a_client_that_closes_its_end_gets_its_answers_first(tmp_path: Path) -> None:
    async with daemon(tmp_path), editor(tmp_path) as client:
        client.peer.ask(1, "initialize", {})
        client.peer.ask(2, "agents/echo", {"value": 2})
        client.peer.writer.write_eof()
        answers = [await client.peer.message() for _ in range(3)]
        assert ([answer and answer["id"] for answer in answers], await client.status) == ([1, 2, None], 0)


async def test_hostile_bytes_reach_the_daemon_and_its_refusal_the_client(tmp_path: Path) -> None:
    async with daemon(tmp_path), editor(tmp_path) as client:
        client.peer.raw(frame(b"{nope") + b"Content-Length: -1\r\n\r\n")
        answers = [await client.peer.message() for _ in range(3)]
        codes = [answer and answer["error"]["code"] for answer in answers]
        assert (codes, await client.status) == ([-32700, -32600, None], 1)


async def test_what_is_open_when_the_daemon_goes_is_answered_and_the_forwarder_ends_with_1(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    with no_daemon(tmp_path) as bound:
        async with editor(tmp_path) as client:
            accepted, _ = await loop.sock_accept(bound)
            for request_id in (1, "1", 2):
                client.peer.ask(request_id, "agents/wait")
            reader, writer = await asyncio.open_connection(sock=accepted)
            dying = RawPeer(reader, writer)
            for _ in range(3):
                await dying.message()
            dying.raw(frame(b'{"jsonrpc":"2.0","id":2,"result":{}}') + b'Content-Length: 50\r\n\r\n{"jsonrpc":')
            dying.hang_up()
            answers = [await client.peer.message() for _ in range(4)]
            assert (answers, await client.status) == (
                [
                    {"jsonrpc": "2.0", "id": 2, "result": {}},
                    {"jsonrpc": "2.0", "id": 1, "error": GONE},
                    {"jsonrpc": "2.0", "id": "1", "error": GONE},
                    None,
                ],
                1,
            )


async def test_a_daemon_that_hangs_up_before_it_said_a_word_is_replaced_by_the_next(tmp_path: Path) -> None:
    """It was about to end when we came."""
    loop = asyncio.get_running_loop()
    with no_daemon(tmp_path) as bound:
        async with editor(tmp_path) as client:
            first, _ = await loop.sock_accept(bound)
            client.peer.ask(1, "initialize", INITIALIZE)
            assert b"initialize" in await loop.sock_recv(first, 1 << 16)
            first.close()
            second, _ = await loop.sock_accept(bound)
            reader, writer = await asyncio.open_connection(sock=second)
            again = RawPeer(reader, writer)
            assert (await again.message())["method"] == "initialize"
            again.raw(frame(b'{"jsonrpc":"2.0","id":1,"result":{}}'))
            assert await client.peer.message() == {"jsonrpc": "2.0", "id": 1, "result": {}}
            again.hang_up()
            assert (await client.peer.message(), await client.status) == (None, 1)


async def test_daemons_that_all_hang_up_are_not_tried_for_ever(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    with no_daemon(tmp_path) as bound:
        async with editor(tmp_path) as client:
            early, _ = await loop.sock_accept(bound)
            early.close()
            client.peer.ask(1, "initialize", INITIALIZE)
            for _ in range(DAEMONS - 1):
                accepted, _ = await loop.sock_accept(bound)
                assert b"initialize" in await loop.sock_recv(accepted, 1 << 16)
                accepted.close()
            answer = await client.peer.message()
            assert (answer["id"], answer["error"], await client.status) == (1, GONE, 1)


def test_a_ledger_keeps_what_is_asked_until_it_is_answered() -> None:
    ledger = Ledger(print)
    ask = b'[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":2,"method":"m"},{"method":"n"},7]'
    ledger.asks(frame(ask) + frame(b"{nope") + frame(b'{"id":true,"method":"m"}'))
    ledger.answers(b'[{"jsonrpc":"2.0","id":1,"result":null}]')
    ledger.answers(b'{"jsonrpc":"2.0","id":2,"method":"ours"}')
    assert len(ledger.last_words()) == 1


ASKED = [1, "1", 0, -7, 'a"b\\', 'é\x7f"', "", "result", 2]


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_answers_are_known_by_their_beginning_and_by_the_whole_of_them(separators: tuple[str, str]) -> None:
    """Ours begin with their id; those of another daemon need not."""
    ledger = Ledger(print)
    for request_id in ASKED:
        ledger.asks(frame(json.dumps({"id": request_id, "method": "m"}).encode()))
    for request_id in ASKED[:-1]:
        answer = {"jsonrpc": "2.0", "id": request_id, "result": {"id": 2, "method": "m"}}
        ledger.answers(json.dumps(answer, separators=separators).encode())
        ledger.answers(json.dumps({"jsonrpc": "2.0", "method": "n", "id": 2}, separators=separators).encode())
    assert [json.loads(reply)["id"] for reply in ledger.last_words()] == [2]


def test_answers_and_events_are_passed_on_without_being_read() -> None:
    ledger = Ledger(print)
    ledger.asks(frame(b'{"id":0,"method":"initialize"}') + frame(b'{"id":1,"method":"m"}'))
    ledger.answers(b'{"jsonrpc":"2.0","id":0,"result":{}}')
    ledger.answers(b'{"jsonrpc":"2.0","method":"agents/event","params":no JSON')
    ledger.answers(b'{"jsonrpc":"2.0","id":1,"result":no JSON')
    assert ledger.last_words() == []


@pytest.mark.parametrize(("build", "told"), [(VERSION, False), ("0.0.9", True), ("0.0.9\x1b[2J\n", True), (9, True)])
def test_a_daemon_of_another_build_is_used_and_named(build: Any, told: bool) -> None:
    lines: list[str] = []
    ledger = Ledger(lines.append)
    ledger.asks(frame(b'{"id":0,"method":"initialize"}'))
    agents = {"daemon": {"pid": 7, "buildId": build}}
    hello = {"id": 0, "result": {"capabilities": {"experimental": {"agents": agents}}}}
    for _ in range(2):
        ledger.answers(json.dumps(hello).encode())
    way_out = "`abey daemon restart` makes them one, and sessions stay"
    assert lines == [f"the daemon (pid 7) is of build {build!r}, this is {VERSION!r}; {way_out}"] * told


@pytest.mark.parametrize("hello", [{"error": {}}, {"result": None}, {"result": {"capabilities": []}}])
def test_a_daemon_that_says_no_build_is_compared_with_nothing(hello: Any) -> None:
    lines: list[str] = []
    ledger = Ledger(lines.append)
    ledger.asks(frame(b'{"id":"0","method":"initialize"}'))
    ledger.answers(json.dumps({"id": "0", **hello}).encode())
    assert lines == []


def test_a_daemon_that_cannot_be_started_is_6_with_the_reason(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    env = {"ABEY_STATE_DIR": str(tmp_path), "ABEY_DAEMON": "/nowhere/abey-daemon", "ABEY_RUNTIME_DIR": str(tmp_path)}
    assert forward(read_settings(["--stdio"], env)) == 6
    assert "abey-daemon: the daemon cannot be started: " in capfd.readouterr().err


def test_the_forwarder_imports_nothing_that_takes_long() -> None:
    slow = {"asyncio", "pydantic", "pygls", "lsprotocol", "logging"}
    program = f"import sys, abey.daemon.main, abey.daemon.forward; print(sorted({slow} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], env=environment(ROOT), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
