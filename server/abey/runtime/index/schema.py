"""The tables of the index, how they are made and checked, and the statements that more than one place needs."""

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from abey.protocol.schema_hash import SCHEMA_HASH
from abey.runtime.index.rows import COLUMNS, checksum
from abey.shared.version import VERSION

if TYPE_CHECKING:
    import sqlite3

VERSION_KEY = f"1 {VERSION} {SCHEMA_HASH} {unicodedata.unidata_version}"
"""What a file of another version is told by: another shape of rows, other views, other words."""

REVISION_BITS = 32
"""Words stand under the number of their session, and below it the revision up to which they are."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which sessions are wanted; None: any. `folders` are of `folder_of`, the other texts of `plain`."""

    agent: str | None = None
    state: str | None = None
    attention: str | None = None
    archived: bool | None = None
    folders: tuple[str, ...] | None = None
    pending: bool = False


LISTED = tuple(name for name in COLUMNS if name != "view")
"""Apart from the views, which are long, so that looking through all sessions is quick."""

TABLES = f"""
CREATE TABLE meta (version TEXT);
CREATE TABLE sessions (no INTEGER PRIMARY KEY AUTOINCREMENT, {", ".join(LISTED)}, crc INTEGER);
CREATE TABLE views (no INTEGER PRIMARY KEY, view TEXT);
CREATE UNIQUE INDEX sessions_id ON sessions (id);
CREATE TABLE tokens (token TEXT PRIMARY KEY, no INTEGER) WITHOUT ROWID;
CREATE INDEX tokens_no ON tokens (no);
CREATE VIRTUAL TABLE words USING fts5 (text, content='', detail='none', columnsize=0, tokenize='ascii');
"""

INSERT = f"INSERT INTO sessions ({', '.join(LISTED)}, crc) VALUES ({', '.join('?' * (len(LISTED) + 1))})"
UPDATE = f"UPDATE sessions SET {', '.join(f'{name} = ?' for name in LISTED)}, crc = ? WHERE no = ?"
VIEW = "INSERT OR REPLACE INTO views (no, view) VALUES (?, ?)"
VIEW_OF = "SELECT view FROM sessions JOIN views USING (no) WHERE id = ?"
ROWS = f"SELECT {', '.join(COLUMNS)}, crc FROM sessions LEFT JOIN views USING (no)"
TOKEN = "INSERT OR REPLACE INTO tokens (token, no) VALUES (?, ?)"
WORDS = "INSERT INTO words (rowid, text) VALUES (?, ?)"
MATCHING = f"SELECT DISTINCT rowid >> {REVISION_BITS} FROM words WHERE words MATCH ?"
SOURCES = "SELECT DISTINCT source FROM sessions"
OF_SOURCE = "SELECT id FROM sessions WHERE source = ?"
TOKENS = """
SELECT token, sessions.id FROM tokens JOIN sessions USING (no) WHERE token >= ? AND token < ? ORDER BY token LIMIT ?
"""


def prepare(connection: "sqlite3.Connection") -> None:
    """Makes the tables, or checks those there are, to the last row. Raises sqlite3.DatabaseError for a file that is
    damaged, of another version, or mostly of sessions that are gone."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        connection.executescript(f"BEGIN IMMEDIATE; {TABLES} COMMIT;")
        connection.execute("INSERT INTO meta VALUES (?)", (VERSION_KEY,))
        return
    fault = _fault(connection)
    if fault is not None:
        import sqlite3

        raise sqlite3.DatabaseError(fault)


def condition(wanted: Filter) -> tuple[str, list[Any]]:
    """The WHERE of a list, with its values."""
    equal = {
        "agent": wanted.agent,
        "state": wanted.state,
        "attention": wanted.attention,
        "archived": wanted.archived,
    }
    asked = {name: value for name, value in equal.items() if value is not None}
    terms = [f"{name} = ?" for name in asked]
    values: list[Any] = list(asked.values())
    if wanted.pending:
        terms.append("pending > 0")
    if wanted.folders is not None:
        one = "folder = ? OR substr(folder, 1, ?) = ?"
        terms.append(f"({' OR '.join(['0', *[one] * len(wanted.folders)])})")
        for folder in wanted.folders:
            below = folder.rstrip("/") + "/"
            values += [folder, len(below), below]
    return f"WHERE {' AND '.join(terms)}" if terms else "", values


def _fault(connection: "sqlite3.Connection") -> str | None:
    """What is wrong with the file, or None."""
    if connection.execute("SELECT version FROM meta").fetchall() != [(VERSION_KEY,)]:
        return "it is of another version"
    (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        return f"it is damaged: {said}"
    for *values, crc in connection.execute(ROWS):
        if checksum(tuple(values)) != crc:
            return "a row is not what was written"
    counted = "SELECT coalesce(max(no), 0), count(*) FROM sessions"
    highest, there = connection.execute(counted).fetchone()
    return "most of it is of sessions that are gone" if highest > 2 * there + 100 else None
