"""The cells of the common table: whose script, in whose environment, and how long a session it is asked for."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.machine import ROOT

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """`venv` is a folder of `--venvs`, none for the one that runs this; `most` are turns that it can be asked for."""

    script: str
    venv: str | None
    variant: str
    most: int = 400


ENTRIES = (
    Entry("floor_peer.py", None, "log-fdatasync"),
    Entry("floor_peer.py", None, "rewrite-fsync"),
    Entry("abey_peer.py", None, "in-process"),
    Entry("abey_peer.py", None, "socket"),
    Entry("langgraph_peer.py", "lg", "sync"),
    Entry("langgraph_peer.py", "lg", "delta"),
    Entry("pydantic_ai_peer.py", "pai", "json-reload"),
    Entry("pydantic_ai_peer.py", "pai", "store-sqlite"),
    Entry("openai_agents_peer.py", "oai", "session-sqlite"),
    Entry("openai_agents_peer.py", "oai", "state-only"),
    Entry("dbos_peer.py", "dbos", "sqlite-10ms"),
    Entry("dbos_peer.py", "dbos", "sqlite-turn", 100),
)


@dataclass(frozen=True, slots=True)
class Bench:
    """`shared` is the folder of the driver and the scripts of the others, `venvs` that of their environments."""

    shared: Path
    venvs: Path
    scratch: Path | None
    seconds: float = 600

    def cell(self, entry: Entry, turns: int, sessions: int = 1) -> Iterator[Row]:
        """The rows of one cell: the run and, of one session, what it takes another process to go on with it."""
        with tempfile.TemporaryDirectory(prefix="abey-peers-", dir=self.scratch) as folder:
            given = ["--variant", entry.variant, "--dir", folder, "--turns", str(turns)]
            yield self._row(entry, [*given, "--sessions", str(sessions), "--leave-pending"])
            if sessions == 1:
                yield self._row(entry, [*given, "--mode", "resume"])

    def _row(self, entry: Entry, arguments: list[str]) -> Row:
        """What the script prints. Raises RuntimeError where it fails, TimeoutExpired."""
        own = Path(__file__).with_name(entry.script)
        script = own if own.exists() else self.shared / entry.script
        python = self.venvs / entry.venv / "bin" / "python" if entry.venv else Path(sys.executable)
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.shared), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            [python, script, *arguments], cwd=self.shared, env=env, capture_output=True, text=True, timeout=self.seconds
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            raise RuntimeError(f"{entry.script} {' '.join(arguments)}: {done.stderr[-500:]}")
        row: Row = json.loads(lines[-1])
        return row
