"""The methods about agents: which there are, whether a file is right, and what a policy would decide."""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from abey.core.agent import Agent
from abey.core.policy import Link, judge
from abey.core.session import Session
from abey.daemon.services import Services, lent_by
from abey.errors import InvalidArguments
from abey.protocol import queries as q
from abey.protocol.config import AgentConfig, HttpModel
from abey.rpc.peer import Peer
from abey.runtime.agents.files import Unreadable, read_text
from abey.runtime.agents.findings import Fact
from abey.runtime.agents.floors import is_floor, load_policy
from abey.runtime.agents.loading import load_text
from abey.runtime.agents.workspaces import Lent
from abey.runtime.models.keys import Keys
from abey.shared.uris import path_of

MOST_DIAGNOSTICS = 500


class AgentFiles:
    """Handlers. None of them starts a tool."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def list(self, peer: Peer, params: q.AgentListParams) -> q.AgentListResult:
        _refuse_relative(params.cwd)
        return await self._services.registry.aside.run(self._services.registry.list, params.cwd, lent_by(peer))

    async def validate(self, peer: Peer, params: q.ValidateParams) -> q.ValidateResult:
        path = _path(params.uri) if params.uri is not None else None
        text = params.text
        if path is not None:
            text = await self._services.registry.aside.run(self._read, path, lent_by(peer))
        look = partial(key_facts, self._services.keys, peer.options.env)
        if path is not None and is_floor(path, self._services.settings.config_dir):
            _policy, loaded = await self._services.registry.aside.run(load_policy, text or "")
        else:
            loaded = await self._services.registry.aside.run(load_text, text or "", path, look)
        return q.ValidateResult(diagnostics=loaded.diagnostics()[:MOST_DIAGNOSTICS])

    def _read(self, path: Path, lent: Lent) -> str:
        self._services.registry.refuse_untrusted(path, lent)
        try:
            return read_text(path)
        except Unreadable as error:
            raise InvalidArguments(str(error), errors=["uri cannot be read"]) from None

    async def explain(self, peer: Peer, params: q.ExplainParams) -> q.ExplainResult:
        _refuse_relative(params.cwd)
        session: Session | None = None
        if params.session_id is not None:
            machine, _damage = await self._services.sessions.look(params.session_id)
            session = machine.session
            agent = await self._services.versions.prepared(session)
            laws = self._services.laws.of(session)
        else:
            agent, _path, workspace = await self._services.registry.aside.run(
                self._services.agent_named,
                params.agent,
                params.agent_file,
                params.config,
                params.cwd or "/",
                lent_by(peer),
            )
            laws = await self._services.registry.aside.run(
                self._services.laws.at, params.cwd or "/", workspace, lent_by(peer)
            )
        agent = await self._services.with_tools(agent, [params.tool])
        if session is not None:
            agent = self._services.toolbox.equip(agent, session)
        tool = agent.tools.get(params.tool)
        if tool is None:
            raise _no_tool(agent, params.tool)
        judgement = judge(agent, tool, {} if params.arguments is None else params.arguments, laws)
        return q.ExplainResult(
            disposition=judgement.disposition,
            rule=judgement.rule.wire() if judgement.rule else None,
            chain=tuple(_link(link) for link in judgement.chain),
        )


def _no_tool(agent: Agent, name: str) -> InvalidArguments:
    """Only a session knows the tools of servers and the like, from when it has asked them."""
    names = ", ".join(sorted(agent.tools)) or "none"
    unasked = sorted(f"{source.prefix}*" for source in agent.sources) if agent.sources else []
    more = f"; not asked yet, as a step of a session does: {', '.join(unasked)}" if unasked else ""
    return InvalidArguments(
        f"{agent.slug} has no tool {name!r}; its tools are: {names}{more}", errors=["tool is unknown"]
    )


def key_facts(keys: Keys, env: Mapping[str, str] | None, config: AgentConfig) -> Iterator[Fact]:
    """Whether this client could ask the model: its key is where the file says."""
    if isinstance(config.model, HttpModel):
        missing = keys.missing(config.model, env)
        if missing is not None:
            pointer = "/model/apiKey" if config.model.api_key is not None else "/model"
            yield Fact(pointer, "warning", "missing-key", missing, on_key=True)


def _link(link: Link) -> q.ExplainLink:
    return q.ExplainLink(
        layer=link.layer, rule=link.rule.wire() if link.rule else None, matched=link.matched, why=link.why
    )


def _path(uri: str) -> Path:
    """The file of a `file:` URI or an absolute path: the one whose trust is asked for. Raises InvalidArguments."""
    path = path_of(uri) if uri.startswith("file:") else Path(uri)
    if path is None or not path.is_absolute() or "\0" in uri:
        raise InvalidArguments(f"uri is a file: URI or an absolute path, not {uri!r}", errors=["uri is not absolute"])
    return Path(os.path.abspath(path))


def _refuse_relative(cwd: str | None) -> None:
    if cwd is not None and (not cwd.startswith("/") or "\0" in cwd):
        raise InvalidArguments(f"cwd is an absolute path, not {cwd!r}", errors=["cwd is not absolute"])
