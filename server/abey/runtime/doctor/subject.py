"""What is examined: the places of one daemon, and what it says of itself if it runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abey.runtime.around import FoundExtension


@dataclass(frozen=True, slots=True)
class Running:
    """What only the daemon knows.

    `leaves_nothing`: no process of a tool can stay behind; `has_index`: the index was not given up; `whole`: the
    sessions in memory that are well; `failed`: those that a failed write stopped, with the error; `disagreements`:
    which snapshots lost when a session was loaded, and why; `extensions`: those that it has loaded.
    """

    pid: int
    durability: str
    leaves_nothing: bool
    has_index: bool = True
    whole: frozenset[str] = frozenset()
    failed: Mapping[str, str] = field(default_factory=dict)
    disagreements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extensions: "Sequence[FoundExtension]" = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """`env` is where keys are looked up: only whether they are there is ever said. Without `running` nobody was
    asked, and the files tell. `most_bytes` of journals are read, at least 16 KiB counted a session."""

    state_dir: Path
    config_dir: Path
    socket: Path
    env: Mapping[str, str] = field(repr=False)
    running: Running | None = None
    most_bytes: int = 64 << 20
