"""TCP: off by default, loopback alone, nothing before the token, and nothing at all for a web page."""

import asyncio
import json
import os
import signal
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest
from support.fake_daemon import Program, environment
from support.raw_peer import INITIALIZE, RawPeer, Stage, until

from abey.daemon.loopback import TokenRefused, bind_loopback, read_token, shown
from abey.daemon.reception import Reception
from abey.daemon.tcp import TOKEN_SECONDS, TcpListener
from abey.rpc.connection import LIMITS
from abey.rpc.framing import frame
from abey.shared.places import tcp_address_path

TOKEN = "0123456789abcdef" * 4
HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode()
ASK = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "agents/echo", "params": {"value": 1}}).encode()


def greeting(token: Any) -> dict[str, Any]:
    return {**INITIALIZE, "initializationOptions": {"token": token}}


@dataclass
class Port:
    number: int
    reception: Reception

    async def visit(self) -> RawPeer:
        return RawPeer(*await asyncio.open_connection("127.0.0.1", self.number))


@asynccontextmanager
async def port(root: Path, seconds: float = TOKEN_SECONDS) -> AsyncIterator[Port]:
    reception = Reception(Stage().surface, LIMITS)
    bound = bind_loopback("127.0.0.1", 0)
    listener = TcpListener(reception, bound, TOKEN, tcp_address_path(root), seconds)
    await listener.start()
    try:
        yield Port(bound.getsockname()[1], reception)
    finally:
        listener.close()
        await reception.close()


async def test_who_shows_the_token_is_served(tmp_path: Path) -> None:
    async with port(tmp_path) as tcp:
        peer = await tcp.visit()
        assert "result" in await peer.initialize(greeting(TOKEN))
        assert (await peer.reply("agents/echo", {"value": 1}))["result"] == {"value": 1}
        assert tcp_address_path(tmp_path).read_text() == f"127.0.0.1:{tcp.number}\n"
        assert stat.S_IMODE(tcp_address_path(tmp_path).stat().st_mode) == 0o600
        peer.hang_up()
    assert not tcp_address_path(tmp_path).exists()


@pytest.mark.parametrize("token", [None, "", "0" * 64, TOKEN[:-1], TOKEN.upper(), f"{TOKEN} ", 7, [TOKEN], "é"])
async def test_who_shows_another_is_told_so_and_hung_up_on(
    tmp_path: Path, token: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with port(tmp_path) as tcp:
        peer = await tcp.visit()
        answer, end = await peer.reply("initialize", greeting(token)), await peer.message()
        assert (answer["error"]["data"]["kind"], end) == ("permission/denied", None)
        peer.hang_up()
        await until(lambda: tcp.reception.clients == 0)
    assert "its token is wrong or missing" in caplog.text
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(
    "first",
    [
        frame(ASK),
        frame(b"{nope"),
        frame(b"[]"),
        frame(b"[" + HELLO + b"," + ASK + b"]"),
        frame(b'{"jsonrpc":"2.0","method":"exit"}'),
        frame(b'{"jsonrpc":"2.0","id":1,"result":1}'),
        b"Content-Length: -1\r\n\r\n",
    ],
    ids=["a request", "no JSON", "an empty batch", "a batch", "a notification", "an answer", "no length"],
)
async def test_nothing_is_answered_before_the_token(
    tmp_path: Path, first: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with port(tmp_path) as tcp:
        peer = await tcp.visit()
        peer.raw(first + frame(HELLO))
        assert await peer.message() is None
        peer.hang_up()
    assert " closed: " in caplog.text


@pytest.mark.parametrize("said", [b"", b"Content-Length: 50\r\n\r\n{"], ids=["nothing", "half a message"])
async def test_who_does_not_show_the_token_in_time_is_hung_up_on(
    tmp_path: Path, said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with port(tmp_path, 0.05) as tcp:
        peer = await tcp.visit()
        peer.raw(said)
        assert await peer.message() is None
        peer.hang_up()
    assert "closed: no initialize within 0.05 s" in caplog.text
    assert TOKEN_SECONDS == 3


WEB = {
    "a POST whose body is our frames": ("POST", frame(HELLO) + frame(ASK), {"Content-Type": "text/plain"}),
    "a POST with our headers alone": ("POST", frame(HELLO), {"Content-Type": "application/vscode-jsonrpc"}),
    "a POST that is kept alive": ("POST", frame(HELLO) * 3, {"Connection": "keep-alive"}),
    "a GET": ("GET", None, {}),
    "a preflight": ("OPTIONS", None, {"Access-Control-Request-Method": "POST", "Origin": "http://evil.example"}),
    "a websocket": (
        "GET",
        None,
        {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "eA=="},
    ),
}


@pytest.mark.parametrize("name", WEB)
async def test_a_web_client_gets_not_one_byte(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    method, body, headers = WEB[name]

    def browse(number: int) -> str:
        client = HTTPConnection("127.0.0.1", number, timeout=10)
        try:
            client.putrequest(method, "/")
            for header, value in {**headers, "Content-Length": str(len(body or b""))}.items():
                client.putheader(header, value)
            client.endheaders(body)
            return repr(client.getresponse().read())
        except (HTTPException, ConnectionError) as error:
            return type(error).__name__
        finally:
            client.close()

    async with port(tmp_path) as tcp:
        assert await asyncio.to_thread(browse, tcp.number) in (
            "RemoteDisconnected",
            "ConnectionResetError",
            "BrokenPipeError",
        )
        await until(lambda: tcp.reception.clients == 0)
    assert "closed: a header that is not ours" in caplog.text


async def test_a_message_may_come_with_no_other_header_even_after_the_token(tmp_path: Path) -> None:
    async with port(tmp_path) as tcp:
        peer = await tcp.visit()
        await peer.initialize(greeting(TOKEN))
        peer.raw(b"Host: localhost\r\n" + frame(ASK))
        assert await peer.message() is None
        peer.hang_up()


def test_a_token_is_made_where_there_is_none_and_read_where_there_is(tmp_path: Path) -> None:
    path = tmp_path / "token"
    made = read_token(path)
    assert (len(bytes.fromhex(made)), stat.S_IMODE(path.stat().st_mode), read_token(path)) == (32, 0o600, made)


@pytest.mark.parametrize("token", [TOKEN, TOKEN.upper(), "-_AaZz09" * 6, f"  {TOKEN}\n\n"])
def test_a_token_of_256_bits_is_taken(tmp_path: Path, token: str) -> None:
    path = tmp_path / "token"
    path.write_text(token)
    path.chmod(0o600)
    assert read_token(path) == token.strip()


@pytest.mark.parametrize(
    "token", ["", "\n", "secret", TOKEN[:63], "a" * 64, "Zz09Yy8_" * 5, "ünïcödé" * 20, "x y" * 30, TOKEN * 99]
)
def test_a_token_that_can_be_guessed_or_is_none_is_refused(tmp_path: Path, token: str) -> None:
    path = tmp_path / "token"
    path.write_text(token)
    path.chmod(0o600)
    with pytest.raises(TokenRefused, match="holds no token of 256 bits; remove it, and a fresh one is made"):
        read_token(path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_token_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(mode)
    with pytest.raises(TokenRefused, match=r"others can read or write .*; `chmod 600` it"):
        read_token(path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_token_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    os.chown(path, 65534, 65534)
    with pytest.raises(TokenRefused, match="belongs to user 65534, not to 0"):
        read_token(path)


def test_a_pipe_in_the_place_of_the_token_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "token", 0o600)
    with pytest.raises(TokenRefused, match="is not a file"):
        read_token(tmp_path / "token")


def test_an_address_of_six_is_shown_in_brackets() -> None:
    with bind_loopback("::1", 0) as bound:
        assert shown(bound) == f"[::1]:{bound.getsockname()[1]}"


async def test_a_daemon_says_where_it_listens_and_takes_nobody_else(tmp_path: Path) -> None:
    env = environment(tmp_path)
    token = tmp_path / "token"
    daemon = await Program.daemon(env, "--listen", "127.0.0.1:0", "--token-file", str(token))
    place = tcp_address_path(tmp_path / "state")
    await until(place.exists)
    number = int(place.read_text().rpartition(":")[2])
    peer = RawPeer(*await asyncio.open_connection("127.0.0.1", number))
    assert "result" in await peer.initialize(greeting(token.read_text().strip()))
    peer.hang_up()
    daemon.process.send_signal(signal.SIGTERM)
    status, errors = await daemon.end()
    assert (status, errors.splitlines()[0], place.exists()) == (0, f"listening on 127.0.0.1:{number}", False)
    assert token.read_text().strip() not in errors


async def test_a_daemon_that_cannot_serve_tcp_as_it_was_asked_to_does_not_run(tmp_path: Path) -> None:
    env = environment(tmp_path)
    (tmp_path / "token").write_text("secret")
    (tmp_path / "token").chmod(0o600)
    weak = await Program.daemon(env, "--listen", "127.0.0.1:0", "--token-file", str(tmp_path / "token"))
    reason = f"{tmp_path / 'token'} holds no token of 256 bits; remove it, and a fresh one is made"
    assert await weak.end() == (1, f"abey-daemon: TCP cannot be served: {reason}\n")
    with bind_loopback("127.0.0.1", 0) as taken:
        option = shown(taken)
        late = await Program.daemon(env, "--listen", option, "--token-file", str(tmp_path / "fresh"))
        status, errors = await late.end()
    assert (status, "abey-daemon: TCP cannot be served: " in errors, "in use" in errors) == (1, True, True)
