"""What the daemon takes from outside itself besides the disk: time and chance, models, tools, news of files."""

from collections.abc import Callable
from dataclasses import dataclass

from abey.daemon.tooling import MakeTools, make_tools
from abey.runtime.agents.watching import Watch, watch_folders
from abey.runtime.clock import SystemClock
from abey.runtime.models.keys import Keys
from abey.runtime.models.making import make_models
from abey.runtime.models.network import Network
from abey.runtime.ports import Clock, ModelFactory
from abey.runtime.telemetry.exporting import make_tracing
from abey.runtime.tools.sandbox.sandbox import Find, find
from abey.runtime.tracing import MakeTracing, no_tracing

MakeModels = Callable[[Clock, Keys, Network], ModelFactory]


@dataclass(frozen=True, slots=True)
class World:
    """`models` and `tooling` make what asks models and what runs tools; `watch` says when files change, `find`
    what there is for sandboxes; `tracing` makes who follows the work."""

    clock: Clock
    models: MakeModels
    tooling: MakeTools
    watch: Watch
    find: Find
    tracing: MakeTracing = no_tracing


WORLD = World(SystemClock(), make_models, make_tools, watch_folders, find, make_tracing)
"""The real one."""
