"""One daemon a state directory."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from abey.runtime.store.locks import LockingUnsupported, StateLocked, lock_state

NOW = "2025-11-30T00:00:00.000Z"

HOLDER = """
import sys
from pathlib import Path
from abey.runtime.store.locks import lock_state
lock = lock_state(Path(sys.argv[1]), "now")
print("held", flush=True)
sys.stdin.read()
"""


def holder(state_dir: Path) -> subprocess.Popen[str]:
    """Another daemon, which holds the lock when this returns, until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(state_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_daemon_is_refused_and_told_who_is_there(tmp_path: Path) -> None:
    with holder(tmp_path) as first:
        with pytest.raises(StateLocked) as refused:
            lock_state(tmp_path, NOW)
        assert (str(refused.value), refused.value.pid) == (
            f"the daemon with pid {first.pid} holds {tmp_path / 'daemon.lock'}",
            first.pid,
        )
        assert first.stdin is not None
        first.stdin.close()
        first.wait()
    lock_state(tmp_path, NOW).release()


def test_the_lock_of_a_daemon_that_was_killed_is_free(tmp_path: Path) -> None:
    with holder(tmp_path) as first:
        first.kill()
        first.wait()
    lock_state(tmp_path, NOW).release()


def test_the_lock_holds_within_one_process_too(tmp_path: Path) -> None:
    lock = lock_state(tmp_path, NOW)
    with pytest.raises(StateLocked):
        lock_state(tmp_path, NOW)
    lock.release()
    lock_state(tmp_path, NOW).release()


def test_the_file_says_who_holds_it_and_is_for_its_owner_only(tmp_path: Path) -> None:
    lock = lock_state(tmp_path, NOW)
    path = tmp_path / "daemon.lock"
    assert path.read_text() == f"pid {os.getpid()}\nstarted {NOW}\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert not os.get_inheritable(lock.descriptor)
    lock.release()
    assert path.read_text() == ""


def test_a_holder_that_has_not_said_who_it_is_is_named_so(tmp_path: Path) -> None:
    lock = lock_state(tmp_path, NOW)
    os.ftruncate(lock.descriptor, 0)
    with pytest.raises(StateLocked, match="another daemon holds"):
        lock_state(tmp_path, NOW)
    lock.release()


@pytest.mark.parametrize("recreated", [False, True])
def test_a_lock_file_that_was_removed_while_it_was_locked_is_not_trusted(tmp_path: Path, recreated: bool) -> None:
    path = tmp_path / "daemon.lock"
    taken: list[int] = []

    def flock(descriptor: int, _operation: int) -> None:
        taken.append(os.fstat(descriptor).st_ino)
        if len(taken) == 1:
            path.rename(tmp_path / "removed")
            if recreated:
                path.touch()

    lock = lock_state(tmp_path, NOW, flock)
    assert len(taken) == 2
    assert taken[1] == path.stat().st_ino != taken[0]
    lock.release()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_refused(tmp_path: Path, number: int) -> None:
    def flock(_descriptor: int, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.raises(LockingUnsupported, match=r"cannot lock files: .*; choose another ABEY_STATE_DIR"):
        lock_state(tmp_path, NOW, flock)
