"""The two ways in which abey does the common work."""

from itertools import pairwise
from pathlib import Path
from typing import Any

from abey.core.views import output
from abey.runtime.live import Live
from abey.runtime.store.io import FileIO
from bench import work
from bench.client import Client
from bench.inside import Inside
from bench.machine import Machine, Process, ended
from bench.peers.playing import Showing, models
from bench.processes import cpu_seconds, peak_mib, written_bytes
from bench.work import STEPS_A_TURN


class InProcess:
    """The core and the journal in the process that asks."""

    extra: dict[str, Any] = {}

    def __init__(self, root: Path) -> None:
        self._root = root
        self._live: dict[str, Live] = {}

    async def open(self) -> None:
        self._inside = Inside(self._root / "state", FileIO(), work.config(), Showing(), models)

    async def start(self, sid: str, text: str) -> None:
        if sid not in self._live:
            self._live[sid] = await self._inside.start(sid)
        await self._inside.prompt(self._live[sid], text)

    async def approve(self, sid: str) -> str:
        if sid not in self._live:
            self._live[sid] = await self._inside.reopen(sid)
        await self._inside.approve(self._live[sid])
        return output(self._live[sid].machine.session) or ""

    async def close(self) -> None:
        await self._inside.close()


class ThroughTheDaemon:
    """`extra` is what the daemon took, where the driver sees its own process alone."""

    _process: Process
    _client: Client

    def __init__(self, root: Path) -> None:
        self._machine = Machine(root, module="bench.peers.daemon")
        self._pending: dict[str, dict[str, Any]] = {}
        self._known: set[str] = set()
        self._written: list[int] = []
        self.extra: dict[str, Any] = {}

    async def open(self) -> None:
        # it ends with its pipe: the driver does not close a peer that it only starts, or resumes
        self._process = self._machine.spawn("--stdio", "--standalone", pipes=True)
        self._client = self._machine.client(self._process)
        self._client.greet(self._machine.env)
        self._cpu = cpu_seconds(self._process.pid)
        self._written.append(written_bytes(self._process.pid))

    async def start(self, sid: str, text: str) -> None:
        if sid in self._known:
            session = self._client.request("agents/send", sessionId=sid, prompt=text, run="turn")["session"]
        else:
            made = {"sessionId": sid, "config": work.config(), "cwd": str(self._machine.work)}
            session = self._client.request("agents/start", **made, prompt=text, run="turn")
            self._known.add(sid)
        [self._pending[sid]] = session["pending"]

    async def approve(self, sid: str) -> str:
        if sid not in self._pending:
            [self._pending[sid]] = self._client.request("agents/get", sessionId=sid)["session"]["pending"]
        pending = self._pending.pop(sid)
        answer = {"outcome": {"kind": "approve"}, "argumentsHash": pending["argumentsHash"], "resume": True}
        done = self._client.request("agents/complete", token=pending["token"], **answer)
        self._written.append(written_bytes(self._process.pid))
        return str(done["session"]["output"])

    async def close(self) -> None:
        pid = self._process.pid
        turns = [after - before for before, after in pairwise(self._written)]
        tenth = turns[-max(1, len(turns) // 10) :]
        self.extra = {
            "daemon_cpu_ms_per_step": (cpu_seconds(pid) - self._cpu) * 1000 / (len(turns) * STEPS_A_TURN),
            "daemon_written_bytes_per_step": sum(turns) / (len(turns) * STEPS_A_TURN),
            "daemon_written_last_tenth": sum(tenth) / (len(tenth) * STEPS_A_TURN),
            "daemon_peak_rss_mb": peak_mib(pid),
        }
        self._client.close()
        ended(self._process)


VARIANTS: dict[str, type[InProcess | ThroughTheDaemon]] = {"in-process": InProcess, "socket": ThroughTheDaemon}
