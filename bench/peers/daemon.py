"""The daemon with the model and the tool of the common work: `python -m bench.peers.daemon`."""

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from abey.daemon.main import run
from abey.daemon.settings import Settings, read_settings

if TYPE_CHECKING:
    from abey.daemon.app import App
    from abey.daemon.tooling import Tooling


def create(settings: Settings) -> "App":
    from abey.daemon.app import create as create_app
    from abey.daemon.world import WORLD
    from bench.peers.playing import make_models

    return create_app(settings, world=replace(WORLD, models=make_models, tooling=_tooling))


def _tooling(*surroundings: Any) -> "Tooling":
    from abey.daemon.tooling import make_tools
    from bench.peers.playing import Showing

    made = make_tools(*surroundings)
    return replace(made, runners={**made.runners, "command": Showing()})


if __name__ == "__main__":
    sys.exit(run(read_settings(sys.argv[1:], os.environ), create))
