"""Rules that are remembered for a workspace, or for all of the user's sessions, kept in `$ABEY_CONFIG_DIR/rules.json`
(machine.md, Remembered rules)."""

import fcntl
import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from abey.core.remembering import is_about
from abey.core.session import Session
from abey.errors import RecordFailed
from abey.protocol.base import Flag, Int, Wire
from abey.protocol.policy import Deny, Rule, RunAsync, RunSync
from abey.runtime.agents import files
from abey.runtime.damaged import keep_damaged
from abey.runtime.store.io import FileIO
from abey.shared.escaping import escape_line

log = logging.getLogger(__name__)

VERSION = 1
MOST_BYTES = 4 << 20
OTHERS_WRITE = 0o022


class _Entry(Wire):
    """A rule. Until it was `applied` there may be calls that wait although it lets them run: a daemon died."""

    rule: Rule
    applied: Flag = False


class _File(Wire):
    version: Int
    rules: tuple[_Entry, ...]


Entries = Mapping[str, _Entry]


@dataclass(frozen=True, slots=True)
class _Known:
    """The file as it was read; of one that is damaged `fault` is why, and nothing in it counts."""

    stamp: files.Stamp | None
    entries: Entries
    fault: str | None = None


class Remembering:
    """A damaged file remembers nothing, and not a byte of it is lost. Threads, and daemons of other state directories,
    may choose at the same time."""

    def __init__(self, path: Path, io: FileIO) -> None:
        self._path = path
        self._io = io
        self._known = _Known(None, {})
        self._uses: Counter[str] = Counter()
        self._choosing = threading.Lock()

    @property
    def fault(self) -> str | None:
        """Why nothing is remembered although something was, in a line."""
        return self._now().fault

    def remembered(self, session: Session) -> tuple[tuple[Rule, ...], str | None]:
        """All rules that have a say in the calls of this session, of every scope; and `fault`, as of the same look at
        the file."""
        now = self._now()
        kept = [entry.rule for entry in now.entries.values() if is_about(entry.rule, session)]
        return (*session.rules, *kept), now.fault

    def items(self) -> tuple[Rule, ...]:
        """Those that are kept here, oldest first, with the number of calls they have decided."""
        kept = [self._counted(entry).rule for entry in self._now().entries.values()]
        return tuple(sorted(kept, key=lambda rule: (rule.created_at, rule.rule_id)))

    def unapplied(self) -> tuple[Rule, ...]:
        """Those that calls may still wait for that they decide."""
        return tuple(entry.rule for entry in self._now().entries.values() if not entry.applied)

    def remember(self, rule: Rule) -> None:
        """Durable when it returns; of one that says what another says that one stays. Raises RecordFailed."""
        with self._changing() as entries:
            known = entries.get(rule.rule_id)
            self._write({**entries, rule.rule_id: _Entry(rule=known.rule if known else rule)})

    def applied(self, rule_ids: Iterable[str]) -> None:
        """No call waits any more that one of these decides. Raises RecordFailed."""
        with self._changing() as entries:
            done = {one: entries[one].model_copy(update={"applied": True}) for one in rule_ids if one in entries}
            self._write({**entries, **done})

    def forget(self, rule_id: str) -> bool:
        """Whether there was such a rule. Raises RecordFailed."""
        with self._changing() as entries:
            if rule_id not in entries:
                return False
            self._write({name: entry for name, entry in entries.items() if name != rule_id})
            return True

    def used(self, rule_ids: Iterable[str]) -> None:
        """They have decided a call each. Written with the next change, or at the end: a crash forgets the newest."""
        for rule_id in rule_ids:
            self._uses[rule_id] += 1

    def close(self) -> None:
        """The counts are written down, if that can be."""
        if self._uses.keys() & self._now().entries.keys():
            try:
                with self._changing() as entries:
                    self._write(entries)
            except RecordFailed as error:
                log.warning("how often rules have decided is lost: %s", error.message)

    def _counted(self, entry: _Entry) -> _Entry:
        rule = entry.rule
        uses = rule.uses + self._uses.get(rule.rule_id, 0)
        return entry.model_copy(update={"rule": rule.model_copy(update={"uses": uses})})

    def _now(self) -> _Known:
        """The file as it is, read again if it changed."""
        stamp = files.stamp(self._path)
        if stamp != self._known.stamp:
            self._known = _Known(None, {}) if stamp is None else self._read(stamp)
            if self._known.fault:
                log.warning("no rule is remembered: %s", self._known.fault)
        return self._known

    def _read(self, stamp: files.Stamp) -> _Known:
        shown = escape_line(str(self._path))
        try:
            status = os.stat(self._path)
            found = _File.model_validate_json(self._io.read(self._path, MOST_BYTES))
        except OSError as error:
            return _Known(stamp, {}, f"{shown} cannot be read: {_words(error)}")
        except ValidationError as error:
            return _Known(stamp, {}, f"{shown} is damaged: {escape_line(error.errors()[0]['msg'])}")
        if status.st_mode & OTHERS_WRITE or status.st_uid != os.geteuid():
            return _Known(stamp, {}, f"{shown} could be another user's work; its owner alone may write to it")
        if found.version != VERSION:
            return _Known(stamp, {}, f"{shown} is of another version of abey, {found.version}")
        odd = next((entry.rule for entry in found.rules if not _is_kept_here(entry.rule)), None)
        if odd is not None:
            return _Known(stamp, {}, f"{shown} has a rule that decides nothing or too much: {escape_line(odd.rule_id)}")
        entries = {entry.rule.rule_id: entry for entry in found.rules}
        if len(entries) < len(found.rules):
            return _Known(stamp, {}, f"{shown} is damaged: two of its rules have one ruleId")
        return _Known(stamp, entries)

    @contextmanager
    def _changing(self) -> Iterator[Entries]:
        """What is there now, while nobody else changes it."""
        with self._choosing:
            try:
                self._io.ensure_directory(self._path.parent)
                lock = os.open(self._path.with_name(f".{self._path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    yield self._now().entries
                finally:
                    os.close(lock)
            except OSError as error:
                message = f"{escape_line(str(self._path))} cannot be written: {_words(error)}"
                raise RecordFailed(message, errno=error.errno) from error

    def _write(self, entries: Entries) -> None:
        if self.fault is not None:
            keep_damaged(self._io, self._path)
        counted = {name: self._counted(entry) for name, entry in entries.items()}
        file = _File(version=VERSION, rules=tuple(counted.values()))
        self._io.replace_file(self._path, (json.dumps(file.wire(), indent=1) + "\n").encode())
        self._uses.clear()


def _is_kept_here(rule: Rule) -> bool:
    """Whether it is one that we could have written."""
    runs = isinstance(rule.disposition, RunSync | RunAsync)
    return (
        rule.scope != "session"
        and (rule.workspace is not None) == (rule.scope == "workspace")
        and (isinstance(rule.disposition, Deny) or (runs and "*" not in rule.tool))
    )


def _words(error: OSError) -> str:
    return escape_line(error.strerror or str(error))
