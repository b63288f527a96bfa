"""A snapshot as text and back, exactly: in short lines, so that no piece of the work keeps other threads waiting."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from io import BytesIO
from itertools import takewhile
from typing import Any, get_args

from pydantic import TypeAdapter

from abey.core.history import turn_messages
from abey.core.rows import Row
from abey.core.session import Entry, Line, Session, Turn
from abey.protocol.base import Json, Wire
from abey.runtime.store.references import BLOB_ABOVE, Deflater, Fetch, inflate, json_text
from abey.runtime.store.scan import End
from abey.runtime.store.spelling import LEAVES, plain
from abey.shared.values import replace
from abey.shared.version import VERSION

FORMAT = 4


@dataclass(frozen=True, slots=True)
class Track:
    """Begins the turns of a line, or without one those of the session itself: the first `shared` are those of the line
    `of`, counted from 0, and those that follow are its own."""

    line: Line | None = None
    of: int = 0
    shared: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The fold of a journal up to `end`, where a unit ends, as its records have it: nothing is recovered yet.

    `journal_hash` is the SHA-256 of the journal's bytes up to there, `next_seq` the number of the next event.
    """

    session: Session
    end: End
    journal_hash: str
    next_seq: int


class Unusable(Exception):
    """The text is not what was written, or not a snapshot."""


IsKept = Callable[[str, int], bool]
"""(hash, bytes) -> whether the session has that blob."""


def to_text(snapshot: Snapshot, is_kept: IsKept) -> bytes:
    """JSON, one line for every turn and entry, large strings by reference to blobs that are there; the last line has
    the SHA-256 of all before it.

    Raises ValueError for NaN and Infinity.
    """
    text, digest = BytesIO(), hashlib.sha256()
    for line in _lines(snapshot, is_kept):
        text.write(line)
        digest.update(line)
    text.write(_last_line(digest.hexdigest()))
    return text.getvalue()


def from_text(text: bytes, fetch: Fetch) -> Snapshot | None:
    """The snapshot, None where another version wrote it. Raises Unusable, also where a blob of it is lost."""
    _check(text)
    lines = BytesIO(text)
    try:
        head = _inflated(json.loads(next(lines) + b"]}"), fetch)
        if (head["format"], head["version"]) != (FORMAT, VERSION):
            return None
        session = _reader("Session")(head["session"])
        left, turns = _tracks(_read(lines, fetch))
        end = End(**head["journal"])
        return Snapshot(replace(session, lines=left, turns=turns), end, head["journalHash"], head["nextSeq"])
    except (ValueError, TypeError, LookupError, StopIteration, RecursionError) as error:
        raise Unusable(f"it cannot be read: {type(error).__name__}") from error


def made_of(text: bytes) -> tuple[str, int] | None:
    """Whose snapshot it is, and of which revision, also where another version wrote it; None where it does not say."""
    try:
        _check(text)
        head = json.loads(text[: text.index(b"\n") + 1] + b"]}")
        return str(head["session"]["created"]["sessionId"]), int(head["journal"]["revision"])
    except (Unusable, ValueError, TypeError, KeyError, RecursionError):
        return None


def _lines(snapshot: Snapshot, is_kept: IsKept) -> Iterator[bytes]:
    head = {
        "format": FORMAT,
        "version": VERSION,
        "journal": _plain(snapshot.end),
        "journalHash": snapshot.journal_hash,
        "nextSeq": snapshot.next_seq,
        "session": _plain(replace(snapshot.session, lines=(), turns=Row())),
    }
    yield _deflated(head, is_kept)[:-1] + b',"transcript":[\n'
    comma = b""
    for each in _told(snapshot.session):
        yield comma + _deflated({type(each).__name__: _plain(each)}, is_kept) + b"\n"
        comma = b","


def _told(session: Session) -> Iterator[Track | Turn | Entry]:
    """The lines, then the session itself: each turn once, though lines share it, before its entries."""
    owners: dict[int, int] = {}  # the first line that has a turn: what it has before that, the others have, too
    for number, line in enumerate((*session.lines, None)):
        turns = session.turns if line is None else line.turns
        shared = next((place + 1 for place in reversed(range(len(turns))) if id(turns[place]) in owners), 0)
        of = owners[id(turns[shared - 1])] if shared else 0
        if session.lines:
            yield Track(replace(line, turns=Row()) if line else None, of, shared)
        for turn in turns[shared:]:
            yield replace(turn, entries=(), messages=())
            owners[id(turn)] = number
            yield from turn.entries


def _deflated(line: dict[str, Json], is_kept: IsKept) -> bytes:
    whole = json_text(line).encode("ascii")
    if len(whole) <= BLOB_ABOVE:
        return whole
    deflater = Deflater(BLOB_ABOVE)
    thinner = deflater.strings(line, "")
    if not all(is_kept(name, len(content)) for name, content in deflater.blobs.items()):
        return whole
    return json_text({**thinner, "blobs": deflater.pointers}).encode("ascii")


def _inflated(line: dict[str, Json], fetch: Fetch) -> dict[str, Json]:
    if "blobs" in line and (lost := inflate(line, line.pop("blobs"), fetch)):
        raise Unusable(f"it needs what is not there: {lost[0]}")
    return line


def _last_line(digest: str) -> bytes:
    return b'],"sha256":"%b"}\n' % digest.encode("ascii")


def _check(text: bytes) -> None:
    length = len(text) - len(_last_line("0" * 64))
    body = memoryview(text)[: max(length, 0)]
    if bytes(text[len(body) :]) != _last_line(hashlib.sha256(body).hexdigest()):
        raise Unusable("its checksum does not match")


def _tracks(told: Iterable[Track | Turn]) -> tuple[tuple[Line, ...], Row[Turn]]:
    """The lines that were left, and the turns of the session itself."""
    left: list[Line] = []
    line: Line | None = None
    turns: list[Turn] = []
    for each in told:
        if isinstance(each, Turn):
            turns.append(each)
            continue
        if line is not None:
            left.append(replace(line, turns=Row.of(turns)))
        line, turns = each.line, [*left[each.of].turns[: each.shared]] if left else []
    return tuple(left), Row.of(turns)


def _read(lines: Iterable[bytes], fetch: Fetch) -> Iterator[Track | Turn]:
    """Turns with their entries."""
    turn: Turn | None = None
    entries: list[Entry] = []
    for line in takewhile(lambda line: not line.startswith(b"]"), lines):
        ((name, value),) = _inflated(_decode(line.removeprefix(b",").decode("ascii")), fetch).items()
        found = _reader(name)(value)
        if not isinstance(found, Track | Turn):
            entries.append(found)
            continue
        if turn is not None:
            yield _whole(turn, entries)
        turn, entries = (found if isinstance(found, Turn) else None), []
        if isinstance(found, Track):
            yield found
    if turn is not None:
        yield _whole(turn, entries)


def _whole(turn: Turn, entries: list[Entry]) -> Turn:
    messages = turn_messages(entries) if turn.end is not None else ()
    return replace(turn, entries=tuple(entries), messages=messages)


_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Session, Track, Turn, *get_args(Entry))}


def _plain(value: Any) -> Json:
    """Members that have their default are left out."""
    if type(value) in LEAVES:
        return value
    match value:
        case Wire():
            return plain(value)
        case tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case _ if is_dataclass(value):
            members = ((name, default, getattr(value, name)) for name, default in _members(value.__class__))
            return {name: _plain(member) for name, default, member in members if member != default}
        case _:
            return value


@cache
def _members(kind: type[Any]) -> tuple[tuple[str, Any], ...]:
    """By name, with their defaults; MISSING is equal to no value."""
    return tuple((field.name, field.default) for field in fields(kind))


_decode = json.JSONDecoder().decode


@cache
def _reader(name: str) -> Callable[[Json], Any]:
    # made when the first snapshot is read: it takes milliseconds
    return TypeAdapter(_KINDS[name]).validator.validate_python
