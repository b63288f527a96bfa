"""A daemon and a forwarder of an editor end when the editor was killed, though somebody else holds its pipe open."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support import fake_daemon
from support.fake_daemon import environment
from support.killed_editor import Editor
from support.raw_peer import INITIALIZE, RawPeer, until

from abey.daemon.parent import Parent, ancestors, watch
from abey.rpc.framing import frame
from abey.shared.places import socket_path

STANDALONE = [sys.executable, "-P", fake_daemon.__file__, "--stdio", "--standalone"]
FORWARDER = [sys.executable, "-P", "-m", "abey.daemon", "--stdio"]


async def test_a_standalone_daemon_ends_with_its_editor_and_does_not_wait_for_a_step(tmp_path: Path) -> None:
    env = environment(tmp_path)
    with Editor(env, *STANDALONE) as editor:
        assert editor.says(id=1, method="initialize", params=INITIALIZE).startswith("Content-Length: ")
        other = RawPeer(*await asyncio.open_unix_connection(socket_path(tmp_path / "state", env)))
        await other.initialize()
        other.ask(1, "agents/wait")
        await other.reply("agents/echo", {})
        editor.is_killed()
        answer = await other.message()
        other.hang_up()
        await editor.server_ended()
    assert answer["error"]["data"]["kind"] == "daemon/gone"
    assert not socket_path(tmp_path / "state", env).exists()


async def test_a_forwarder_ends_with_its_editor_and_the_shared_daemon_stays(tmp_path: Path) -> None:
    env = environment(tmp_path)
    daemon = await fake_daemon.Program.daemon(env)
    await until(socket_path(tmp_path / "state", env).exists)
    with Editor(env, *FORWARDER) as editor:
        assert editor.says(id=1, method="initialize", params=INITIALIZE).startswith("Content-Length: ")
        editor.is_killed()
        await editor.server_ended()
    left = RawPeer(*await asyncio.open_unix_connection(socket_path(tmp_path / "state", env)))
    assert "result" in await left.initialize()
    left.hang_up()
    daemon.process.send_signal(signal.SIGTERM)
    assert (await daemon.end())[0] == 0


async def test_an_editor_behind_a_wrapper_is_known_by_its_process_id(tmp_path: Path) -> None:
    env = environment(tmp_path)
    wrapper = ["sh", "-c", f"{' '.join(STANDALONE)}; true"]
    with Editor(env, *wrapper) as editor:
        params = {**INITIALIZE, "processId": editor.process.pid}
        assert editor.says(id=1, method="initialize", params=params).startswith("Content-Length: ")
        editor.is_killed()
        await editor.server_ended()
        await until(lambda: not socket_path(tmp_path / "state", env).exists())


@pytest.mark.parametrize("named", [None, 0, -1, 1 << 40, 4_194_305, True, 1.5, "1", [1]])
def test_a_process_id_that_is_none_of_ours_ends_nothing(named: Any) -> None:
    gone = threading.Event()
    parent = Parent(gone.set)
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": named}}
    parent.hears(frame(json.dumps(message).encode()))
    assert not gone.is_set()


@pytest.mark.parametrize(
    "said", [b"POST / HTTP/1.1\r\n", frame(b"{nope"), frame(b"[]"), frame(b'{"method":"initialize"}')]
)
def test_what_is_no_initialize_names_nobody(said: bytes) -> None:
    gone = threading.Event()
    parent = Parent(gone.set)
    for byte in said:
        parent.hears(bytes([byte]))
    parent.hears(frame(b'{"method":"initialize","params":{"processId":1}}'))
    assert not gone.is_set()


def test_a_stranger_that_ends_is_no_reason_to() -> None:
    """As in a container, where the number that the editor has outside is another process."""
    gone = threading.Event()
    with subprocess.Popen(["sleep", "100"]) as stranger:
        parent = Parent(gone.set)
        message = {"method": "initialize", "params": {"processId": stranger.pid}}
        parent.hears(frame(json.dumps(message).encode()))
        stranger.kill()
    assert not gone.wait(0.1)


def test_ancestors_begin_with_who_started_us() -> None:
    assert ancestors()[0] == os.getppid()
    assert os.getpid() not in ancestors()


def test_one_that_has_ended_already_is_told_at_once() -> None:
    with subprocess.Popen(["true"]) as process:
        pass
    gone = threading.Event()
    watch(process.pid, gone.set)
    assert gone.wait(10)


def test_without_a_handle_of_the_system_it_is_asked_again_and_again() -> None:
    gone = threading.Event()
    with subprocess.Popen(["sleep", "100"]) as process:
        watch(process.pid, gone.set, handle_of=lambda _: None)
        assert not gone.wait(0.1)
        process.kill()
    assert gone.wait(10)


async def test_a_launcher_that_leaves_at_once_is_not_waited_for(tmp_path: Path) -> None:
    """As `setsid` does: what it started serves on, until its stdin ends."""
    env = environment(tmp_path)
    launcher = "import subprocess, sys; subprocess.Popen(sys.argv[1:])"
    daemon = await fake_daemon.Program.start(env, sys.executable, "-c", launcher, *STANDALONE)
    await until(lambda: daemon.process.returncode is not None)
    assert "result" in await daemon.peer.initialize()
    assert (await daemon.peer.reply("agents/echo", {"value": 1}))["result"] == {"value": 1}
    daemon.peer.writer.write_eof()
    assert await daemon.peer.message() is None
    await until(lambda: not socket_path(tmp_path / "state", env).exists())
    assert (await daemon.end())[0] == 0
