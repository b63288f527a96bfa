"""Methods of LSP for those who speak in values of lsprotocol: its params in, its results out."""

from collections.abc import Callable, Coroutine, Generator
from typing import Any

from abey.protocol.base import Json
from abey.rpc.dispatch import Feature, Notice
from abey.rpc.peer import Peer
from abey.rpc.structuring import structured, unstructured

Answers = Callable[[Peer, Any], Coroutine[Any, Any, Any]]
"""lsprotocol's params in, its result out."""
Takes = Callable[[Peer, Any], None]


def feature(method: str, answers: Answers) -> Feature:
    """`answers` as a connection calls it, with params that were judged when the request arrived."""
    return lambda peer, params: _Unstructured(answers(peer, structured(method, params)))


def notice(method: str, takes: Takes) -> Notice:
    """`takes` as a connection calls it."""
    return lambda peer, params: takes(peer, structured(method, params))


class _Unstructured:
    """A Later: what the coroutine returns, as JSON."""

    def __init__(self, result: Coroutine[Any, Any, Any]) -> None:
        self._result = result

    def __await__(self) -> Generator[Any, Any, Json]:
        return self._json().__await__()

    def close(self) -> None:
        self._result.close()

    async def _json(self) -> Json:
        found: Json = unstructured(await self._result)
        return found
