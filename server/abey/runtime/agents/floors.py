"""The floors of a policy: `policy.json` of the user, and of the workspaces that are trusted (agent-file.md, Floors).

Laws
- A saved file counts for every call that is not judged yet.
- One that is broken never lets more run than the last good one did; where there was none, no call runs by itself.
"""

import logging
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from abey.core.policy import Floor
from abey.protocol.policy import Policy
from abey.runtime.agents import files
from abey.runtime.agents.findings import Fact, Finding
from abey.runtime.agents.jsonc import BadSyntax, Document, parse
from abey.runtime.agents.loading import Loaded
from abey.runtime.agents.shapes import shaped
from abey.runtime.agents.workspaces import Lent, Workspaces
from abey.shared.escaping import escape_line
from abey.shared.workspace import MARK

log = logging.getLogger(__name__)

NAME = "policy.json"
GONE_SECONDS = 1.0
"""Some editors leave a moment without a file when they save; one that is gone for longer was taken away."""
REMEMBERED = 256


def load_policy(text: str) -> tuple[Policy | None, Loaded]:
    """The policy of a `policy.json`, None if a finding is an error."""
    try:
        document = parse(text)
    except BadSyntax as bad:
        return None, Loaded(text, None, None, (Finding(bad.start, bad.end, "error", "syntax", bad.message),))
    value = document.value
    if isinstance(value, dict):
        value = {key: found for key, found in value.items() if key != "$schema"}
    policy, facts = shaped(Policy, value)
    found = sorted((*_twice(document), *(_finding(document, fact) for fact in facts)), key=lambda one: one.start)
    return None if found else policy, Loaded(text, value, None, tuple(found))


def is_floor(path: Path, config_dir: Path) -> bool:
    """Whether a file at `path` is one, however the folder of the user is spelled."""
    folders = {config_dir, Path(os.path.realpath(config_dir))}
    return path.name == NAME and (path.parent in folders or path.parent.name == MARK)


class Floors:
    """Threads may ask at the same time. What is wrong with a file is in the log, once."""

    def __init__(self, config_dir: Path, workspaces: Workspaces) -> None:
        self._home = config_dir / NAME
        self._workspaces = workspaces
        self._known: dict[Path, _Known] = {}

    def of_session(self, cwd: str) -> tuple[Floor, ...]:
        """The floors of a session in `cwd`, as they are now."""
        return tuple(self._floors(self._workspaces.of_session(cwd)))

    def of_client(self, cwd: str, lent: Lent) -> tuple[Floor, ...]:
        """The same for a client that asks about a session that it might start."""
        workspace = self._workspaces.of(cwd)
        trusted = workspace is not None and self._workspaces.trusts(workspace, lent)
        return tuple(self._floors(workspace if trusted else None))

    def _floors(self, workspace: Path | None) -> Iterator[Floor]:
        yield from self._at("user", self._home)
        if workspace is not None:
            yield from self._at("workspace", workspace / MARK / NAME)

    def _at(self, layer: str, path: Path) -> Iterator[Floor]:
        before = self._known.get(path, _NOTHING)
        now = _look(path, before)
        if now is not before:
            self._known.pop(path, None)
            self._known[path] = now
            for one in list(self._known)[:-REMEMBERED]:
                self._known.pop(one, None)
        if now.policy is not None:
            yield Floor(layer, now.policy)
        elif now.fault is not None:
            yield Floor(layer, Policy(), f"the policy file cannot be used: {now.fault}")


@dataclass(frozen=True, slots=True)
class _Known:
    """A file as it was read last. `policy` is its last good version, `fault` why that is not what it says now;
    `gone_at` is when it was first missed."""

    stamp: files.Stamp | str | None = None
    policy: Policy | None = None
    fault: str | None = None
    gone_at: float | None = None


_NOTHING = _Known()


def fault_of(path: Path) -> str | None:
    """What is wrong with the file, in a line that names it; None where it is right, or where there is none."""
    return _look(path, _NOTHING, tell=False).fault


def _look(path: Path, before: _Known, *, tell: bool = True) -> _Known:
    stamp = _stamp(path)
    if stamp is None:
        return _gone(path, before)
    if stamp == before.stamp:
        return before if before.gone_at is None else replace(before, gone_at=None)
    policy, fault = _read(path) if isinstance(stamp, tuple) else (None, f"{escape_line(str(path))}: {stamp}")
    if fault is not None and tell:
        kept = "its last good version counts" if before.policy is not None else "every call waits for somebody"
        log.warning("%s; %s", fault, kept)
    return _Known(stamp, before.policy if policy is None else policy, fault)


def _gone(path: Path, before: _Known) -> _Known:
    if before.stamp is None:
        return before
    now = time.monotonic()
    since = now if before.gone_at is None else before.gone_at
    is_gone = max(now - since, _unchanged(path.parent)) >= GONE_SECONDS
    return _NOTHING if is_gone else replace(before, gone_at=since)


def _unchanged(folder: Path) -> float:
    """For how many seconds nothing came or went in the folder, or where it is gone, in the one that it was in: what is
    missing there is missing for as long, though nobody looked."""
    try:
        return time.time() - os.stat(folder).st_ctime
    except (FileNotFoundError, NotADirectoryError):
        return 0.0 if folder == folder.parent else _unchanged(folder.parent)
    except OSError:
        return 0.0


def _stamp(path: Path) -> files.Stamp | str | None:
    """The stamp of the file, or why there is none although there is something; None where nothing is there."""
    is_link = False
    try:
        found = os.lstat(path)
        is_link = stat.S_ISLNK(found.st_mode)
        if is_link:
            found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return "the link leads nowhere" if is_link else None
    except OSError as error:
        return escape_line(error.strerror or str(error))
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _read(path: Path) -> tuple[Policy | None, str | None]:
    try:
        policy, loaded = load_policy(files.read_text(path))
    except files.Unreadable as error:
        return None, f"{escape_line(str(path))}: {error.message}"
    return (policy, None) if policy is not None else (None, loaded.first_error(path))


def _twice(document: Document) -> Iterator[Finding]:
    """Of two that stand there, nobody knows which one was meant to hold."""
    for one in document.duplicates:
        yield Finding(one.key.start, one.key.end, "error", "ambiguous-key", "the key stands twice", one.pointer)


def _finding(document: Document, fact: Fact) -> Finding:
    there = fact.pointer
    while there not in document.values:
        there = there.rpartition("/")[0]
    span = document.keys.get(there) if fact.on_key else None
    span = span or document.values[there]
    return Finding(span.start, span.end, fact.severity, fact.code, fact.message, fact.pointer, there, fact.replacement)
