"""Whose the tokens are that sessions have issued."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from abey.core.session import Session, open_calls
from abey.core.waiting import issued_tokens
from abey.errors import UnknownToken

TOKEN_PREFIX = 8
"""A shorter beginning of a token is too easy to hit by chance."""

Find = Callable[[str], Awaitable[Mapping[str, str]]]
"""The tokens with that beginning that are not known here, with their sessions' ids."""


class Tokens:
    """Those of the sessions in memory, and what `find` has found of the others."""

    def __init__(self, find: Find) -> None:
        self.find = find
        self._owners: dict[str, str] = {}

    def issued(self, tokens: Iterable[str], session_id: str) -> None:
        self._owners |= dict.fromkeys(tokens, session_id)

    async def whole(self, token: str) -> tuple[str, str]:
        """The id of the session that issued this token, and the token whole: a unique beginning of it will do, also
        of one that was answered long ago. Raises UnknownToken."""
        whole = [token] if await self.has(token) else self._beginning_with(token)
        if len(whole) != 1:
            found = f"{len(whole)} calls have tokens that begin with" if whole else "no call has the token"
            raise UnknownToken(f"{found} {token}", token=token)
        return self._owners[whole[0]], whole[0]

    async def has(self, token: str) -> bool:
        """Whether some session issued exactly this token."""
        if token not in self._owners:
            self._owners |= await self.find(token)
        return token in self._owners

    def rest(self, session: Session) -> None:
        """Whose the tokens are that nothing waits for is not remembered."""
        waiting = {call.verdict.token for call in open_calls(session) if call.verdict is not None}
        for token in issued_tokens(session):
            if token not in waiting:
                self._owners.pop(token, None)

    def forget(self, session_id: str) -> None:
        for token in [token for token, owner in self._owners.items() if owner == session_id]:
            del self._owners[token]

    def _beginning_with(self, prefix: str) -> list[str]:
        return [token for token in self._owners if token.startswith(prefix)] if len(prefix) >= TOKEN_PREFIX else []
