"""The daemon as programs see it: one of it, started by whoever comes first, ended by a signal, a client or idleness."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.fake_daemon import Program, environment
from support.raw_peer import INITIALIZE, RawPeer, until

from abey.rpc.framing import frame
from abey.runtime.store.locks import lock_state
from abey.shared.owner import state_folder
from abey.shared.places import log_path, read_address, read_tcp_address, socket_path
from abey.shared.starting import DidNotStart, NoDaemon, connect


@pytest.fixture
async def env(tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """A machine of its own; a shared daemon that was started on it ends with the test."""
    machine = environment(tmp_path)
    yield machine
    for pid in _holders(tmp_path):
        os.kill(pid, signal.SIGTERM)
        await until(lambda: not _holders(tmp_path))


def _holders(root: Path) -> list[int]:
    """The daemon that says it holds the state folder; a test that holds it itself is none."""
    try:
        words = (root / "state" / "daemon.lock").read_text().split()
    except FileNotFoundError:
        return []
    pid = int(words[1]) if len(words) > 1 else os.getpid()
    return [pid] if pid != os.getpid() and _runs(pid) else []


def _variables(pid: int) -> set[bytes]:
    return {line.partition(b"=")[0] for line in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}


def _runs(pid: int) -> bool:
    """Of a child of ours that has ended, too, there is a process, until somebody asks how."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


async def visit(env: dict[str, str]) -> RawPeer:
    path = socket_path(Path(env["ABEY_STATE_DIR"]), env)
    await until(path.exists)
    return RawPeer(*await asyncio.open_unix_connection(path))


async def test_eight_forwarders_at_once_start_one_daemon(env: dict[str, str], tmp_path: Path) -> None:
    forwarders = await asyncio.gather(*(Program.forwarder(env) for _ in range(8)))
    await asyncio.gather(*(forwarder.peer.initialize() for forwarder in forwarders))
    log = log_path(tmp_path / "state").read_text()
    assert log.count("INFO abey.daemon.serving: serving ") == 1
    assert log.count("holds") == 0
    assert _holders(tmp_path)
    for forwarder in forwarders:
        await forwarder.peer.reply("shutdown")
        forwarder.peer.notify("exit")
    assert [(await forwarder.end())[0] for forwarder in forwarders] == [0] * 8


async def test_a_started_daemon_is_on_its_own(env: dict[str, str], tmp_path: Path) -> None:
    inherited, kept = os.pipe()
    os.set_inheritable(kept, True)
    connection = connect(tmp_path / "state", {**env, "PWD": "/usr", "OLDPWD": "/var"}, start=True, timeout=20)
    connection.close()
    await until(lambda: bool(_holders(tmp_path)))
    [pid] = _holders(tmp_path)
    assert not {b"PWD", b"OLDPWD"} & _variables(pid)
    os.close(kept)
    assert os.read(inherited, 1) == b""
    os.close(inherited)
    stdin = os.readlink(f"/proc/{pid}/fd/0")
    log = os.fspath(log_path(tmp_path / "state"))
    outputs = {os.readlink(f"/proc/{pid}/fd/{number}") for number in (1, 2)}
    assert (os.getsid(pid), os.readlink(f"/proc/{pid}/cwd"), stdin, outputs) == (pid, "/", os.devnull, {log})


def test_no_daemon_is_said_where_none_is_to_be_started(tmp_path: Path) -> None:
    with pytest.raises(NoDaemon, match="no daemon is running for"):
        connect(tmp_path / "state", environment(tmp_path), start=False, timeout=1)
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("raise SystemExit('it has no legs')", "the daemon ended with status 1: it has no legs"),
        ("import time; time.sleep(60)", "no daemon accepted within 0.2 s; see "),
    ],
)
def test_a_daemon_that_does_not_come_up_is_named_with_its_last_words(tmp_path: Path, program: str, reason: str) -> None:
    env = {**environment(tmp_path), "ABEY_DAEMON": f'{sys.executable} -c "{program}"'}
    with pytest.raises(DidNotStart) as failed:
        connect(tmp_path / "state", env, start=True, timeout=20 if "legs" in program else 0.2)
    assert str(failed.value).startswith(reason)


def test_a_daemon_that_ends_without_a_word_is_not_given_those_of_an_older_one(tmp_path: Path) -> None:
    env = {**environment(tmp_path), "ABEY_DAEMON": f"{sys.executable} -c 'raise SystemExit(3)'"}
    log = log_path(tmp_path / "state")
    log.parent.mkdir(mode=0o700, parents=True)
    log.write_text("the disk was full\n")
    (tmp_path / "state").chmod(0o700)
    with pytest.raises(DidNotStart) as failed:
        connect(tmp_path / "state", env, start=True, timeout=20)
    assert str(failed.value) == f"the daemon ended with status 3: it wrote no reason to {log}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_the_daemon_gracefully(env: dict[str, str], tmp_path: Path, number: int) -> None:
    daemon = await Program.daemon(env)
    peer = await visit(env)
    await peer.initialize()
    peer.ask(1, "agents/wait")
    await peer.reply("agents/echo", {})
    daemon.process.send_signal(number)
    answer, end = await peer.message(), await peer.message()
    peer.hang_up()
    status, errors = await daemon.end()
    assert (answer["error"]["data"]["kind"], end, status) == ("daemon/gone", None, 0)
    assert errors.splitlines()[-1] == "closed"
    assert "draining" not in errors
    assert not socket_path(tmp_path / "state", env).exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_that_comes_while_the_daemon_loads_ends_it_once_and_for_all(
    env: dict[str, str], tmp_path: Path, number: int
) -> None:
    daemon = await Program.daemon(env)
    await until(lambda: daemon.process.pid in _holders(tmp_path))
    daemon.process.send_signal(number)
    status, _ = await daemon.end()
    assert (status, (tmp_path / "state" / "daemon.lock").read_text()) == (0, "")


ENDS = """
import asyncio, threading, time
from abey.daemon.leaving import leave_threads
from abey.daemon.serving import to_its_end
async def daemon():
    threading.Thread(target=time.sleep, args=(%s,), name="late").start()
    return 0
leave_threads(asyncio.run(to_its_end(daemon())))
print("it ended")
"""


@pytest.mark.parametrize(
    ("seconds", "printed", "said"),
    [("0.3", "it ended\n", ""), ("3600", "", "ends although something does not: <Thread(late, ")],
)
def test_what_ends_in_a_moment_is_waited_for_and_nothing_for_good(
    env: dict[str, str], seconds: str, printed: str, said: str
) -> None:
    done = subprocess.run([sys.executable, "-c", ENDS % seconds], env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr[: len(said)]) == (printed, said)


async def test_a_second_daemon_finds_the_first_and_leaves_it_be(env: dict[str, str], tmp_path: Path) -> None:
    first = await Program.daemon(env)
    peer = await visit(env)
    await peer.initialize()
    shared = await (await Program.daemon(env)).end()
    standalone = await (await Program.daemon(env, "--stdio", "--standalone")).end()
    listening = await (await Program.daemon(env, "--listen", "127.0.0.1:0", "--token-file", str(tmp_path / "t"))).end()
    said = f"abey-daemon: the daemon with pid {first.process.pid} holds {tmp_path / 'state' / 'daemon.lock'}"
    unserved = f"{said}; TCP is not served: `abey daemon stop` ends that one first\n"
    assert (shared, standalone, listening) == ((0, f"{said}\n"), (6, f"{said}\n"), (6, unserved))
    assert "result" in await peer.reply("agents/echo", {})
    peer.hang_up()
    first.process.terminate()
    await first.end()


@pytest.mark.parametrize("listen", [[], ["--listen", "127.0.0.1:0", "--token-file", "{root}/token"]])
async def test_a_starter_waits_for_a_daemon_on_its_way_out_whatever_its_own_is_to_serve(
    env: dict[str, str], tmp_path: Path, listen: list[str]
) -> None:
    lock = lock_state(state_folder(tmp_path / "state"), "2026-01-01T00:00:00.000Z")
    own = " ".join([env["ABEY_DAEMON"], *(word.format(root=tmp_path) for word in listen)])
    coming = asyncio.create_task(
        asyncio.to_thread(connect, tmp_path / "state", {**env, "ABEY_DAEMON": own}, start=True, timeout=60)
    )
    log = log_path(tmp_path / "state")
    await until(lambda: log.exists() and log.read_text().count("holds") >= 2)
    lock.release()
    (await coming).close()
    await until(lambda: bool(_holders(tmp_path)))
    await until(lambda: (read_tcp_address(tmp_path / "state") is not None) == bool(listen))


async def test_a_daemon_without_clients_ends_by_itself_and_one_with_a_client_does_not(env: dict[str, str]) -> None:
    daemon = await Program.daemon(env, "--idle-exit", "0.5")
    peer = await visit(env)
    await peer.initialize()
    waits = asyncio.create_task(daemon.end())
    done, _ = await asyncio.wait({waits}, timeout=1)
    assert not done
    peer.hang_up()
    status, errors = await waits
    assert (status, "nobody was here for 0.5 s" in errors) == (0, True)


async def test_a_standalone_daemon_serves_its_pipe_and_its_socket(env: dict[str, str], tmp_path: Path) -> None:
    daemon = await Program.daemon(env, "--stdio", "--standalone")
    await daemon.peer.initialize()
    other = await visit(env)
    await other.initialize()
    assert read_address(tmp_path / "state") == socket_path(tmp_path / "state", env)
    other.notify("exit")
    assert await other.message() is None
    other.hang_up()
    assert "result" in await daemon.peer.reply("agents/echo", {})
    await daemon.peer.reply("shutdown")
    daemon.peer.notify("exit")
    status, errors = await daemon.end()
    assert (status, errors.splitlines()[-3:]) == (0, ["draining", "drained", "closed"])


async def test_what_a_handler_or_its_child_prints_is_no_message(env: dict[str, str]) -> None:
    daemon = await Program.daemon(env, "--stdio", "--standalone")
    await daemon.peer.initialize()
    answer = await daemon.peer.reply("agents/print")
    daemon.peer.notify("exit")
    status, errors = await daemon.end()
    assert (answer["result"], status) == ({}, 1)
    assert ("noise from a handler" in errors, "noise from a child" in errors) == (True, True)
    assert "this goes to no client" in errors


async def test_a_standalone_daemon_reads_a_file_and_writes_a_file(env: dict[str, str], tmp_path: Path) -> None:
    asked, answered = tmp_path / "in", tmp_path / "out"
    asked.write_bytes(_frames(("initialize", INITIALIZE), ("agents/echo", {"value": 1}), ("shutdown", None)))
    command = [sys.executable, "-P", env["ABEY_DAEMON"].split()[-1], "--stdio", "--standalone"]
    with asked.open("rb") as stdin, answered.open("wb") as stdout:
        process = await asyncio.create_subprocess_exec(
            *command, env=env, stdin=stdin, stdout=stdout, stderr=asyncio.subprocess.DEVNULL
        )
        assert await process.wait() == 0
    assert answered.read_bytes().count(b"Content-Length") == 3


def _frames(*requests: tuple[str, Any]) -> bytes:
    bodies = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(requests)
    ]
    return b"".join(frame(json.dumps(body).encode()) for body in bodies)


async def test_a_forwarder_says_when_its_daemon_was_killed(env: dict[str, str], tmp_path: Path) -> None:
    forwarder = await Program.forwarder(env)
    await forwarder.peer.initialize()
    forwarder.peer.ask(1, "agents/wait")
    await forwarder.peer.reply("agents/echo", {})
    [pid] = _holders(tmp_path)
    os.kill(pid, signal.SIGKILL)
    answer = await forwarder.peer.message()
    status, _ = await forwarder.end()
    assert (answer["id"], answer["error"]["data"]["kind"], status) == (1, "daemon/gone", 1)
    again = await Program.forwarder(env)
    assert "result" in await again.peer.initialize()
    again.peer.writer.write_eof()
    assert (await again.end())[0] == 0
