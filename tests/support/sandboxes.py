"""Sandboxes of each kind for the tests: programs that try to get out of them, and what came of it."""

import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from support.processes import FakeSpool, command_tool

from abey.core.conversation import ToolOutcome
from abey.protocol.policy import RunIsolated
from abey.runtime.clock import ManualClock
from abey.runtime.ports import ToolCall
from abey.runtime.tools.command import CommandRunner
from abey.runtime.tools.helper import ProcessHelper
from abey.runtime.tools.sandbox.landlock import VERSION
from abey.runtime.tools.sandbox.launcher import SandboxedLauncher
from abey.runtime.tools.sandbox.layout import surroundings
from abey.runtime.tools.sandbox.sandbox import (
    Bounds,
    Found,
    Sandbox,
    landlock_version,
    why_no_bubblewrap,
    why_no_landlock,
)

KINDS = ("bubblewrap", "landlock")
PLAIN = RunIsolated()
PYTHON = os.path.realpath(sys.executable)
"""The interpreter that runs the tests; without its packages, it starts fast."""


@cache
def why_not(kind: str) -> str | None:
    probe = Sandbox(surroundings((), os.environ))
    return why_no_bubblewrap(probe) if kind == "bubblewrap" else why_no_landlock(probe)


def found(kind: str) -> Found:
    """What there is of this kind. Where there is nothing the test is skipped; in CI it fails, unless the kernel is too
    old for it."""
    why = why_not(kind)
    if why is not None and os.environ.get("CI") and (kind == "bubblewrap" or landlock_version() >= VERSION):
        pytest.fail(why)
    if why is not None:
        pytest.skip(why)
    return Found(bwrap="bwrap") if kind == "bubblewrap" else Found(landlock=True)


@dataclass
class Cell:
    """Runs programs in sandboxes of one kind; `home` is the user's, `outside` a folder that is nobody's, `work` the
    session's, `state` the daemon's."""

    kind: str
    helper: ProcessHelper
    clock: ManualClock
    root: Path
    sandbox: Sandbox

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def runner(self) -> CommandRunner:
        return CommandRunner(SandboxedLauncher(self.helper, self.sandbox), self.clock, {})

    async def run(self, *argv: str, isolation: RunIsolated = PLAIN, **env: str) -> ToolOutcome:
        call = ToolCall(
            session_id="s1",
            call_id="c1",
            invocation_id="i1",
            arguments={},
            cwd=str(self.work),
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), **env},
            spool=FakeSpool,
            isolation=isolation,
        )
        return await self.runner.run(command_tool(list(argv)), call)

    async def sh(self, script: str, **granted: bool) -> ToolOutcome:
        return await self.run("bash", "-c", script, isolation=RunIsolated(**granted))

    async def python(self, script: str, **granted: bool) -> ToolOutcome:
        return await self.run(PYTHON, "-I", "-S", "-c", script, isolation=RunIsolated(**granted))


def cell(kind: str, helper: ProcessHelper, root: Path, bounds: Bounds | None = None) -> Cell:
    there = found(kind)
    for name in ("work", "home", "outside", "state"):
        (root / name).mkdir()
    env = {**os.environ, "HOME": str(root / "home")}
    sandbox = Sandbox(surroundings((root / "state",), env), bounds, lambda _: there)
    return Cell(kind, helper, ManualClock(), root, sandbox)
