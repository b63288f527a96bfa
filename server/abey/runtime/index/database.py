"""What is kept in the index and what can be asked of it (journal.md, The index)."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from abey.core.session import Session
from abey.core.titles import may_have_titled
from abey.core.waiting import issued_tokens
from abey.protocol.base import Timestamp
from abey.protocol.journal import CallDecided, Record
from abey.runtime.index import schema
from abey.runtime.index.file import CacheFile
from abey.runtime.index.rows import Found, Row, checksum, row_of
from abey.runtime.index.schema import Filter
from abey.runtime.index.words import Query, record_texts, session_texts, words_of
from abey.runtime.store.io import FileIO

if TYPE_CHECKING:  # it takes long to import, and many a daemon never lists
    import sqlite3

TOKENS_FOUND = 8
UNKNOWN = "unknown"
"""The stamp of a journal that nothing can be told of: no row is right for it."""


@dataclass(frozen=True, slots=True)
class Change:
    """A session as its journal with `stamp` has it. `records` are those after revision `base`, where both are known;
    they are all that is looked at if the index has the session at that revision, under the same title."""

    session: Session
    stamp: str
    base: int | None = None
    records: tuple[Record, ...] = ()


class Database:
    """Blocking; for any thread, one at a time. Every method raises IndexFailed."""

    def __init__(self, path: Path, io: FileIO) -> None:
        """Nothing is opened yet."""
        self._file = CacheFile(path, io, self._prepare)
        self._known: dict[str, int] = {}
        self.close = self._file.close
        self._run = self._file.run

    @property
    def off(self) -> bool:
        """Whether it is given up for good."""
        return self._file.off

    def differing(self, stamps: Mapping[str, str], now: Timestamp) -> tuple[str, ...]:
        """The sessions of `stamps` that have no row which is right `now`; rows of other sessions are dropped."""

        def work(connection: "sqlite3.Connection") -> tuple[str, ...]:
            found = connection.execute("SELECT id, stamp, revision, since, until FROM sessions").fetchall()
            right = {
                session_id: revision
                for session_id, stamp, revision, since, until in found
                if stamp == stamps.get(session_id) != UNKNOWN and since <= now < until
            }
            gone = {row[0] for row in found} - stamps.keys()
            with _transaction(connection) if gone else contextlib.nullcontext():
                for session_id in gone:
                    _drop(connection, session_id)
            self._known = right
            return tuple(session_id for session_id in stamps if session_id not in right)

        return self._run(work)

    def put(self, changes: Sequence[Change], now: Timestamp) -> None:
        """The sessions have rows, tokens and words as they are now."""

        def work(connection: "sqlite3.Connection") -> None:
            with _transaction(connection):
                for change in changes:
                    session = change.session
                    row = row_of(session, change.stamp, now)
                    is_known = change.base is not None and self._known.get(session.id) == change.base
                    if is_known and not _is_renamed(connection, change):
                        _update(connection, row, change.records)
                    else:
                        _replace(connection, row, session)
            self._known |= {change.session.id: change.session.revision for change in changes}

        self._run(work)

    def select(self, wanted: Filter) -> tuple[Found, ...]:
        """The rows that are wanted, in no order."""
        where, values = schema.condition(wanted)
        query = f"SELECT {', '.join(field.name for field in fields(Found))} FROM sessions {where}"
        return self._run(lambda connection: tuple(Found(*row) for row in connection.execute(query, values)))

    def matching(self, query: Query) -> frozenset[str]:
        """The sessions in which all words of the query stand."""

        def work(connection: "sqlite3.Connection") -> frozenset[str]:
            terms = [f'"{word}"' for word in query.whole]
            terms += [f'"{query.beginning}"*'] if query.beginning is not None else []
            found: frozenset[int] | None = None
            for term in terms:
                numbers = frozenset(row[0] for row in connection.execute(schema.MATCHING, (term,)))
                found = numbers if found is None else found & numbers
                if not found:
                    return frozenset()
            known = connection.execute("SELECT no, id FROM sessions")
            return frozenset(session_id for no, session_id in known if found is None or no in found)

        return self._run(work)

    def rows(self, session_ids: Sequence[str]) -> dict[str, Row]:
        """The rows of these sessions, as far as they have one."""

        one = f"{schema.ROWS} WHERE id = ?"

        def work(connection: "sqlite3.Connection") -> dict[str, Row]:
            found = (connection.execute(one, (session_id,)).fetchone() for session_id in session_ids)
            return {row[0]: Row(*row[:-1]) for row in found if row is not None}

        return self._run(work)

    def tokens(self, beginning: str) -> dict[str, str]:
        """Some tokens that begin so, with their sessions; all of them, if they are fewer than TOKENS_FOUND."""
        bounds = (beginning, beginning + "\x7f", TOKENS_FOUND)
        return self._run(lambda connection: dict(connection.execute(schema.TOKENS, bounds).fetchall()))

    def sources(self) -> tuple[str, ...]:
        """Every `source` of a row, once."""
        return self._run(lambda connection: tuple(row[0] for row in connection.execute(schema.SOURCES)))

    def of_source(self, source: str) -> tuple[str, ...]:
        """The sessions with that `source`."""
        return self._run(lambda connection: tuple(row[0] for row in connection.execute(schema.OF_SOURCE, (source,))))

    def _prepare(self, connection: "sqlite3.Connection") -> None:
        self._known = {}
        schema.prepare(connection)


@contextlib.contextmanager
def _transaction(connection: "sqlite3.Connection") -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _is_renamed(connection: "sqlite3.Connection", change: Change) -> bool:
    """Whether its row has another title: that is sought no more then, and all is looked at."""
    session = change.session
    if not any(may_have_titled(session, record.data) for record in change.records):
        return False
    (view,) = connection.execute(schema.VIEW_OF, (session.id,)).fetchone()
    return bool(json.loads(view)["title"] != session.title)


def _update(connection: "sqlite3.Connection", row: Row, records: Sequence[Record]) -> None:
    (no,) = connection.execute("SELECT no FROM sessions WHERE id = ?", (row.id,)).fetchone()
    connection.execute(schema.UPDATE, (*row.listed(), checksum(row.values()), no))
    connection.execute(schema.VIEW, (no, row.view))
    tokens = [record.data.token for record in records if type(record.data) is CallDecided]
    connection.executemany(schema.TOKEN, ((token, no) for token in tokens))
    _add_words(connection, no, row.revision, words_of(record_texts(records)))


def _replace(connection: "sqlite3.Connection", row: Row, session: Session) -> None:
    _drop(connection, row.id)
    no = connection.execute(schema.INSERT, (*row.listed(), checksum(row.values()))).lastrowid or 0
    connection.execute(schema.VIEW, (no, row.view))
    connection.executemany(schema.TOKEN, ((token, no) for token in issued_tokens(session)))
    _add_words(connection, no, row.revision, words_of(session_texts(session)))


def _add_words(connection: "sqlite3.Connection", no: int, revision: int, words: frozenset[str]) -> None:
    if words:
        connection.execute(schema.WORDS, ((no << schema.REVISION_BITS) | revision, " ".join(words)))


def _drop(connection: "sqlite3.Connection", session_id: str) -> None:
    """Its words stay, under a number that no session has any more: see `schema.prepare`."""
    for table in ("tokens", "views"):
        connection.execute(f"DELETE FROM {table} WHERE no = (SELECT no FROM sessions WHERE id = ?)", (session_id,))
    connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
