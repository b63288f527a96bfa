"""The methods that write a session to a file, and make one from a file."""

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from abey.core.agent import Agent
from abey.core.idempotency import made_at_once
from abey.daemon.driving import environment, folder, refuse_while_draining
from abey.daemon.idempotency import Done, keyed, new_id, refuse_made
from abey.daemon.services import Named, Services, lent_by
from abey.errors import InvalidAgent, InvalidState
from abey.protocol import journal as j
from abey.protocol import methods as m
from abey.protocol import upkeep as u
from abey.protocol.base import ID_PATTERN, Json
from abey.rpc.peer import Peer
from abey.runtime.live import Live
from abey.runtime.store.io import FileIO
from abey.runtime.store.store import Store
from abey.runtime.tools.environment import allowed_environment
from abey.runtime.transfer.adopting import Adopting
from abey.runtime.transfer.agents_exe_agent import implied_config
from abey.runtime.transfer.agents_exe_import import import_records, title_of
from abey.runtime.transfer.exporting import export
from abey.runtime.transfer.files import absolute, refuse_inside, write_file
from abey.runtime.transfer.formats import Foreign, read_source
from abey.runtime.transfer.jsonl import Journalled
from abey.runtime.transfer.moving import Arrival, moved, tokens_of

Make = Callable[[str], tuple[j.Record, ...]]
"""The records of the session under that id."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A session that can be made: under which ids, in order of preference, out of what.

    Under the id `own` its calls keep their `tokens`.
    """

    ids: tuple[str, ...]
    make: Make
    own: str | None
    tokens: tuple[str, ...]
    configs: Mapping[str, Json]
    wholes: Mapping[str, bytes]


class Transfer:
    """Handlers. Files are read and written in threads, never on the event loop."""

    def __init__(self, services: Services, store: Store, io: FileIO, adopting: Adopting) -> None:
        self._services = services
        self._store = store
        self._io = io
        self._adopting = adopting

    async def export(self, _: Peer, params: u.ExportParams) -> u.ExportResult:
        path = absolute(params.path)
        await asyncio.to_thread(refuse_inside, self._store.state_dir, path)
        machine, _damage = await self._services.sessions.look(params.session_id)
        agent = self._services.agent_of(machine)
        return await asyncio.to_thread(self._write, params, path, agent)

    async def import_(self, peer: Peer, params: u.ImportParams) -> Done:
        refuse_while_draining(self._services)
        path = absolute(params.path)
        held = await asyncio.to_thread(read_source, self._io, path, params.format)
        ours = await new_id(self._services, params)
        if isinstance(held, Foreign):
            plan = await self._services.registry.aside.run(self._foreign, peer, params, held, ours)
        else:
            plan = await self._services.registry.aside.run(self._journal, peer, params, held, ours)
        return Done(await self._adopted(params, plan), {})

    def _write(self, params: u.ExportParams, path: Path, agent: Agent | None) -> u.ExportResult:
        exported = export(self._store, params.session_id, agent, params.format)
        size = write_file(self._io, path, exported.pieces)
        return u.ExportResult(path=str(path), bytes=size, note="; ".join(exported.notes) or None)

    async def _adopted(self, params: u.ImportParams, plan: Plan) -> Live:
        """The first id that is free, unless one was asked for."""
        *wanted, last = plan.ids
        for session_id in wanted:
            try:
                return await self._adopt(params, session_id, plan)
            except InvalidState:
                continue
        return await self._adopt(params, last, plan)

    async def _adopt(self, params: u.ImportParams, session_id: str, plan: Plan) -> Live:
        await refuse_made(self._services, session_id, params.if_revision)
        if self._store.exists(session_id):
            raise InvalidState(f"session {session_id} exists", sessionId=session_id)
        for token in plan.tokens if session_id == plan.own else ():
            if await self._services.sessions.tokens.has(token):
                message = f"another session has issued the token {token}; import this one under an id of your own"
                raise InvalidState(message, token=token)
        request, records = keyed(m.IMPORT, params), await asyncio.to_thread(plan.make, session_id)
        made = made_at_once(records, request.request if request else None)
        try:
            return await self._adopting.adopt(made, plan.configs, plan.wholes)
        except InvalidAgent as error:
            raise InvalidAgent(f"{error.message}; import it with an agent of your own", **error.details) from None

    def _ids(self, params: u.ImportParams, own: str | None, ours: str) -> tuple[str, ...]:
        """The id that was asked for, or that of the key, else the file's own, else one of ours."""
        if params.session_id is not None or params.idempotency_key is not None:
            return (ours,)
        return (own, ours) if own is not None and re.match(ID_PATTERN, own) else (ours,)

    def _named(self, peer: Peer, params: u.ImportParams, cwd: str) -> Named | None:
        """The agent that the request names."""
        if params.agent is None and params.agent_file is None:
            return None
        return self._services.agent_named(params.agent, params.agent_file, None, cwd, lent_by(peer))

    def _workspace_around(self, agent_file: str | None) -> str | None:
        """Importing trusts what is in the file, not the workspace in which the agent file lies that it names."""
        around = None if agent_file is None else self._services.registry.workspace_around(Path(agent_file))
        return None if around is None else str(around)

    def _foreign(self, peer: Peer, params: u.ImportParams, held: Foreign, ours: str) -> Plan:
        env, source = environment(self._services, peer), Path(params.path).name
        cwd = folder(params.cwd, env)
        implied = partial(self._services.registry.inline, implied_config(held.file, source), cwd)
        agent, path, workspace = self._named(peer, params, cwd) or Named(implied())
        created = j.Created(
            session_id="",
            agent=agent.slug,
            agent_file=path,
            workspace=workspace,
            config=agent.config,
            config_hash=agent.config_hash,
            cwd=cwd,
            title=title_of(held.file, agent.slug),
            env=allowed_environment(env),
            client=peer.client,
            forked_from=held.file.forked_from,
        )
        imported = j.Imported(format="agents-exe", source=source, original=held.text)
        now, entropy = self._services.clock.now(), self._services.clock.entropy()

        def make(session_id: str) -> tuple[j.Record, ...]:
            here = created.model_copy(update={"session_id": session_id})
            return import_records(held.file, here, imported, agent, now, entropy)

        return Plan(self._ids(params, held.file.session_id, ours), make, None, (), {}, {})

    def _journal(self, peer: Peer, params: u.ImportParams, held: Journalled, ours: str) -> Plan:
        env = environment(self._services, peer)
        cwd = held.created.cwd if params.cwd is None and os.path.isdir(held.created.cwd) else folder(params.cwd, env)
        named = self._named(peer, params, cwd)
        path = named.path if named else held.created.agent_file
        arrival = Arrival(
            cwd=cwd,
            env=allowed_environment(env),
            agent_file=path if path is not None and os.path.isfile(path) else None,
            agent=named.agent if named else None,
            workspace=named.workspace if named else self._workspace_around(path),
            now=self._services.clock.now(),
            entropy=self._services.clock.entropy(),
        )
        imported = j.Imported(format="jsonl", source=Path(params.path).name)
        make = partial(moved, held.records, arrival, imported)
        own = held.created.session_id
        return Plan(self._ids(params, own, ours), make, own, tokens_of(held.records), held.configs, held.wholes)
