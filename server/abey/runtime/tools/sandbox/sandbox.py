"""The sandbox that there is: bubblewrap, else Landlock with seccomp, else none, and why (security.md, Isolation)."""

import asyncio
import json
import os
import platform
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from abey.core.agent import ISOLABLE, Tool
from abey.protocol.policy import RunIsolated
from abey.runtime.tools.processes import CannotStart, Program
from abey.runtime.tools.sandbox import bubblewrap, landlock, seccomp
from abey.runtime.tools.sandbox.keeping import NotConfined
from abey.runtime.tools.sandbox.layout import Layout, Surroundings, layout
from abey.runtime.tools.sandbox.leftovers import SCRATCH, Leftovers
from abey.runtime.tools.sandbox.shields import Shields

PROBE_SECONDS = 10.0
PROBE = RunIsolated()
PREFIX = "INSIDE_"
"""Of the names of variables on their way into the sandbox: what is outside of it is not to act on them."""

_GUARD = Path(__file__).with_name("guard.py")
_EMPTY = Program(("true",), "/usr", {"PATH": "/usr/local/bin:/usr/bin:/bin"})


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of the programs in a sandbox: how many processes there are at a time, and of each what the kernel limits."""

    processes: int = 512
    memory_bytes: int = 4 << 30
    file_bytes: int = 4 << 30
    open_files: int = 4096

    def limits(self) -> dict[str, int]:
        return {
            "RLIMIT_DATA": self.memory_bytes,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_CORE": 0,
        }


@dataclass(frozen=True, slots=True)
class Confined:
    """A program as it is to be started in place of another, and what is to be done once it has ended."""

    program: Program
    release: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Found:
    """What there is: the path of `bwrap` where bubblewrap works, or else Landlock; `why` there is nothing better."""

    bwrap: str | None = None
    landlock: bool = False
    why: str = ""

    @property
    def name(self) -> str | None:
        return "bubblewrap" if self.bwrap else "Landlock and seccomp" if self.landlock else None


Find = Callable[["Sandbox"], Found]
"""Finds out what there is."""


class Sandbox:
    """An Isolation, and what builds the sandboxes. What there is is found out by running a program in it, once."""

    def __init__(
        self,
        around: Surroundings,
        bounds: Bounds | None = None,
        look: Find | None = None,
        leftovers: Leftovers | None = None,
    ) -> None:
        self._around = around
        self._bounds = bounds or Bounds()
        self._look = look or find
        self._found: Found | None = None
        self._looking = threading.Lock()
        self._leftovers = leftovers or Leftovers()
        self._shields = Shields(self._leftovers)

    async def look(self, *, again: bool = False) -> None:
        if self._found is None or (again and self._found.bwrap is None):
            await asyncio.to_thread(self.found, again=again)

    def found(self, *, again: bool = False) -> Found:
        """What there is; takes some 50 ms the first time, or where it is looked for again."""
        with self._looking:
            if self._found is None or (again and self._found.bwrap is None):
                self._found = self._look(self)
            return self._found

    def why_not(self, tool: Tool, isolation: RunIsolated, cwd: str) -> str | None:
        if tool.kind not in ISOLABLE:
            return f"a tool of kind {tool.kind} is no program that is started for its call"
        found = self.found()
        if found.name is None:
            return found.why
        try:
            plan = layout(self._around, Program(("true",), cwd, {}), isolation)
        except NotConfined as fault:
            return str(fault)
        return landlock.why_not(plan) if found.bwrap is None else None

    def confine(self, program: Program, isolation: RunIsolated) -> Confined:
        """Raises CannotStart where there is no such sandbox: never is a program started outside instead."""
        return self.confine_with(self.found(), program, isolation)

    def confine_with(self, found: Found, program: Program, isolation: RunIsolated) -> Confined:
        """The same in a sandbox of this kind."""
        try:
            plan = layout(self._around, program, isolation)
        except NotConfined as fault:
            raise CannotStart(f"there is no sandbox for it: {fault}") from None
        if found.bwrap is not None:
            return self._in_bubblewrap(found.bwrap, plan, program)
        why = landlock.why_not(plan) if found.landlock else found.why
        if why is not None:
            raise CannotStart(f"there is no sandbox for it: {why}")
        return self._in_landlock(plan, program)

    def _in_bubblewrap(self, bwrap: str, plan: Layout, program: Program) -> Confined:
        try:
            held = self._shields.hold((*plan.held, *plan.kept))
        except OSError as fault:
            raise _no_place(fault) from None
        argv, env = bubblewrap.arguments(bwrap, plan, program), bubblewrap.environment(program)
        guarded = self._guarded(replace(program, argv=argv, env=env), None, network=plan.network)
        return Confined(guarded, lambda: self._shields.let_go(held))

    def _in_landlock(self, plan: Layout, program: Program) -> Confined:
        scratch = self._scratch()
        rules, env = landlock.ruleset(plan, program, scratch), landlock.environment(program, scratch)
        guarded = self._guarded(replace(program, env=env), rules, network=plan.network)
        return Confined(guarded, lambda: self._leftovers.remove(scratch))

    def _scratch(self) -> str:
        """Raises CannotStart."""
        scratch = os.path.join(tempfile.gettempdir(), SCRATCH + secrets.token_hex(8))
        try:
            self._leftovers.note((scratch,))
            os.mkdir(scratch, 0o700)
        except OSError as fault:
            raise _no_place(fault) from None
        return scratch

    def _guarded(self, program: Program, rules: Mapping[str, object] | None, *, network: bool) -> Program:
        internet = network or rules is None  # without the network of the host it is one of its own
        told = {
            "prefix": PREFIX,
            "processes": self._bounds.processes,
            "limits": self._bounds.limits(),
            "seccomp": seccomp.code(platform.machine(), network=internet, shared=rules is not None).hex(),
            "descriptors": (bubblewrap.VARIABLES, bubblewrap.FILTER),
            "landlock": rules,
        }
        guard = (sys.executable, "-I", "-S", "-X", "utf8", "-c", _GUARD.read_text("utf-8"), json.dumps(told))
        env = {PREFIX + name: value for name, value in program.env.items()}
        return replace(program, argv=(*guard, *program.argv), env=env, isolation=None)


def _no_place(fault: OSError) -> CannotStart:
    return CannotStart(f"cannot set up the sandbox: {fault.filename}: {fault.strerror}")


def find(sandbox: Sandbox) -> Found:
    """Bubblewrap where it works, else Landlock."""
    bubblewrap_fault = why_no_bubblewrap(sandbox)
    if bubblewrap_fault is None:
        return Found(bwrap=shutil.which("bwrap"))
    landlock_fault = why_no_landlock(sandbox)
    if landlock_fault is None:
        return Found(landlock=True, why=bubblewrap_fault)
    return Found(why=f"{bubblewrap_fault}, and {landlock_fault}")


def why_no_bubblewrap(sandbox: Sandbox) -> str | None:
    if sys.platform != "linux":
        return "sandboxes are made on Linux only"
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return "bubblewrap is not installed"
    fault = _fault_of(sandbox, Found(bwrap=bwrap))
    return None if fault is None else f"bubblewrap does not work ({fault})"


def why_no_landlock(sandbox: Sandbox) -> str | None:
    version = landlock_version()
    if version < landlock.VERSION:
        has = f"Landlock has version {version}" if version else "there is no Landlock"
        return f"{has}, and {landlock.VERSION} is needed"
    fault = _fault_of(sandbox, Found(landlock=True))
    return None if fault is None else f"Landlock does not work ({fault})"


def landlock_version() -> int:
    """The kernel's, 0 where it has none."""
    import ctypes

    if sys.platform != "linux":
        return 0
    version = int(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1))
    return max(version, 0)


def _fault_of(sandbox: Sandbox, found: Found) -> str | None:
    """What goes wrong with the smallest program, in a line."""
    try:
        confined = sandbox.confine_with(found, _EMPTY, PROBE)
    except CannotStart as fault:
        return str(fault)
    except KeyError:
        return f"there is no filter for a processor of kind {platform.machine()}"
    try:
        done = subprocess.run(
            confined.program.argv,
            cwd=confined.program.cwd,
            env=confined.program.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        return str(fault)
    finally:
        confined.release()
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return (said[-1] if said else f"it ended with status {done.returncode}") if done.returncode else None
