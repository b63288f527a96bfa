"""Starting a daemon, whatever lies about of those before and whoever dies meanwhile: one runs, and is reached."""

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.e2e import kill, until
from support.fake_daemon import environment

from abey.runtime.store.locks import lock_state
from abey.shared.places import address_path, log_path, read_address, socket_path
from abey.shared.starting import DidNotStart, connect

CLIENT = """
import os, sys
from pathlib import Path
from abey.shared.starting import connect
import socket
import struct
print("here", flush=True)
sys.stdin.readline()
connection = connect(Path(os.environ["ABEY_STATE_DIR"]), os.environ, start=True, timeout=60)
print(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0], flush=True)
sys.stdin.readline()
"""


class Home:
    """One user's machine; nothing of it runs any more when the test is over."""

    def __init__(self, root: Path) -> None:
        self.env = environment(root)
        self.state = root / "state"
        self.state.mkdir(mode=0o700, parents=True)

    def reach(self, timeout: float = 60) -> int:
        """The daemon that answers there, started if there is none."""
        with connect(self.state, self.env, start=True, timeout=timeout) as connection:
            return _pid_of(connection)

    def is_addressed(self) -> bool:
        """Whether the daemon has said where it listens, which it does a moment after it can be reached there."""
        return read_address(self.state) == socket_path(self.state, self.env)

    def holder(self) -> int | None:
        """The daemon that says it holds the state folder."""
        try:
            words = (self.state / "daemon.lock").read_text().split()
        except FileNotFoundError:
            return None
        return int(words[1]) if len(words) > 1 and Path(f"/proc/{words[1]}").exists() else None

    def serving(self) -> int:
        """How many daemons have come to serve, once one has, which can be reached before it says so."""
        return int(until(lambda: log_path(self.state).read_text().count("INFO abey.daemon.serving: serving ")))

    def clear(self) -> None:
        if pid := self.holder():
            kill(pid)


def _pid_of(connection: socket.socket) -> int:
    """Of the process that listens: the one that it said it is when it bound the socket."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int(struct.unpack("3i", credentials)[0])


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.clear()


def clients(home: Home, count: int) -> "list[subprocess.Popen[str]]":
    """Processes that stand ready and connect when they are told to."""
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([sys.executable, "-c", CLIENT], env=home.env, stdin=pipe, stdout=pipe, text=True)
        for _ in range(count)
    ]
    for one in started:
        assert one.stdout is not None
        assert one.stdout.readline() == "here\n"
    return started


def go(client: "subprocess.Popen[str]") -> None:
    assert client.stdin is not None
    client.stdin.write("\n")
    client.stdin.flush()


def reached(client: "subprocess.Popen[str]") -> int:
    """The daemon that it came to."""
    assert client.stdout is not None
    return int(client.stdout.readline())


def test_eight_clients_at_once_start_one_daemon(home: Home) -> None:
    crowd = clients(home, 8)
    for one in crowd:
        go(one)
    assert {reached(one) for one in crowd} == {home.holder()}
    for one in crowd:
        one.communicate("\n")
    assert home.serving() == 1


def test_the_one_that_starts_the_daemon_may_be_killed_in_the_middle(home: Home) -> None:
    first, *others = clients(home, 8)
    go(first)
    until(log_path(home.state).exists)  # it has its turn, and its daemon is on the way or about to be
    for one in others:
        go(one)
    first.kill()
    first.communicate()
    assert {reached(one) for one in others} == {home.holder()}
    for one in others:
        one.communicate("\n")
    assert home.serving() == 1


def test_a_killed_daemon_leaves_nothing_in_the_way(home: Home) -> None:
    first = home.reach()
    until(home.is_addressed)
    kill(first)
    assert socket_path(home.state, home.env).is_socket()
    assert (home.state / "daemon.lock").read_text().startswith(f"pid {first}\n")
    assert home.is_addressed()
    second = home.reach()
    assert (second == first, home.holder()) == (False, second)


@pytest.mark.parametrize("content", [b"/nowhere/socket\n", b"/\0" + b"x" * 300])
def test_an_address_that_leads_nowhere_misleads_nobody(home: Home, content: bytes) -> None:
    address_path(home.state).write_bytes(content)
    assert home.reach() == home.holder()
    until(home.is_addressed)


def test_a_path_too_long_for_a_socket_is_served_from_the_temporary_folder(tmp_path: Path) -> None:
    home = Home(tmp_path / ("long" * 30))
    home.env["TMPDIR"] = str(tmp_path)
    try:
        assert home.reach() == home.holder()
        [there] = (tmp_path / f"abey-{os.getuid()}").iterdir()
        assert there.is_socket()
        until(lambda: read_address(home.state) == there)
    finally:
        home.clear()


def test_a_runtime_folder_that_cannot_be_is_named_with_the_way_out(home: Home, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    home.env["ABEY_RUNTIME_DIR"] = str(tmp_path / "file" / "run")
    with pytest.raises(DidNotStart) as failed:
        home.reach()
    assert str(failed.value) == (
        "the daemon ended with status 1: abey-daemon: the socket cannot be bound: [Errno 20] Not a directory: "
        f"'{tmp_path}/file/run'; ABEY_RUNTIME_DIR names another folder for it"
    )


def test_a_daemon_on_its_way_out_is_waited_for(home: Home) -> None:
    """It still holds the folder, and accepts nobody any more."""
    lock = lock_state(home.state, "2026-01-01T00:00:00.000Z")
    [client] = clients(home, 1)
    go(client)
    until(lambda: log_path(home.state).exists() and log_path(home.state).read_text().count("holds") >= 2)
    lock.release()
    assert reached(client) == home.holder()
    client.communicate("\n")


EARLY = """
import sys, socket
HEAVY = {"asyncio", "pydantic", "pygls", "lsprotocol", "httpx", "watchfiles", "logging", "jsonschema_rs", "cattrs"}
seen = {}
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in HEAVY and name not in seen:
            with socket.socket(socket.AF_UNIX) as probe:
                seen[name] = probe.connect_ex(settings.socket.__fspath__()) == 0
from pathlib import Path
from abey.daemon.settings import read_settings
from abey.daemon import main
import os
settings = read_settings([], os.environ)
sys.meta_path.insert(0, Finder())
class Enough(Exception): pass
def create(settings):
    from abey.daemon.app import create
    app = create(settings)
    print(*sorted(f"{name} {'after' if accepted else 'before'}" for name, accepted in seen.items()), sep="\\n")
    raise Enough
try:
    main.run(settings, create)
except Enough:
    pass
"""


def test_a_daemon_accepts_before_it_loads_what_takes_long(home: Home) -> None:
    done = subprocess.run([sys.executable, "-P", "-c", EARLY], env=home.env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["asyncio after", "logging after", "pydantic after"]
