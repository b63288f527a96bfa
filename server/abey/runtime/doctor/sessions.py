"""Every session's journal, read and left as it is."""

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from abey.runtime.doctor.findings import Finding, counted, error, ok, warning
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject

if TYPE_CHECKING:
    from abey.runtime.peeking import Peeked

JOURNAL = "journal.jsonl"
TRIES = 5

OUTPUT_SHARE = 16
"""Blobs are only hashed: that many of their bytes take as long as one of a journal."""

LEAST_COUNTED = 16 << 10
"""A session counts as so many bytes at least: also small ones take their time."""

STRAYS = 5
"""So many things that are no sessions are named."""

MOST_NAMED = 200
"""So many sessions get a finding of their own."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """How far we got: sessions read, those there are, what is wrong with some, and what is none."""

    read: int
    there: int
    findings: tuple[Finding, ...]
    strays: tuple[str, ...]


def sessions(host: Host, subject: Subject) -> Iterator[Finding]:
    """How many there are, and what is wrong with each that has something wrong; newest first."""
    try:
        looked = _look(host, subject)
    except FileNotFoundError:
        yield ok("sessions", "there is no session yet")
        return
    except OSError as refused:
        what = f"the folder of the sessions cannot be read: {refused.strerror}"
        yield error("sessions", what, f"put {subject.state_dir / 'sessions'} back, or give it back to its owner")
        return
    some = (
        counted(looked.there, "session")
        if looked.read == looked.there
        else f"the newest {looked.read} of {looked.there}"
    )
    bad = len({one.session_id for one in looked.findings if one.severity != "info"})
    what = f"{some} examined, {bad} with something wrong"
    yield warning("sessions", what, "see the findings that name them") if bad else ok("sessions", what)
    if looked.strays:
        more = f" and {len(looked.strays) - STRAYS} more" if len(looked.strays) > STRAYS else ""
        named = ", ".join(looked.strays[:STRAYS])
        folder = subject.state_dir / "sessions"
        yield warning("sessions", f"no sessions, in {folder}: {named}{more}", f"move them out of {folder}")
    yield from looked.findings[:MOST_NAMED]
    if len(looked.findings) > MOST_NAMED:
        what = f"{len(looked.findings) - MOST_NAMED} findings about sessions are not shown here"
        yield warning("sessions", what, "mend those that are shown, then run `abey doctor` again")


def index(host: Host, subject: Subject) -> Iterator[Finding]:
    """The index of the sessions, which is a cache."""
    path = subject.state_dir / "index.sqlite"
    if subject.running is not None and not subject.running.has_index:
        what = "the index is given up: listing and searching read every session"
        yield warning("index", what, "see the log for the cause, then `abey daemon restart`")
    elif _is_folder(host, path):
        what = f"{path} is a folder: listing and searching read every session"
        yield warning("index", what, f"move {path} away, then `abey daemon restart`")
    elif _size(host, path):
        yield ok("index", f"{path} is there")
    else:
        yield ok("index", "there is none yet; it is made once there is a session to list")


def _look(host: Host, subject: Subject) -> _Looked:
    """Raises FileNotFoundError where there is no folder of sessions; OSError where it cannot be read."""
    folder = subject.state_dir / "sessions"
    everything = sorted(host.names(folder), reverse=True)
    names = [name for name in everything if _may_be_a_session(host, folder / name)]
    strays = tuple(name for name in sorted(everything) if name not in set(names))
    findings: list[Finding] = []
    room, read = subject.most_bytes, 0
    for name in names:
        if room <= 0:
            break
        room -= max(_work(host, folder / name), LEAST_COUNTED)
        findings += _session(host, subject, folder / name)
        read += 1
    return _Looked(read, len(names), tuple(findings), strays)


def _session(host: Host, subject: Subject, directory: Path) -> Iterator[Finding]:
    name, running = directory.name, subject.running
    if running is not None and name in running.failed:
        what = f"session {name} takes no requests since a write failed: {running.failed[name]}"
        yield error("sessions", what, f"`abey session reopen {name}`, once the cause is gone", name)
        return
    peeked = _peeked(host, directory)
    if running is not None and name in running.whole:
        # it may be being written to at this very moment
        peeked = replace(peeked, torn=False, shorter=None, disagreements=running.disagreements.get(name, ()))
    yield from _about(name, peeked)
    yield from _quota(host, directory)


SNAPSHOT_ADVICE = (
    "if the journal was cut, or replaced by an older one, put it back from a copy; else nothing is lost, and the next"
    " snapshot takes its place"
)


def _about(name: str, peeked: "Peeked") -> Iterator[Finding]:
    if peeked.damage is not None:
        at = "" if peeked.offset is None else f" at byte {peeked.offset}"
        what = f"session {name} is damaged{at}: {peeked.damage}"
        yield error("sessions", what, f"`abey repair {name}` shows what can be mended", name)
    elif peeked.shorter is not None:
        yield error("sessions", f"session {name}: {peeked.shorter}", "do that before the session is opened", name)
    elif peeked.torn:
        what = f"session {name}: the last write is not whole; it is cut off, and kept, when the session is opened"
        yield warning("sessions", what, f"`abey session show {name}` opens it", name)
    for one in peeked.disagreements:
        what = f"session {name}: {one}; its journal counts"
        yield warning("snapshots", what, SNAPSHOT_ADVICE, name)
    if peeked.lost:
        more = f" and {len(peeked.lost) - 1} more" if len(peeked.lost) > 1 else ""
        what = f"session {name} has lost contents, which are shown so: {peeked.lost[0]}{more}"
        yield warning("blobs", what, f"put back what is lost in blobs/ of session {name} from a copy", name)


def _quota(host: Host, directory: Path) -> Iterator[Finding]:
    from abey.runtime.quota import Quota
    from abey.runtime.retention import tree_bytes

    name = directory.name
    size = _size(host, directory / JOURNAL) + tree_bytes(host.io, directory / "blobs")
    what = Quota().warning(name, size)
    if what is not None:
        yield warning("quota", what, f"`abey session export {name}`, and start a new session", name)


def _peeked(host: Host, directory: Path) -> "Peeked":
    """The session at one moment: what is written while we read would look torn."""
    from abey.runtime.peeking import peek  # not where pydantic may be broken

    before = _size(host, directory / JOURNAL)
    peeked = peek(host.io, directory)
    for _ in range(TRIES):
        after = _size(host, directory / JOURNAL)
        if before == after:
            break
        before, peeked = after, peek(host.io, directory)
    return peeked


def _may_be_a_session(host: Host, path: Path) -> bool:
    """Whether it has the name of one, and is no plain file."""
    from abey.protocol.base import ID_PATTERN  # not where pydantic may be broken

    try:
        return re.match(ID_PATTERN, path.name) is not None and not stat.S_ISREG(host.status(path).st_mode)
    except OSError:  # it went, or cannot be looked at: then it is told as a session that cannot be read
        return True


def _work(host: Host, directory: Path) -> int:
    """How long the session takes, in bytes of a journal."""
    from abey.runtime.retention import tree_bytes

    return _size(host, directory / JOURNAL) + tree_bytes(host.io, directory / "blobs") // OUTPUT_SHARE


def _is_folder(host: Host, path: Path) -> bool:
    try:
        return stat.S_ISDIR(host.status(path).st_mode)
    except OSError:
        return False


def _size(host: Host, path: Path) -> int:
    try:
        return host.status(path).st_size
    except OSError:
        return 0
