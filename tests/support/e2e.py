"""One user's machine for the end-to-end tests: the installed programs, folders of its own, and what stands in them."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.e2e_peer import PATIENCE, Gone, Peer

from abey.shared.starting import NoDaemon, connect

PROGRAMS = Path(sys.executable).parent
KEPT = ("LANG", "LC_ALL", "TZ")

Value = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """How a program ended and what it printed."""

    code: int
    out: str
    err: str


class Place:
    """State, config and runtime folders and a workspace; nothing else of the machine is read or written."""

    def __init__(self, root: Path, **more: str) -> None:
        self.root = root
        self.work = root / "work"
        self.state = root / "state"
        self.agents = root / "config" / "agents"
        self.count = self.work / "count"
        self.home = root / "home"
        for folder in (self.work, self.home, self.agents):
            folder.mkdir(parents=True)
        self.env = {
            **{name: os.environ[name] for name in KEPT if name in os.environ},
            "PATH": f"{PROGRAMS}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "ABEY_STATE_DIR": str(self.state),
            "ABEY_CONFIG_DIR": str(root / "config"),
            "ABEY_RUNTIME_DIR": str(root / "run"),
            "NO_COLOR": "1",
            **more,
        }

    def with_work(self, name: str) -> "Place":
        """The same machine with another workspace."""
        other = copy(self)
        other.work = self.root / name
        other.count = other.work / "count"
        other.work.mkdir()
        return other

    def program(self, *arguments: str) -> list[str]:
        """The command line of the installed `abey`."""
        return [str(PROGRAMS / "abey"), *arguments]

    def run(self, *arguments: str, stdin: str | None = None, cwd: Path | None = None) -> Done:
        """`abey` with these arguments, to its end."""
        done = subprocess.run(
            self.program(*arguments),
            cwd=cwd or self.work,
            env=self.env,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def abey(self, *arguments: str, code: int = 0, stdin: str | None = None) -> str:
        """What `abey` prints on stdout when it ends with `code`."""
        done = self.run(*arguments, stdin=stdin)
        assert done.code == code, done
        return done.out

    def json(self, *arguments: str, code: int = 0) -> Any:
        """The value that `abey … --json` prints when it ends with `code`."""
        return json.loads(self.abey(*arguments, "--json", code=code))

    def popen(self, *arguments: str, **more: Any) -> "subprocess.Popen[str]":
        """`abey` as a process that runs beside the test."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.program(*arguments), cwd=self.work, env=self.env, text=True, stdout=pipe, stderr=pipe, **more
        )

    def peer(self, name: str = "test", start: bool = True) -> Peer:
        """A client that has greeted the shared daemon; with `start` it is started if there is none. Raises NoDaemon."""
        peer = Peer(connect(self.state, self.env, start=start, timeout=PATIENCE))
        try:
            peer.initialize(name, self.env)
        except Gone:
            peer.close()
            raise
        return peer

    def reach(self) -> Peer | None:
        """A client of the daemon that runs, None while none can be reached."""
        try:
            return self.peer(start=False)
        except (NoDaemon, Gone):
            return None

    def rpc(self, method: str, **params: Any) -> Any:
        """The result of one request on a connection of its own. Raises Refusal."""
        with self.peer() as peer:
            return peer.request(method, **params)

    def session(self, session_id: str) -> Any:
        return self.rpc("agents/get", sessionId=session_id)["session"]

    def journal(self, session_id: str) -> Path:
        return self.state / "sessions" / session_id / "journal.jsonl"

    def log(self) -> str:
        return (self.state / "logs" / "daemon.log").read_text()

    def ran(self) -> int:
        """How often the counter tool has run."""
        return len(self.count.read_text().splitlines()) if self.count.exists() else 0

    def daemon_pid(self) -> int | None:
        """The shared daemon's, None where none runs."""
        peer = self.reach()
        if peer is None:
            return None
        with peer:
            return peer.pid

    def kill_daemon(self) -> None:
        """kill -9, if one runs; returns when it is gone."""
        pid = self.daemon_pid()
        if pid is not None:
            kill(pid)

    def agent(self, name: Any = "a", **config: Any) -> Path:
        """An agent file in the workspace; its model is scripted, its tools are those of `tools`."""
        path = self.work / f"{name}.json"
        path.write_text(json.dumps(self.config(name, **config)))
        return path

    def config(
        self,
        name: Any = "a",
        script: Any = (),
        rules: Any = (),
        default: Any = "runSync",
        loop: Any = False,
        **more: Any,
    ) -> Value:
        return {
            "slug": name,
            "systemPrompt": "test",
            "model": {"provider": "scripted", "script": list(script), **({"loop": True} if loop else {})},
            "toolCallPolicy": {"default": default, "rules": list(rules)},
            "tools": self.tools(),
            **more,
        }

    def tools(self) -> list[Value]:
        """bump writes a line a run, slow runs until it is killed, sh is a shell, ext only others can run."""
        word = {"type": "object", "properties": {"x": {"type": "string"}}}
        shell = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
        return [
            command("bump", word, ["sh", "-c", f"echo line >> {self.count}; echo bumped"]),
            command("slow", word, ["sh", "-c", f"echo line >> {self.count}; exec sleep 300"]),
            command("bad", word, ["sh", "-c", "echo half; exit 3"]),
            command("sh", shell, ["sh", "-c", "{command}"]),
            {"kind": "external", "name": "ext", "description": "outside", "parameters": {"type": "object"}},
        ]

    def close(self) -> None:
        """Nothing of this machine runs any more."""
        self.kill_daemon()


def command(name: str, parameters: Value, argv: list[str], **more: Any) -> Value:
    return {"kind": "command", "name": name, "description": name, "parameters": parameters, "argv": argv, **more}


def calls(*asked: tuple[str, Value]) -> Value:
    """A script entry that asks for these tools with these arguments."""
    return {"calls": [{"tool": tool, "arguments": arguments} for tool, arguments in asked]}


def says(text: str) -> Value:
    """A script entry that is an answer."""
    return {"text": text}


def deferred(tool: str, reason: str = "approval required") -> Value:
    """A rule that defers a tool."""
    return {"tool": tool, "disposition": {"tag": "defer", "reason": reason}}


def until(condition: Callable[[], Any], what: str = "") -> Any:
    """What `condition` comes to, once that is true; fails when it does not come."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, f"waited in vain {what}"
        select.select([], [], [], 0.005)
    return found


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Sends the signal, kill -9 by default; returns when the process is gone."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            os.kill(pid, number)
            assert select.select([handle], [], [], PATIENCE)[0], f"process {pid} does not go"
        finally:
            os.close(handle)
