"""Editors are served once there is one: most daemons never need lsprotocol and the languages, which take long to load.

Laws: everybody else is served meanwhile; what editors say while all is loaded is taken afterwards, in the order in
which it came.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from abey.core.machine import Machine
from abey.daemon.plain.following import Following
from abey.daemon.services import Services
from abey.protocol.base import Json
from abey.rpc.dispatch import Binding, Feature, Later, Notice, failure
from abey.rpc.peer import Peer
from abey.runtime.index.index import Index

if TYPE_CHECKING:
    from abey.daemon.editors.making import Made

log = logging.getLogger(__name__)

FEATURES = (
    "textDocument/completion",
    "textDocument/hover",
    "textDocument/codeAction",
    "textDocument/codeLens",
    "textDocument/documentSymbol",
    "workspace/executeCommand",
)
NOTICES = (
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didSave",
    "textDocument/didClose",
    "window/workDoneProgress/cancel",
)


def _nothing(_: Peer, __: Json) -> None:
    """The client is ready; so are we."""


def _folders_changed(peer: Peer, params: Json) -> None:
    """What a client trusts goes by it: it counts for all that is asked after it."""
    peer.editor.change_folders(params)


AT_ONCE: Mapping[str, Notice] = {
    "initialized": _nothing,
    "workspace/didChangeWorkspaceFolders": _folders_changed,
}
"""What is taken without anything of this."""

Load = Callable[[], Awaitable["Made"]]
Act = Callable[["Made"], None]


class LateEditors:
    """What `load` makes, from when an editor is there. A publish.Follower."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._made: Made | None = None
        self._loading: asyncio.Task[None] | None = None
        self._held: list[Act] = []
        """What is done once all is loaded."""

    @property
    def features(self) -> Mapping[str, Feature]:
        return {name: partial(self._feature, name) for name in FEATURES}

    @property
    def notices(self) -> Mapping[str, Notice]:
        return {**AT_ONCE, **{name: partial(self._notice, name) for name in NOTICES}}

    def joined(self, peer: Peer) -> None:
        """A client that knows LSP alone is an editor; whether another one is, is seen when it says something of LSP."""
        if peer.plain:
            self._do(lambda made: made.plain.joined(peer))

    def left(self, peer: Peer) -> None:
        self._tell(partial(_left, peer))

    def changed(self, machine: Machine) -> None:
        if self._is_wanted:
            self._do(partial(_changed, machine))

    def gone(self, machine: Machine) -> None:
        self._tell(partial(_gone, machine))

    async def close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
        if self._made is not None:
            await self._made.plain.close()

    def _feature(self, name: str, peer: Peer, params: Json) -> Later:
        def ask(made: "Made") -> Later:
            return made.editors.features[name](peer, params)

        if self._made is not None:
            return ask(self._made)
        asked = _Asked(self._begun(), ask)
        self._held.append(asked.begin)
        return asked

    def _notice(self, name: str, peer: Peer, params: Json) -> None:
        if self._made is not None:
            self._made.editors.notices[name](peer, params)
        else:
            self._do(partial(_noticed, name, peer, params))

    def _tell(self, act: Act) -> None:
        """What happens before the first editor is there is none of its business."""
        if self._is_wanted:
            self._do(act)

    @property
    def _is_wanted(self) -> bool:
        return self._made is not None or self._loading is not None

    def _do(self, act: Act) -> None:
        """Now, or once all is loaded."""
        if self._made is not None:
            act(self._made)
        else:
            self._begun()
            self._held.append(act)

    def _begun(self) -> asyncio.Task[None]:
        """Who comes after a failure tries again."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._begin())
        return self._loading

    async def _begin(self) -> None:
        try:
            made = self._made = await self._load()
        except Exception:
            log.exception("editors cannot be served")
            self._held.clear()
            self._loading = None
            return
        held, self._held = self._held, []
        for act in held:
            try:
                act(made)
            except Exception:
                log.exception("what an editor said while all was loaded is lost")


class _Asked:
    """A Later: the answer to what was asked before all was `loaded`."""

    def __init__(self, loaded: asyncio.Task[None], ask: Callable[["Made"], Later]) -> None:
        self._loaded = loaded
        self._ask = ask
        self._later: Later | None = None
        self._is_closed = False
        self._refused: Exception = RuntimeError("editors cannot be served")

    def begin(self, made: "Made") -> None:
        """In its turn."""
        if self._is_closed:
            return
        try:
            self._later = self._ask(made)
        except Exception as error:  # noqa: BLE001  it is told to who asked
            self._refused = error

    def __await__(self) -> Generator[Any, Any, Json]:
        return self._answer().__await__()

    def close(self) -> None:
        self._is_closed = True
        if self._later is not None:
            self._later.close()

    async def _answer(self) -> Json:
        await asyncio.shield(self._loaded)
        if self._later is None:
            raise self._refused
        return await self._later


def loading(services: Services, bindings: Mapping[str, Binding[Any, Any]], following: Following, index: Index) -> Load:
    """A Load that keeps nobody waiting."""

    async def load() -> "Made":
        make = await asyncio.to_thread(_imported)
        return make(services, bindings, following, index)

    return load


def _imported() -> Callable[[Services, Mapping[str, Binding[Any, Any]], Following, Index], "Made"]:
    from abey.daemon.editors.making import make_editors
    from abey.rpc.structuring import client_capabilities

    client_capabilities({})  # what reads values of LSP is made when it first does
    return make_editors


def _noticed(name: str, peer: Peer, params: Json, made: "Made") -> None:
    try:
        made.editors.notices[name](peer, params)
    except Exception as error:  # noqa: BLE001  one notification that fails is no reason to lose the next one
        log.warning("%s sent %s, which failed: %s", peer.id, name, failure(error).decode())


def _left(peer: Peer, made: "Made") -> None:
    made.editors.desk.left(peer)
    made.plain.left(peer)


def _changed(machine: Machine, made: "Made") -> None:
    made.plain.changed(machine)
    made.agent_documents.changed(machine)


def _gone(machine: Machine, made: "Made") -> None:
    made.plain.gone(machine)
    made.agent_documents.gone(machine)
