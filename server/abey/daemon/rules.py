"""The method `agents/rules`: what is remembered, for which sessions (machine.md, Remembered rules)."""

import asyncio
import json
from collections.abc import Sequence

from abey.core.events import ChangeRules
from abey.core.inputs import refuse_stale
from abey.core.remembering import made
from abey.core.session_rules import counted
from abey.daemon.idempotency import Done, Outcome, Repeats, keyed
from abey.daemon.services import Services
from abey.errors import InvalidArguments
from abey.protocol import methods as m
from abey.protocol.policy import AskedRule, Deny, Rule
from abey.protocol.rules import RulesParams, RulesResult
from abey.rpc.dispatch import Binding, bind
from abey.rpc.peer import Peer
from abey.runtime.applying import Applying
from abey.runtime.index.file import IndexFailed
from abey.runtime.index.index import Index
from abey.runtime.index.schema import Filter
from abey.runtime.live import Live
from abey.runtime.ports import Listener
from abey.runtime.remembering import Remembering


class Rules:
    """A handler. A rule of a session is recorded there; the others are kept in one file, and everybody who follows a
    session whose turn is open hears of them in a note."""

    def __init__(self, services: Services, remembering: Remembering, index: Index, listener: Listener) -> None:
        self._services = services
        self._remembering = remembering
        self._listener = listener
        waiting = Waiting(services, index)
        self.applying = Applying(remembering, services.sessions, services.scheduler, waiting)

    async def close(self) -> None:
        await self.applying.close()
        await asyncio.to_thread(self._remembering.close)

    def bound(self, repeats: Repeats) -> Binding[RulesParams, RulesResult]:
        in_session = repeats.bind(m.RULES, self._in_session, self._told)

        async def rules(peer: Peer, params: RulesParams) -> RulesResult:
            return await (in_session.handle if params.session_id is not None else self._elsewhere)(peer, params)

        return bind(m.RULES, rules)

    async def _elsewhere(self, peer: Peer, params: RulesParams) -> RulesResult:
        await self._change(peer, params)
        return self._listed(None)

    async def _in_session(self, peer: Peer, params: RulesParams) -> Done:
        """A rule of another scope is recorded nowhere in the session that is named."""
        live = await self._services.sessions.get(params.session_id or "")
        rule = self._of_session(peer, params, live)
        if rule is None:
            refuse_stale(live.machine.session, params.if_revision)
            await self._change(peer, params)
        else:
            event = ChangeRules("add" if params.action == "add" else "remove", rule, peer.client)
            await self._services.scheduler.submit(live, event, params.if_revision, keyed(m.RULES, params))
        return Done(live, {})

    def _told(self, _: RulesParams, live: Live, __: Outcome) -> RulesResult:
        return self._listed(live)

    def _of_session(self, peer: Peer, params: RulesParams, live: Live) -> Rule | None:
        """The rule of scope `session` that is meant, if one is."""
        if params.rule is not None and params.rule.scope == "session":
            return self._made(peer, params.rule, live.id)
        return next((one for one in live.machine.session.rules if one.rule_id == params.rule_id), None)

    async def _change(self, peer: Peer, params: RulesParams) -> None:
        """Adds to the file, or takes from it. Raises InvalidArguments, RecordFailed."""
        if params.rule is not None:
            rule = self._made(peer, params.rule, None)
            await asyncio.to_thread(self._remembering.remember, rule)
            self._tell(f"rule {rule.rule_id}, about {rule.tool}, is remembered: {rule.scope}")
            await self.applying.apply()
        elif params.rule_id is not None:
            if not await asyncio.to_thread(self._remembering.forget, params.rule_id):
                raise InvalidArguments(f"no rule has the id {params.rule_id}", errors=["ruleId is of no rule"])
            self._tell(f"rule {params.rule_id} is forgotten")

    def _made(self, peer: Peer, asked: AskedRule, session_id: str | None) -> Rule:
        return made(asked, session_id=session_id, origin=f"added by {peer.client.name}", now=self._services.clock.now())

    def _listed(self, live: Live | None) -> RulesResult:
        of_session = counted(live.machine.session) if live else ()
        return RulesResult(items=(*of_session, *self._remembering.items()), damaged=self._remembering.fault)

    def _tell(self, text: str) -> None:
        for live in self._services.sessions.loaded:
            if live.machine.session.open_turn is None:
                continue
            self._listener.noticed(live.id, {"type": "note", "text": text})


class Waiting:
    """In which sessions calls may wait for what a rule says: of those not in memory the index knows."""

    def __init__(self, services: Services, index: Index) -> None:
        self._services = services
        self._index = index

    async def __call__(self, rules: Sequence[Rule]) -> Sequence[str]:
        sessions = self._services.sessions
        try:
            await self._index.check()
            rows = await self._index.select(Filter(pending=True))
            views = await self._index.rows([row.id for row in rows])
        except IndexFailed:  # it was told, and the journals have it all
            await sessions.all()
            views = {}
        inside = [live.id for live in sessions.loaded]
        outside = [row for row in views.values() if row.id not in sessions.entries]
        return (*inside, *(row.id for row in outside if _may_wait(json.loads(row.view)["pending"], rules)))


def _may_wait(pending: Sequence[dict[str, object]], rules: Sequence[Rule]) -> bool:
    broad = any(isinstance(rule.disposition, Deny) and "*" in rule.tool for rule in rules)
    tools = {rule.tool for rule in rules}
    return any(call["kind"] == "approval" and (broad or call["tool"] in tools) for call in pending)
