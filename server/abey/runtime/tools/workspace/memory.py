"""What the sessions have read of which file, so that a change by somebody else is not overwritten unseen."""

from collections import OrderedDict

KNOWN = 20_000
"""Files of all sessions together; of what was read before that nothing is claimed."""


class Memory:
    """By session and real path, in memory only: after a restart nothing is known, and nothing claimed."""

    def __init__(self) -> None:
        self._hashes: OrderedDict[tuple[str, str], str] = OrderedDict()

    def keep(self, session_id: str, path: str, digest: str) -> None:
        self._hashes[session_id, path] = digest
        self._hashes.move_to_end((session_id, path))
        if len(self._hashes) > KNOWN:
            self._hashes.popitem(last=False)

    def differs(self, session_id: str, path: str, digest: str) -> bool:
        """Whether the session has seen the file, and it was another one."""
        return self._hashes.get((session_id, path), digest) != digest
