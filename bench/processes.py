"""What the system says of a process: processor time and memory (Linux)."""

import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of a program, from its start to its end."""

    wall: float
    cpu: float


def run(command: Sequence[str], env: Mapping[str, str], folder: Path) -> Took:
    """A program to its end; what it prints is thrown away. Raises CalledProcessError where it fails."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def cpu_seconds(pid: int) -> float:
    """Of all its threads, those that have ended too, in ticks of the system (10 ms, mostly)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    """Pages that it has in memory, shared ones too: what limits of memory count."""
    return _status(pid, "VmRSS") / 1024


def peak_mib(pid: int) -> float:
    """The most that this has been."""
    return _status(pid, "VmHWM") / 1024


def written_bytes(pid: int) -> int:
    """What it has given to calls that write, to files, pipes and sockets."""
    lines = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(lines["wchar"])


def proportional_mib(pid: int) -> float:
    """The same, where a page that n processes share counts for an n-th."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def children(pid: int) -> list[int]:
    """Its processes, without those of these."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def _status(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
