"""How large a session may become: what goes on is recorded to its end, and nothing new begins (journal.md, Limits)."""

import logging
from dataclasses import dataclass

from abey.errors import TooLarge
from abey.runtime.live import Live

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Quota:
    """`session_bytes` is for the journal and the blobs of one session; from the share `warned_from` of it on there is
    a warning."""

    session_bytes: int = 256 << 20
    warned_from: float = 0.8

    def refusal(self, live: Live) -> TooLarge | None:
        """Why the session takes no input, run or step now, or None. The first look at one that is nearly full is
        logged."""
        size = live.journal.total
        warning = self.warning(live.id, size)
        if warning is None:
            return None
        if not live.warned:
            live.warned = True
            log.warning(warning)
        return self.full(live.id, size)

    def warning(self, session_id: str, size: int) -> str | None:
        """What to say of a session of that many bytes, or None while it is far from the limit."""
        if size < self.session_bytes * self.warned_from:
            return None
        share = 100 * size // self.session_bytes
        return f"session {session_id} has {size} bytes, {share} % of the {self.session_bytes} that it may have"

    def full(self, session_id: str, size: int) -> TooLarge | None:
        """The refusal for a session of that many bytes, or None."""
        if size < self.session_bytes:
            return None
        message = (
            f"session {session_id} has {size} bytes, {self.session_bytes} are allowed: what waits can still be "
            "answered, but it takes no input and no step any more; export it and start a new one"
        )
        return TooLarge(message, sessionId=session_id, bytes=size, limit=self.session_bytes)
