"""The socket: private, one at its path, there again when it was removed, and not for more than there is room for."""

import asyncio
import os
import socket
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.raw_peer import RawPeer, Stage, until

from abey.daemon.binding import bind, identity, write_address
from abey.daemon.listen import Listener, UidOf
from abey.daemon.reception import SILENT_SECONDS, Reception
from abey.protocol.handshake import Limits
from abey.rpc.connection import LIMITS
from abey.shared.owner import NotOurs, peer_uid, private_folder, state_folder
from abey.shared.places import address_path, read_address


@dataclass
class House:
    """A reception and the listener at its door."""

    reception: Reception
    listener: Listener


@asynccontextmanager
async def listening(
    root: Path, limits: Limits = LIMITS, uid_of: UidOf = peer_uid, clock: Callable[[], float] | None = None
) -> AsyncIterator[House]:
    path = root / "run" / "socket"
    reception = Reception(Stage().surface, limits, clock or time.monotonic)
    listener = Listener(reception, bind(path), path, root, uid_of)
    await listener.start()
    try:
        yield House(reception, listener)
    finally:
        listener.close()
        await reception.close()


async def visit(root: Path) -> RawPeer:
    return RawPeer(*await asyncio.open_unix_connection(root / "run" / "socket"))


def modes(*paths: Path) -> list[int]:
    return [stat.S_IMODE(path.stat().st_mode) for path in paths]


async def test_a_socket_is_private_and_takes_the_place_of_a_dead_one(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(os.fspath(tmp_path / "run" / "socket"))
    dead.close()
    async with listening(tmp_path):
        peer = await visit(tmp_path)
        assert "result" in await peer.initialize()
        assert modes(tmp_path / "run", tmp_path / "run" / "socket") == [0o700, 0o600]
        assert [path.name for path in (tmp_path / "run").iterdir()] == ["socket"]
        peer.hang_up()
    assert list((tmp_path / "run").iterdir()) == []


def test_an_address_is_a_private_file(tmp_path: Path) -> None:
    write_address(tmp_path, Path("/r/socket"))
    assert (read_address(tmp_path), modes(address_path(tmp_path)), list(tmp_path.iterdir())) == (
        Path("/r/socket"),
        [0o600],
        [address_path(tmp_path)],
    )


def somebody_elses(folder: Path) -> Path:
    """A folder of another user: root's, or one that root gave away."""
    if os.getuid() != 0:
        return Path("/")
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    return folder


def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = somebody_elses(tmp_path / "theirs")
    with pytest.raises(NotOurs, match="belongs to user"):
        private_folder(folder)


@pytest.mark.parametrize("names", [[], ["lost+found"], ["logs", "configs"], ["sessions", "daemon.lock"], ["agents"]])
def test_a_folder_that_is_empty_or_ours_is_made_private(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).mkdir()
    tmp_path.chmod(0o755)
    assert (state_folder(tmp_path), tmp_path.stat().st_mode & 0o777) == (tmp_path, 0o700)


@pytest.mark.parametrize("names", [["essay"], ["agents", "essay"], ["sessions", "src"]])
def test_a_folder_of_other_things_keeps_its_mode_unless_others_may_write_there(
    tmp_path: Path, names: list[str]
) -> None:
    for name in names:
        (tmp_path / name).mkdir()
    tmp_path.chmod(0o755)
    assert (state_folder(tmp_path), tmp_path.stat().st_mode & 0o777) == (tmp_path, 0o755)
    tmp_path.chmod(0o777)
    assert (state_folder(tmp_path), tmp_path.stat().st_mode & 0o777) == (tmp_path, 0o700)


@pytest.mark.parametrize("name", ["/", "/tmp", "/var/tmp/."])
def test_everybodys_folder_holds_no_sessions_and_stays_as_it_is(name: str) -> None:
    before = Path(name).stat()
    with pytest.raises(NotOurs, match="is everybody's folder; name another place"):
        state_folder(Path(name))
    assert Path(name).stat().st_mode == before.st_mode


def test_the_peer_of_a_socket_is_known() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert peer_uid(one) == os.getuid()


async def test_a_socket_that_was_removed_is_bound_again_and_so_is_its_address(tmp_path: Path) -> None:
    async with listening(tmp_path) as house:
        early = await visit(tmp_path)
        await early.initialize()
        keeping = asyncio.create_task(house.listener.keep_bound(every=0.001))
        path = tmp_path / "run" / "socket"
        path.unlink()
        path.parent.rmdir()
        await until(lambda: identity(path) is not None and read_address(tmp_path) == path)
        late = await visit(tmp_path)
        assert "result" in await late.initialize()
        assert await early.reply("agents/echo", {"value": 1}) == {
            "jsonrpc": "2.0",
            "id": "own",
            "result": {"value": 1},
        }
        assert house.reception.clients == 2
        keeping.cancel()
        early.hang_up()
        late.hang_up()


async def test_a_socket_that_cannot_be_bound_again_is_tried_until_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(tmp_path) as house:
        keeping = asyncio.create_task(house.listener.keep_bound(every=0.001))
        path = tmp_path / "run" / "socket"
        path.unlink()
        path.parent.rmdir()
        path.parent.write_text("in the way")
        await until(lambda: "cannot be bound again" in caplog.text)
        path.parent.unlink()
        await until(lambda: identity(path) is not None)
        keeping.cancel()


async def test_a_connection_too_many_is_told_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with listening(tmp_path) as house:
        peers = [await visit(tmp_path) for _ in range(LIMITS.connections)]
        await until(lambda: house.reception.clients == LIMITS.connections)
        refused = await visit(tmp_path)
        answer, end = await refused.message(), await refused.message()
        assert "result" in await peers[-1].initialize()
        for peer in (*peers, refused):
            peer.hang_up()
        await until(lambda: house.reception.clients == 0)
    data = {"kind": "overloaded", "retryable": True, "retryAfterMs": 1000}
    error = {"code": -31011, "message": "the daemon has 64 connections", "data": data}
    assert (answer, end) == ({"jsonrpc": "2.0", "id": None, "error": error}, None)
    assert "a connection is refused: there are 64" in caplog.text


async def test_who_has_said_nothing_for_long_makes_room_and_nobody_else_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    limits = LIMITS.model_copy(update={"connections": 3})
    async with listening(tmp_path, limits, clock=lambda: now) as house:
        greeted, silent, later = [await visit(tmp_path) for _ in range(3)]
        await greeted.initialize()
        await until(lambda: house.reception.clients == 3)
        now = SILENT_SECONDS - 1
        early = await visit(tmp_path)
        assert (await early.message())["error"]["data"]["kind"] == "overloaded"
        now = SILENT_SECONDS
        newcomers = [await visit(tmp_path), await visit(tmp_path)]
        assert ["result" in await one.initialize() for one in newcomers] == [True, True]
        assert [await one.message() for one in (silent, later)] == [None, None]
        last = await visit(tmp_path)
        assert (await last.message())["error"]["data"]["kind"] == "overloaded"
        assert (await greeted.reply("agents/echo", {"value": 1}))["result"] == {"value": 1}
        for peer in (greeted, silent, later, early, last, *newcomers):
            peer.hang_up()
        await until(lambda: house.reception.clients == 0)
    assert caplog.text.count("a connection that said nothing for 10 s makes room for another") == 2


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
async def test_a_real_other_user_is_hung_up_on_even_where_the_modes_let_it_in(tmp_path: Path) -> None:
    program = """import os, socket, sys
os.chdir(sys.argv[1]); os.setgid(65534); os.setuid(65534)
connection = socket.socket(socket.AF_UNIX); connection.connect("socket")
try: print(len(connection.recv(100)))
except ConnectionError: print(0)"""
    async with listening(tmp_path) as house:
        (tmp_path / "run").chmod(0o711)
        (tmp_path / "run" / "socket").chmod(0o666)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, tmp_path / "run", stdout=asyncio.subprocess.PIPE
        )
        assert ((await process.communicate())[0], house.reception.clients) == (b"0\n", 0)


async def test_another_user_is_hung_up_on_and_never_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with listening(tmp_path, uid_of=lambda _: os.getuid() + 1) as house:
        peer = await visit(tmp_path)
        peer.ask(1, "initialize", {})
        assert await peer.message() is None
        assert house.reception.clients == 0
        peer.hang_up()
    assert f"a connection of user {os.getuid() + 1} is refused" in caplog.text


async def test_a_listener_that_closes_answers_who_waits(tmp_path: Path) -> None:
    async with listening(tmp_path) as house:
        peer = await visit(tmp_path)
        await peer.initialize()
        peer.ask(1, "agents/wait")
        await peer.reply("agents/echo", {})
        await house.reception.close()
        answer = await peer.message()
        peer.hang_up()
    assert answer["error"]["data"] == {"kind": "daemon/gone", "retryable": True}
