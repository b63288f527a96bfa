"""The state directory: a journal for every session, and the agent configs they used (journal.md, Where state lives)."""

import errno
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from abey.errors import InvalidArguments, InvalidState, RecordFailed, SessionDamaged, UnknownSession
from abey.protocol.base import ID_PATTERN, Json, Timestamp
from abey.protocol.journal import BlobRef, Record
from abey.runtime.store.blobs import BLOBS, blobs_of, read_blob
from abey.runtime.store.io import FileIO, Space
from abey.runtime.store.journal import JOURNAL, Journal, record_failed
from abey.runtime.store.mending import Follow
from abey.runtime.store.partial import PartialFile, has_partials, read_partial
from abey.runtime.store.recovery import Damaged, Opened, load_journal, open_journal, reopen_journal
from abey.runtime.store.references import BlobLost
from abey.runtime.store.repairing import Examined, Mendable, examine, repair
from abey.runtime.store.scan import NOTHING, Scan, TornTail, scan
from abey.runtime.store.snapshot_text import Snapshot
from abey.runtime.store.snapshots import write_snapshot
from abey.runtime.store.spool import BlobSpool
from abey.runtime.store.trash import Trashed, take_back, throw_away, trashed


class Store:
    """Blocking. Sessions do not disturb each other: different ones may be used from different threads."""

    def __init__(self, state_dir: Path, io: FileIO) -> None:
        """Makes the directories that are missing. Raises OSError."""
        self.state_dir = state_dir
        self._io = io
        self._sessions = state_dir / "sessions"
        self._configs = state_dir / "configs"
        self._trash = state_dir / "trash"
        io.ensure_directory(self._sessions)
        io.ensure_directory(self._configs)

    def space(self) -> Space:
        """What is left on the disk of the sessions. Raises OSError."""
        return self._io.space(self._sessions)

    def ids(self) -> tuple[str, ...]:
        """Every session on disk, damaged or not, in the order of their ids. Raises RecordFailed where their folder
        cannot be read."""
        try:
            names = self._io.folder_names(self._sessions)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise _unreadable(self._sessions, error) from error
        return tuple(sorted(name for name in names if re.match(ID_PATTERN, name)))

    def create(self, session_id: str, records: Sequence[Record], wholes: Mapping[str, bytes] | None = None) -> Journal:
        """A new session; `wholes` are the whole outputs that its records name, by SHA-256. What a crash left of one
        that was being made goes to the trash. Raises InvalidArguments, InvalidState (there is one), TooLarge,
        RecordFailed."""
        if not re.match(ID_PATTERN, session_id):
            raise InvalidArguments("a session id matches [0-9a-z][0-9a-z_-]{0,63}", sessionId=session_id)
        if self.exists(session_id) and self._is_left_over(session_id):
            self.delete(session_id, records[0].at)
        return Journal.create(self._io, self._sessions / session_id, records, wholes)

    def journal_status(self, session_id: str) -> os.stat_result:
        """What lies where the journal of one of `ids` is. Raises OSError."""
        return self._io.status(f"{self._sessions}/{session_id}/{JOURNAL}")

    def open(self, session_id: str, now: Timestamp) -> Opened | Damaged:
        """The session as its journal has it; `now` is written where a torn tail is cut off. Raises UnknownSession."""
        return open_journal(self._io, self._directory(session_id), now)

    def load(self, session_id: str, now: Timestamp) -> Opened | Damaged:
        """The same, but only the records after its newest snapshot that agrees. Raises UnknownSession."""
        return load_journal(self._io, self._directory(session_id), now)

    def read(self, session_id: str) -> Scan:
        """What is on disk of the session now, whole units only; changes nothing, whoever writes meanwhile. Raises
        UnknownSession, SessionDamaged."""
        directory = self._directory(session_id)
        try:
            data = self._io.read(directory / JOURNAL)
        except OSError as error:
            raise SessionDamaged(f"the journal of session {session_id} cannot be read: {error.strerror}") from error
        return scan(data, fetch=blobs_of(self._io, directory))

    def save_snapshot(self, snapshot: Snapshot) -> int:
        """Its size in bytes. Raises UnknownSession, OSError; ValueError for NaN and Infinity."""
        return write_snapshot(self._io, self._directory(snapshot.session.id), snapshot)

    def reopen(self, session_id: str, now: Timestamp) -> Opened | Damaged:
        """The session after a failed write, its old journal closed. Raises UnknownSession, RecordFailed."""
        return reopen_journal(self._io, self._directory(session_id), now)

    def exists(self, session_id: str) -> bool:
        """Whether anything on disk has this id, whole or not."""
        return re.match(ID_PATTERN, session_id) is not None and os.path.lexists(self._sessions / session_id)

    def holds_nothing(self, session_id: str) -> bool:
        """Whether no write to the session was ever whole: a crash left this of one that was being made. Raises
        UnknownSession, RecordFailed."""
        directory = self._directory(session_id)
        try:
            if self._io.names(directory) == []:
                return True
            found = scan(self._io.read(directory / JOURNAL))
        except OSError as error:
            raise _unreadable(directory, error) from error
        return found.end == NOTHING and (found.problem is None or isinstance(found.problem, TornTail))

    def examine(self, session_id: str, follow: Follow) -> Examined:
        """What is wrong with the session, and what would mend it; changes nothing. Raises UnknownSession."""
        return examine(self._io, self._directory(session_id), follow)

    def repair(self, session_id: str, found: Mendable, now: Timestamp) -> None:
        """Mends the journal. Raises RecordFailed: then it is as it was, or mended."""
        try:
            repair(self._io, found, now)
        except OSError as error:
            raise record_failed(f"the mended journal of session {session_id}", error) from error

    def delete(self, session_id: str, now: Timestamp) -> None:
        """Moves the session to the trash. Raises UnknownSession; RecordFailed: then it is there or here, and whole."""
        directory = self._directory(session_id)
        try:
            throw_away(self._io, directory, self._trash, now)
        except OSError as error:
            raise record_failed(f"the move of session {session_id} to the trash", error) from error

    def trashed(self) -> tuple[Trashed, ...]:
        """Every deleted session that is still there, by id, the last deletion of one id last. Raises RecordFailed
        where the trash cannot be read."""
        try:
            return trashed(self._io, self._trash)
        except OSError as error:
            raise _unreadable(self._trash, error) from error

    def revision_of(self, found: Trashed) -> int:
        """That of a deleted session, as far as its journal is whole. Raises RecordFailed where it cannot be read."""
        try:
            return scan(self._io.read(found.path / JOURNAL)).end.revision
        except OSError as error:
            raise _unreadable(found.path, error) from error

    def restore(self, found: Trashed) -> None:
        """Moves it back. Raises InvalidState where the id is in use; RecordFailed."""
        if self.exists(found.session_id):
            raise InvalidState(f"session {found.session_id} exists", sessionId=found.session_id)
        try:
            take_back(self._io, found, self._sessions)
        except OSError as error:
            raise record_failed(f"the move of session {found.session_id} out of the trash", error) from error

    def spool(self, session_id: str, name: str) -> BlobSpool:
        """A place for all of an output of the session; no two have one `name`, which is an id of ours."""
        return BlobSpool(self._io, self._sessions / session_id, name)

    def partial(self, session_id: str, invocation_id: str) -> PartialFile:
        """A place for what a tool of the session prints while it runs."""
        return PartialFile(self._io, self._sessions / session_id, invocation_id)

    def read_partial(self, session_id: str, invocation_id: str) -> str | None:
        """What it had printed when its daemon went, as far as that was kept."""
        return read_partial(self._io, self._sessions / session_id, invocation_id)

    def has_partials(self, session_id: str) -> bool:
        """Whether anything is kept of what its tools had printed whose calls have no result."""
        return has_partials(self._io, self._sessions / session_id)

    def read_blob(self, session_id: str, blob: BlobRef, offset: int, limit: int) -> bytes:
        """A part of a blob, all of which was checked. Raises UnknownSession, SessionDamaged."""
        try:
            return read_blob(self._io, self._directory(session_id), blob, offset, limit)
        except BlobLost as lost:
            message = f"session {session_id}: blob {blob.sha256}, {blob.bytes} bytes, is {lost.how}"
            raise SessionDamaged(message, sessionId=session_id, sha256=blob.sha256) from None

    def save_config(self, config_hash: str, config: Json) -> None:
        """Keeps an agent config, unless it is there. Raises RecordFailed, ValueError for NaN and Infinity."""
        path = self._config(config_hash)
        with suppress(SessionDamaged):  # then it is kept anew
            if self.load_config(config_hash) is not None:
                return
        text = json.dumps(config, separators=(",", ":"), allow_nan=False)
        try:
            self._io.replace_file(path, text.encode("ascii") + b"\n")
        except OSError as error:
            raise record_failed(f"the agent config {config_hash}", error) from error

    def load_config(self, config_hash: str) -> Json | None:
        """The agent config of that hash, None when it is not there. Raises SessionDamaged when it cannot be read."""
        try:
            return json.loads(self._io.read(self._config(config_hash)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise SessionDamaged(f"the agent config {config_hash} cannot be read: {error}") from error

    def _is_left_over(self, session_id: str) -> bool:
        """Whether nothing is there but the beginnings of a first write."""
        try:
            names = self._io.names(self._sessions / session_id)
            return {*names} <= {JOURNAL, BLOBS} and self.holds_nothing(session_id)
        except (OSError, RecordFailed):  # nobody can tell what it is
            return False

    def _directory(self, session_id: str) -> Path:
        directory = self._sessions / session_id
        if not re.match(ID_PATTERN, session_id) or not os.path.lexists(directory):
            raise UnknownSession(f"no session {session_id}", sessionId=session_id)
        return directory

    def _config(self, config_hash: str) -> Path:
        if not re.match(r"[0-9a-f]{64}\Z", config_hash):
            raise InvalidArguments("a config hash is 64 hex digits", configHash=config_hash)
        return self._configs / f"{config_hash}.json"


def _unreadable(folder: Path, error: OSError) -> RecordFailed:
    """Something else lies where a folder of ours belongs, or it is not ours to read."""
    number = error.errno or errno.EIO
    name = errno.errorcode.get(number, str(number))
    message = f"{folder} cannot be read: {error.strerror or os.strerror(number)} ({name})"
    return RecordFailed(f"{message}; put the folder back, or give it back to its owner", errno=number, errnoName=name)
