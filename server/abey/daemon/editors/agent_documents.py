"""What agent files in editors are told of this machine (trust, keys, calls that wait); the command that trusts."""

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from abey.core.machine import Machine
from abey.core.policy import Laws
from abey.core.views import summary_view
from abey.daemon.agent_files import key_facts
from abey.daemon.editors.commands import Command, Token
from abey.daemon.services import Services
from abey.language.agent_files.agent_files import AgentFileLanguage, Outlook
from abey.language.agent_files.starting import TRUST
from abey.protocol.base import Json
from abey.protocol.methods import TRUST as TRUST_METHOD
from abey.protocol.trust import TrustParams
from abey.rpc.dispatch import Binding
from abey.rpc.faults import InvalidParams, invalid_params
from abey.rpc.peer import Peer
from abey.runtime.agents.workspaces import Lent
from abey.runtime.index.file import IndexFailed
from abey.runtime.index.index import Index
from abey.runtime.index.schema import Filter

Refresh = Callable[[Callable[[Path], bool]], None]


class AgentDocuments:
    """A publish.Follower. `refresh` has the open documents at some paths looked at again."""

    def __init__(self, services: Services, index: Index, bindings: Mapping[str, Binding[Any, Any]]) -> None:
        self._services = services
        self._index = index
        self._bindings = bindings
        self._waiting = {live.id: _count(live.machine) for live in services.sessions.loaded}
        self.refresh: Refresh = lambda _: None
        self.commands: Mapping[str, Command] = {TRUST: self.trust}
        outlook = Outlook(
            trusts=services.registry.may_read,
            is_in_workspace=lambda path: services.registry.workspace_around(path) is not None,
            key_facts=partial(key_facts, services.keys),
            pending_of=self.pending_of,
            commands=lambda: self.commands,
            laws_of=self._laws_of,
            aside=services.registry.aside,
        )
        self.language = AgentFileLanguage(services.settings.config_dir, outlook)
        services.registry.subscribe(lambda: self.refresh(self.language.speaks))

    def _laws_of(self, path: Path, lent: Lent) -> Laws:
        """For a session in the workspace of the file, or in none."""
        workspace = self._services.registry.workspace_around(path)
        return self._services.laws.at(workspace or path.parent, str(workspace) if workspace else None, lent)

    def trust(self, peer: Peer, arguments: list[Json], _: Token) -> Coroutine[Any, Any, Json]:
        """Its one argument is `{dir}`. The files that are open in that folder are read from now on."""
        if len(arguments) != 1 or not isinstance(arguments[0], dict):
            raise InvalidParams(f"{TRUST} takes one object", errors=[{"loc": ["arguments"], "msg": "takes {dir}"}])
        try:
            params = TrustParams.model_validate({"action": "add", **arguments[0]})
        except ValidationError as error:
            raise invalid_params(TRUST, error) from error
        return self._trust(peer, params)

    async def _trust(self, peer: Peer, params: TrustParams) -> Json:
        result = await self._bindings[TRUST_METHOD.name].handle(peer, params)
        self.refresh(self.language.speaks)
        answer: Json = result.wire()
        return answer

    async def pending_of(self, path: Path) -> int:
        """The calls that wait for somebody in sessions of this agent file."""
        outside = sum(await self._outside(str(path)))
        loaded = self._services.sessions.loaded
        return outside + sum(_count(live.machine) for live in loaded if _file(live.machine) == str(path))

    async def _outside(self, path: str) -> Sequence[int]:
        """Of the sessions that are not in memory. An index that fails is told about where lists are made."""
        loaded = self._services.sessions.entries
        if await self._services.sessions.all_loaded():
            return ()
        with suppress(IndexFailed):
            await self._index.check()
            found = await self._index.select(Filter(pending=True))
            rows = await self._index.rows([one.id for one in found])
            return [row.pending for row in rows.values() if row.id not in loaded and json.loads(row.source)[0] == path]
        return ()

    def changed(self, machine: Machine) -> None:
        """The lenses of its agent file are asked for again when another number of calls waits."""
        count, session_id = _count(machine), machine.session.id
        if self._waiting.get(session_id, 0) != count:
            self._waiting[session_id] = count
            self._look_again(machine)

    def gone(self, machine: Machine) -> None:
        if self._waiting.pop(machine.session.id, 0):
            self._look_again(machine)

    def _look_again(self, machine: Machine) -> None:
        path = _file(machine)
        if path is not None:
            self.refresh(lambda one: str(one) == path)


def _file(machine: Machine) -> str | None:
    return machine.session.created.agent_file


def _count(machine: Machine) -> int:
    return summary_view(machine).pending_count
