"""Who may come in: a door with a token for a transport that anybody can reach (security.md, Transport)."""

import hmac
from dataclasses import dataclass, field

from abey.protocol.base import Json


@dataclass(frozen=True, slots=True)
class Admission:
    """`token` in the client's `initializationOptions` opens the door, and until then nothing is answered; None: it is
    open. The first valid `initialize` comes within `seconds`, None: whenever it likes."""

    token: bytes | None = field(default=None, repr=False)
    seconds: float | None = None

    def admits(self, params: Json) -> bool:
        """Whether the params of `initialize` hold the token; the time that this takes tells nothing of it."""
        if self.token is None:
            return True
        options = params.get("initializationOptions") if isinstance(params, dict) else None
        given = options.get("token") if isinstance(options, dict) else None
        if not isinstance(given, str):
            return False
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self.token)


OPEN = Admission()
"""For a transport that only its owner reaches."""
