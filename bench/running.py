"""Measurements, each in a process and a folder of its own, so that none of them finds what another left."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.figures import Figures
from bench.machine import ROOT

MEASURES = (
    "inside",
    "daemon",
    "syscalls",
    "ping",
    "pending",
    "starting",
    "memory",
    "opening",
    "listing",
    "streaming",
    "spawning",
    "waiting",
)
"""Names of modules of `bench.measures`, in the order in which they run."""

MOST_SECONDS = 900


def measured(name: str, quick: bool, scratch: Path | None) -> Figures:
    """What it found, in a new folder below `scratch`. Raises CalledProcessError where it fails, TimeoutExpired."""
    with tempfile.TemporaryDirectory(prefix="abey-bench-", dir=scratch) as folder:
        command = [sys.executable, "-m", "bench.once", name, folder, *(["--quick"] if quick else [])]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=MOST_SECONDS)
    figures: Figures = json.loads(done.stdout)
    return figures
