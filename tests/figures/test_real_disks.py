"""Real faults under the real daemon: full, read-only and limited disks, and system calls that fail."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support import e2e_journal
from support.e2e import Place, calls, kill, says
from support.e2e_crash import Nursery
from support.e2e_peer import Peer, Refusal
from support.figures import Figures

pytestmark = pytest.mark.figures

NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount")


def works(*command: str) -> bool:
    """Whether this machine has that program and allows what it does."""
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def real_disks(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What came of the cases of real_disk.py."""
    if not works(*NAMESPACES, "true"):
        pytest.skip("no user namespaces here: unshare --user --map-root-user --mount fails")
    folder = str(tmp_path_factory.mktemp("disks"))
    command = [*NAMESPACES, sys.executable, "-P", "-m", "support.harness.real_disk", folder]
    tree = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": tree}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize(("case", "name"), [("full", "ENOSPC"), ("read-only", "EROFS"), ("too-large", "EFBIG")])
def test_a_session_on_a_disk_that_fails_stops_with_the_reason_and_goes_on_when_it_is_mended(
    real_disks: Any, figures: Figures, case: str, name: str
) -> None:
    """C07: a full disk is told, and no tool runs without a record."""
    found = dict(real_disks[case])
    other = found.pop("other")
    assert found == {
        "refused": {"kind": "record/failed", "errno": name},
        "toolsWithoutRecord": 0,
        "reopened": [True, True],
        "wentOn": ["went on"] * 3,
        "journal": True,
        "damaged": [],
    }
    assert case == "full" or other == "went on", other
    figures.note(f"tools that ran without a record on a {case} disk, and records that were lost", 0, f"errno {name}")


@pytest.fixture
def traced(tmp_path: Path, nursery: Nursery) -> Iterator[tuple[Place, Peer]]:
    """A daemon with two sessions."""
    if not works("strace", "-o", "/dev/null", "true"):
        pytest.skip("no strace here, or it may trace nothing")
    with closing(Place(tmp_path / "machine")) as place, nursery.wake(place) as peer:
        for name in ("s1", "s2"):
            config = place.config(name, script=[calls(("bump", {})), says("ok")], loop=True)
            peer.request("agents/start", config=config, prompt="go", cwd=str(place.work), sessionId=name)
        yield place, peer


@contextmanager
def injected(pid: int, path: Path, call: str, fault: str) -> Iterator[None]:
    """That system call of the process on the file comes to `fault`."""
    more = ["-e", f"trace={call}", "-e", f"inject={call}:{fault}", "-P", str(path), "-o", "/dev/null"]
    with subprocess.Popen(["strace", "-f", *more, "-p", str(pid)], stderr=subprocess.PIPE) as strace:
        assert strace.stderr is not None
        assert b"attached" in strace.stderr.readline()
        try:
            yield
        finally:
            strace.send_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("call", "fault", "name"),
    [
        ("fdatasync", "error=EIO", "EIO"),
        ("write", "error=ENOSPC", "ENOSPC"),
        ("write", "error=EDQUOT", "EDQUOT"),
        ("write", "retval=5", "EIO"),
    ],
)
def test_a_system_call_that_fails_stops_one_session_with_the_reason(
    traced: tuple[Place, Peer], figures: Figures, call: str, fault: str, name: str
) -> None:
    place, peer = traced
    with injected(peer.pid, place.journal("s1"), call, fault):
        with pytest.raises(Refusal) as refused:
            peer.request("agents/step", sessionId="s1")
        assert (refused.value.kind, refused.value.data["errnoName"]) == ("record/failed", name)
        assert peer.request("agents/step", sessionId="s2")["outcome"] == "advanced"
    assert peer.request("agents/reopen", sessionId="s1")["applied"]
    for _ in range(3):
        session = peer.request("agents/step", sessionId="s1")["session"]
    lines = e2e_journal.read(place.journal("s1"))
    assert (session["state"], session["revision"], place.ran()) == ("completed", len(lines), 1)
    kill(peer.pid)
    figures.note(f"silent losses where {call} of the daemon comes to {fault}", 0, "strace")
