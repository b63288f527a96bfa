"""A handler is bound to its method by type."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
from abey.protocol.methods import GET
from abey.protocol.params import NoParams, Nothing
from abey.protocol.queries import GetResult, SessionParams
from abey.rpc.dispatch import bind
from abey.rpc.peer import Peer

async def right(peer: Peer, params: SessionParams) -> GetResult:
    raise NotImplementedError

async def other_params(peer: Peer, params: NoParams) -> GetResult:
    raise NotImplementedError

async def other_result(peer: Peer, params: SessionParams) -> Nothing:
    raise NotImplementedError

bind(GET, right)
bind(GET, other_params)
bind(GET, other_result)
"""


def test_a_handler_of_other_params_or_another_result_is_a_type_error(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("mypy")), str(program)],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [line.split(": error: ") for line in done.stdout.splitlines() if ": error: " in line]
    assert [(int(place.rpartition(":")[2]), what.rpartition("  ")[2]) for place, what in found] == [
        (18, "[arg-type]"),
        (19, "[arg-type]"),
    ]
