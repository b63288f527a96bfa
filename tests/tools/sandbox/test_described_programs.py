"""A program that described itself as a tool is kept in a sandbox as any other."""

import json
import os
from dataclasses import replace

from support.processes import call_of
from support.sandboxes import PLAIN, Cell

from abey.core.agent import ToolSource
from abey.core.conversation import ToolOutcome
from abey.runtime.tools.executables.folder import ExecutablesOpener
from abey.runtime.tools.executables.runner import ExecutableRunner
from abey.runtime.tools.programs import Programs
from abey.runtime.tools.sandbox.launcher import SandboxedLauncher
from abey.runtime.tools.sources import Place


async def test_it_gets_its_stdin_and_writes_nothing_outside(inside: Cell) -> None:
    argument = {"name": "text", "mode": "stdin"}
    told = json.dumps({"slug": "copy", "description": "d", "args": [argument]})
    folder = inside.outside / "tools"
    folder.mkdir()
    program = folder / "copy"
    run = f"cat; touch {folder}/made; echo aside >&2"
    program.write_text(f"#!/bin/sh\nif [ \"$1\" = describe ]; then echo '{told}'; exit; fi\n{run}\n")
    program.chmod(0o755)
    programs, launcher = Programs(inside.clock), SandboxedLauncher(inside.helper, inside.sandbox)
    source = ToolSource("bash_", {"kind": "executables", "directory": str(folder), "env": []}, "hash")
    place = Place("s1", str(inside.work), {"PATH": os.environ["PATH"]})
    (tool,) = (await ExecutablesOpener(launcher, programs, {}).open(source, place)).tools
    call = replace(call_of({"text": "in"}, inside.work), isolation=PLAIN)
    outcome = await ExecutableRunner(launcher, programs, {}).run(tool, call)
    assert (outcome, sorted(path.name for path in folder.iterdir())) == (ToolOutcome("in\n"), ["copy"])
