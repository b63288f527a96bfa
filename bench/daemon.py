"""The daemon as it is, but for its tools of the kind `command`, which do nothing, in process: `python -m bench.daemon`.

Its arguments are those of `abey-daemon`; `BENCH_COUNTER` names the file in which its syncs are counted.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abey.daemon.main import run
from abey.daemon.settings import Settings, read_settings

if TYPE_CHECKING:
    from abey.daemon.app import App
    from abey.daemon.settings import Settings
    from abey.daemon.tooling import Tooling

COUNTER = "BENCH_COUNTER"


def create(settings: Settings) -> "App":
    from abey.daemon.app import create as create_app
    from abey.daemon.world import WORLD
    from bench.counting import CountingIO

    counter = Path(os.environ[COUNTER])
    return create_app(settings, CountingIO(settings.durability, counter), replace(WORLD, tooling=_tooling))


def _tooling(*surroundings: Any) -> "Tooling":
    from abey.daemon.tooling import make_tools
    from bench.inside import Instant

    made = make_tools(*surroundings)
    return replace(made, runners={**made.runners, "command": Instant()})


if __name__ == "__main__":
    sys.exit(run(read_settings(sys.argv[1:], os.environ), create))
