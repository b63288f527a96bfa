"""Which version of its agent a session works with: its file's latest good one, else the last one it used."""

from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from abey.core.agent import Agent
from abey.core.session import Session
from abey.errors import AbeyError, InvalidAgent
from abey.protocol.base import Json
from abey.runtime.agents.staleness import NOT_READ, why_stale
from abey.runtime.ports import AgentSource
from abey.runtime.store.store import Store

KEPT = 256


class Versions:
    """Agents by session and by configHash; the last ones used are kept in memory."""

    def __init__(self, source: AgentSource, store: Store) -> None:
        self._source = source
        self._store = store
        self._kept: OrderedDict[str, Agent] = OrderedDict()

    def latest(self, session: Session) -> Agent:
        """What the next step works with; `stale` where the file is broken or gone, or where its workspace is no longer
        trusted: then it is not read. Raises InvalidAgent."""
        path = session.created.agent_file
        if path is None:
            return self.stored(session, session.config_hash)
        try:
            return self._source.by_file(_path(path), session.created.workspace)
        except NOT_READ as error:
            return replace(self.stored(session, session.config_hash), stale=why_stale(error))

    async def prepare(self, session: Session) -> None:
        """What `latest` would have to read for long is read aside: it holds up nobody else."""
        if session.created.agent_file is not None:
            await self._source.prepare(_path(session.created.agent_file), session.created.workspace)

    async def prepared(self, session: Session) -> Agent:
        """`latest` after `prepare`."""
        await self.prepare(session)
        return self.latest(session)

    async def of_row(self, path: str | None, config_hash: str, workspace: str | None = None) -> Agent:
        """What `prepared` gives for a session of this agent file, configHash and workspace, without its record. Raises
        AbeyError also where only the session's own record would tell."""
        stale = None
        if path is not None:
            await self._source.prepare(Path(path), workspace)
            try:
                return self._source.by_file(Path(path), workspace)
            except NOT_READ as error:
                stale = why_stale(error)
        return replace(self._kept.get(config_hash) or self._from_store(config_hash), stale=stale)

    def find(self, session: Session, config_hash: str) -> Agent | None:
        """The version of that hash, None where nobody kept it."""
        try:
            return self.stored(session, config_hash)
        except AbeyError:
            return None

    def then(self, session: Session) -> Agent | None:
        """The version that the session names: what its journal says is always shown with the same."""
        return self.find(session, session.config_hash)

    def stored(self, session: Session, config_hash: str) -> Agent:
        """The version of that hash, from memory, the session's own record, or `configs/`. Raises InvalidAgent."""
        kept = self._kept.get(config_hash)
        if kept is not None:
            self._kept.move_to_end(config_hash)
            return kept
        if config_hash == session.created.config_hash:
            # the record may lack a part of it, where a blob is lost
            with suppress(InvalidAgent):
                return self._made(session.created.config, config_hash)
        return self._from_store(config_hash)

    def _from_store(self, config_hash: str) -> Agent:
        return self._made(self._store.load_config(config_hash), config_hash)

    def _made(self, config: Json, config_hash: str) -> Agent:
        agent = self._source.from_config(config) if isinstance(config, dict) else None
        if agent is None or agent.config_hash != config_hash:
            raise InvalidAgent(f"the agent config {config_hash} is gone: configs/ does not have it")
        return self.keep(agent)

    def keep(self, agent: Agent) -> Agent:
        self._kept[agent.config_hash] = agent
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return agent


@lru_cache(maxsize=KEPT)
def _path(text: str) -> Path:
    """Put together once, and not for every transition of a session."""
    return Path(text)
