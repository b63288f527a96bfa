"""The state directory: a journal for every session, and the agent configs they used (journal.md, Where state lives)."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from abey.errors import InvalidArguments, SessionDamaged, UnknownSession
from abey.protocol.base import ID_PATTERN, Json, Timestamp
from abey.protocol.journal import Record
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import Journal, record_failed
from abey.runtime.store.recovery import Damaged, Opened, open_journal, reopen_journal


class Store:
    """Blocking. Sessions do not disturb each other: different ones may be used from different threads."""

    def __init__(self, state_dir: Path, io: FileIO) -> None:
        """Makes the directories that are missing. Raises OSError."""
        self._io = io
        self._sessions = state_dir / "sessions"
        self._configs = state_dir / "configs"
        io.ensure_directory(self._sessions)
        io.ensure_directory(self._configs)

    def ids(self) -> tuple[str, ...]:
        """Every session on disk, damaged or not, in the order of their ids."""
        try:
            names = self._io.names(self._sessions)
        except FileNotFoundError:
            return ()
        return tuple(sorted(name for name in names if re.match(ID_PATTERN, name)))

    def create(self, session_id: str, records: Sequence[Record]) -> Journal:
        """A new session. Raises InvalidArguments, InvalidState (there is one), TooLarge, RecordFailed."""
        if not re.match(ID_PATTERN, session_id):
            raise InvalidArguments("a session id matches [0-9a-z][0-9a-z_-]{0,63}", sessionId=session_id)
        return Journal.create(self._io, self._sessions / session_id, records)

    def open(self, session_id: str, now: Timestamp) -> Opened | Damaged:
        """The session as its journal has it; `now` is written where a torn tail is cut off. Raises UnknownSession."""
        return open_journal(self._io, self._directory(session_id), now)

    def reopen(self, session_id: str, now: Timestamp) -> Opened | Damaged:
        """The session after a failed write, its old journal closed. Raises UnknownSession, RecordFailed."""
        return reopen_journal(self._io, self._directory(session_id), now)

    def save_config(self, config_hash: str, config: Json) -> None:
        """Keeps an agent config, unless it is there. Raises RecordFailed, ValueError for NaN and Infinity."""
        path = self._config(config_hash)
        if path.exists():
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

    def _directory(self, session_id: str) -> Path:
        directory = self._sessions / session_id
        if not re.match(ID_PATTERN, session_id) or not os.path.lexists(directory):
            raise UnknownSession(f"no session {session_id}", sessionId=session_id)
        return directory

    def _config(self, config_hash: str) -> Path:
        if not re.match(r"[0-9a-f]{64}\Z", config_hash):
            raise InvalidArguments("a config hash is 64 hex digits", configHash=config_hash)
        return self._configs / f"{config_hash}.json"
