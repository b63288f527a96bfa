"""Whatever lies in the state directory, and whoever else starts a daemon there, keeps nobody waiting for good."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from abey.shared.places import address_path, log_path, read_address, socket_path
from abey.shared.starting import DidNotStart, NoDaemon, NotOurDaemon, connect, keep_turn


def test_a_pipe_in_the_place_of_the_address_tells_nothing(tmp_path: Path) -> None:
    os.mkfifo(address_path(tmp_path))
    assert read_address(tmp_path) is None


def test_a_pipe_in_the_place_of_the_log_keeps_the_daemon_from_starting_at_once(tmp_path: Path) -> None:
    log = log_path(tmp_path)
    log.parent.mkdir(mode=0o700)
    os.mkfifo(log)
    env = {"ABEY_RUNTIME_DIR": str(tmp_path / "run"), "HOME": str(tmp_path)}
    with pytest.raises(DidNotStart, match=r"the daemon cannot be started: .*daemon\.log"):
        connect(tmp_path, env, start=True, timeout=5)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_a_socket_of_another_user_is_not_talked_to(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    tmp_path.chmod(0o755)
    name = socket_path(tmp_path, {}).name
    program = """import os, socket, sys
os.chdir(sys.argv[1]); os.setgid(65534); os.setuid(65534)
listening = socket.socket(socket.AF_UNIX); listening.bind(sys.argv[2]); listening.listen()
print("here", flush=True); sys.stdin.read()"""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", program, theirs, name], stdin=pipe, stdout=pipe, text=True
    ) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == "here\n"
        address_path(tmp_path).write_text(f"{theirs / name}\n")
        env = {"ABEY_RUNTIME_DIR": str(tmp_path / "run"), "HOME": str(tmp_path)}
        with pytest.raises(NotOurDaemon) as refused:
            connect(tmp_path, env, start=True, timeout=5)
        stranger.communicate()
    assert str(refused.value) == f"what listens at {theirs / name} belongs to user 65534"


def test_a_folder_that_was_copied_with_its_address_has_a_daemon_of_its_own(tmp_path: Path) -> None:
    first, copy = tmp_path / "first", tmp_path / "copy"
    env = {"ABEY_RUNTIME_DIR": str(tmp_path / "run")}
    with socket.socket(socket.AF_UNIX) as listening:
        path = socket_path(first, env)
        path.parent.mkdir()
        listening.bind(str(path))
        listening.listen()
        for folder in (first, copy):
            folder.mkdir()
            address_path(folder).write_text(f"{path}\n")
        connect(first, env, start=False, timeout=1).close()
        with pytest.raises(NoDaemon):
            connect(copy, env, start=False, timeout=1)


def test_a_turn_that_another_keeps_is_not_waited_for_without_end(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with keep_turn(state, 1), pytest.raises(DidNotStart) as kept, keep_turn(state, 0.05):
        pass
    assert str(kept.value) == f"another program has been starting a daemon of {state} for 0.05 s; try again"
    with keep_turn(state, 0.05):
        pass


def test_who_keeps_the_turn_is_the_one_that_starts(tmp_path: Path) -> None:
    state = tmp_path / "state"
    env = {"ABEY_RUNTIME_DIR": str(tmp_path), "ABEY_DAEMON": "sh -c 'touch \"$ABEY_STATE_DIR/started\"; exit 3'"}
    with keep_turn(state, 1) as turn:
        with pytest.raises(DidNotStart, match="no daemon accepted within"):
            connect(state, env, start=True, timeout=0.1)
        assert not (state / "started").exists()
        with pytest.raises(DidNotStart, match="ended with status 3"):
            connect(state, env, start=True, timeout=20, turn=turn)
        assert (state / "started").exists()
