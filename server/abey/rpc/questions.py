"""Requests from the daemon to one client (LSP 3.17, Request Message).

Laws: each question ends once, by its answer, by its asker or with the connection; what nobody waits for any more is
passed over when it comes.
"""

import asyncio
import logging
import re
from collections.abc import Callable

from abey.protocol.base import Json
from abey.rpc.faults import Declined, Unanswered
from abey.rpc.messages import Response, encode

log = logging.getLogger(__name__)

OURS = re.compile("s([1-9][0-9]{0,17})")

LIMIT = 64
"""So many questions may wait for one client: it is a person who answers, or an editor at once."""


class Questions:
    """Of one connection; their ids are ours and look unlike a client's: "s1", "s2", …"""

    def __init__(self, name: str, send: Callable[[bytes], None], limit: int = LIMIT) -> None:
        self._name = name
        self._send = send
        self._limit = limit
        self._last = 0
        self._open: dict[str, asyncio.Future[Json]] = {}
        self._over = False

    async def ask(self, method: str, params: Json) -> Json:
        """The result, whatever it is; params are JSON, or None for a method without. Raises Declined, Unanswered."""
        if self._over:
            raise Unanswered(f"{self._name} was gone before it could be asked {method}")
        if len(self._open) >= self._limit:
            raise Unanswered(f"{self._limit} questions wait for {self._name}: {method} is not asked")
        self._last += 1
        own_id = f"s{self._last}"
        given = {} if params is None else {"params": params}
        body = encode({"jsonrpc": "2.0", "id": own_id, "method": method, **given})
        answer = self._open[own_id] = asyncio.get_running_loop().create_future()
        self._send(body)
        try:
            return await answer
        finally:
            if self._open.pop(own_id, None) is not None:
                self._withdraw(own_id)

    def answered(self, response: Response) -> None:
        """Hands an answer to who asked; one that nobody asked for, or asks for no more, is passed over."""
        waiting = self._open.pop(response.id, None) if isinstance(response.id, str) else None
        if waiting is None:
            # it crossed the withdrawal of its question, as happens every day; the other kind is an error of the client
            level = logging.DEBUG if self._was_asked(response.id) else logging.INFO
            log.log(level, "%s answered %.40r, which nobody asks", self._name, response.id)
        elif not waiting.done():
            _settle(waiting, response)

    def end(self) -> None:
        """The client is gone: nothing is asked any more, and who waits hears so."""
        self._over = True
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(Unanswered(f"{self._name} went without an answer"))
        self._open.clear()

    def _was_asked(self, answered_id: object) -> bool:
        """Once, whether or not it was answered."""
        ours = OURS.fullmatch(answered_id) if isinstance(answered_id, str) else None
        return ours is not None and int(ours[1]) <= self._last

    def _withdraw(self, own_id: str) -> None:
        self._send(encode({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": own_id}}))


def _settle(waiting: asyncio.Future[Json], response: Response) -> None:
    if response.error is None:
        waiting.set_result(response.result)
        return
    error = response.error if isinstance(response.error, dict) else {}
    code, message = error.get("code"), error.get("message")
    waiting.set_exception(
        Declined(code if type(code) is int else 0, message if isinstance(message, str) else "", error.get("data"))
    )
