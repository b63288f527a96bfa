"""What a sandbox adds to the start of a program."""

import os
import resource
import subprocess
import time
from pathlib import Path

import pytest
from support.figures import Figures
from support.sandboxes import KINDS, found

from abey.protocol.policy import RunIsolated
from abey.runtime.tools.processes import Program
from abey.runtime.tools.sandbox.layout import surroundings
from abey.runtime.tools.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.figures


def ran(program: Program) -> None:
    subprocess.run(program.argv, cwd=program.cwd, env=program.env, stdin=subprocess.DEVNULL, check=True)


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("kind", KINDS)
def test_the_start_of_a_program_in_a_sandbox(tmp_path: Path, figures: Figures, kind: str) -> None:
    there, number = found(kind), figures.size(20, 200)
    sandbox = Sandbox(surroundings((), os.environ), look=lambda _: there)
    program = Program(("true",), str(tmp_path), {"PATH": os.environ["PATH"]})
    took: list[float] = []
    before = processor_time()
    for _ in range(number):
        began = time.perf_counter()
        confined = sandbox.confine(program, RunIsolated())
        ran(confined.program)
        confined.release()
        took.append(time.perf_counter() - began)
    spent = (processor_time() - before) / number
    figure = f"{min(took) * 1e3:.0f} ms; {sorted(took)[number // 2] * 1e3:.0f} ms; {spent * 1e3:.0f} ms"
    figures.note(f"`true` in {kind}: least; median; processor time", figure, f"{number} starts")
