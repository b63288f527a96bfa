"""Agent files as they were last read: each read again only if it, or what it includes, may have changed."""

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from abey.core.agent import Agent
from abey.errors import UnknownAgent
from abey.protocol.config import AgentConfig
from abey.runtime.agents import files
from abey.runtime.agents.findings import Finding
from abey.runtime.agents.loading import Loaded, load_text
from abey.runtime.agents.resolve import resolve
from abey.runtime.agents.staleness import broken_words
from abey.shared.escaping import escape_line

SETTLED_NS = 2_000_000_000
"""A file that was changed so shortly before it was read may change again under the same stamp: the coarsest clock of a
file system ticks every two seconds."""
KEPT = 4096
"""Files that are remembered with their last good versions; of more, those that were read last."""

Read = Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One file as it was last read: `config` and `agent` are its last good version, of `current` if that is good.

    `settled`: while the stamp is this one, so is the content.
    """

    path: Path
    stamp: files.Stamp | None
    settled: bool
    current: Loaded
    config: AgentConfig | None
    agent: Agent | None

    @property
    def slug(self) -> str:
        """That of its last good version, else what the file says, else its name."""
        raw = self.current.raw
        said = raw.get("slug") if isinstance(raw, dict) else None
        return self.agent.slug if self.agent else said if isinstance(said, str) else self.path.stem


class Entries:
    """By path. Values are replaced whole, so that threads may ask at the same time."""

    def __init__(self, read: Read = files.read_text, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._read = read
        self._now_ns = now_ns
        self._known: dict[Path, Entry] = {}
        self._gone: dict[Path, None] = {}

    def at(self, path: Path) -> Entry:
        """The file as it is now. Raises UnknownAgent where there is none."""
        known, now, stamp = self._known.get(path), self._now_ns(), files.stamp(path)
        if known and known.settled and _is_same(known, stamp):
            return known
        current = self._load(path, known)
        entry = _entry(path, stamp, current, known, settled=_is_settled(stamp, current, now))
        self._keep(entry)
        return entry

    def is_new(self, path: Path) -> bool:
        """Whether what is known of the file, and of what it includes, is older than they are."""
        known, stamp = self._known.get(path), files.stamp(path)
        return stamp is not None and not (known and _is_same(known, stamp))

    def holds(self, real: str) -> bool:
        """Whether that is the real path of one of `in_use`."""
        return any(os.path.realpath(path) == real for path in self.in_use())

    def in_use(self) -> tuple[Path, ...]:
        """The files that were read, or would be if they were there, and those that are included."""
        entries, gone = tuple(self._known.values()), tuple(self._gone)
        return (*(path for one in entries for path in (one.path, *(at for at, _ in one.current.includes))), *gone)

    def included_in(self, folders: Collection[Path]) -> set[Path]:
        """What the files in these folders included when they were last read."""
        including = [entry for entry in tuple(self._known.values()) if entry.current.includes]
        return {one for entry in including if entry.path.parent in folders for one, _ in entry.current.includes}

    def _load(self, path: Path, known: Entry | None) -> Loaded:
        try:
            text = self._read(path)
        except files.Unreadable as error:
            if error.missing:
                self._miss(path)
                raise UnknownAgent(f"no agent file {escape_line(str(path))}", path=str(path)) from None
            return Loaded("", None, None, (Finding(0, 0, "error", "unreadable", error.message),))
        before = known.current if known else None
        is_same = before is not None and before.config is not None and before.text == text and not before.includes
        return before if before and is_same else load_text(text, path)

    def _miss(self, path: Path) -> None:
        self._gone.pop(path, None)
        self._gone[path] = None
        if len(self._gone) > KEPT:
            self._gone.pop(next(iter(self._gone)), None)

    def _keep(self, entry: Entry) -> None:
        """The last one at the end."""
        self._known.pop(entry.path, None)
        self._known[entry.path] = entry
        if len(self._known) > KEPT:
            self._known.pop(next(iter(self._known)), None)


def _entry(path: Path, stamp: files.Stamp | None, current: Loaded, known: Entry | None, *, settled: bool) -> Entry:
    """A save that changes nothing gives the same agent; one that breaks the file keeps its last good version."""
    if known is not None and known.current is current:
        return replace(known, stamp=stamp, settled=settled)
    if current.config is not None:
        agent = resolve(current.config, current.raw)
        is_same = known is not None and known.agent == agent
        return Entry(path, stamp, settled, current, current.config, known.agent if known and is_same else agent)
    if known is not None and known.agent is not None:
        stale = replace(known.agent, stale=broken_words(current.first_error(path)))
        return replace(known, stamp=stamp, settled=settled, current=current, agent=stale)
    return Entry(path, stamp, settled, current, None, None)


def _is_same(known: Entry, stamp: files.Stamp | None) -> bool:
    """Whether the file, and what it includes, seem to be as they were."""
    same = stamp is not None and known.stamp == stamp
    return same and all(files.stamp(path) == one for path, one in known.current.includes)


def _is_settled(stamp: files.Stamp | None, loaded: Loaded, now_ns: int) -> bool:
    """Whether neither the file nor what it includes was changed shortly before `now_ns`. A time far ahead is none of a
    change that was just made: somebody set it, or the clock was set back."""
    stamps = (stamp, *(one for _, one in loaded.includes))
    return all(abs(now_ns - time) > SETTLED_NS for one in stamps if one is not None for time in one[:2])
