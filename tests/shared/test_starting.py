"""What lies in the state directory instead of our files keeps nobody waiting."""

import os
from pathlib import Path

import pytest

from abey.shared.places import address_path, log_path, read_address
from abey.shared.starting import DidNotStart, connect


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
