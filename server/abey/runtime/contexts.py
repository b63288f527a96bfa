"""What a transition of a session may know of the world, put together for each of them."""

from collections.abc import Callable

from abey.core.agent import Agent
from abey.core.events import ChangeRules, Complete, Event, Isolate
from abey.core.machine import Context
from abey.core.policy import NO_LAWS, Laws
from abey.core.session import Session
from abey.runtime.agents.versions import Versions
from abey.runtime.clock import timestamp
from abey.runtime.disk import DiskFloor
from abey.runtime.isolation import isolates
from abey.runtime.live import Live
from abey.runtime.ports import Ports
from abey.shared.values import copier

LET_RUN = frozenset({Complete, ChangeRules, Isolate})
"""The types of the events after which a call that waits may run."""


_NOBODY = Agent(slug="", config={}, config_hash="", policy_hash="")


class Contexts:
    """One transition, one context."""

    def __init__(self, ports: Ports, versions: Versions) -> None:
        self._ports = ports
        self._versions = versions
        self._disk = DiskFloor(ports.store.state_dir, ports.store.space)
        self._always = Context(
            millis=0,
            entropy=b"",
            timestamp=timestamp,
            agent=_NOBODY,
            latest=_NOBODY,
            decided_by=lambda _: None,
            check=ports.check,
            preview=ports.preview,
            child_outcome=ports.children.outcome,
            no_sandbox=ports.isolation.why_not,
        )

    def refuse_full_disk(self) -> None:
        self._disk.check(self._ports.clock.millis())

    async def prepare(self, live: Live, event: Event) -> None:
        """Before one of LET_RUN. A call that is to run needs its tool: where that is known only once its source was
        asked, it is asked now, and nobody waits for the session meanwhile."""
        if isinstance(event, Isolate):
            await self._ports.isolation.look(again=True)
        if not isinstance(event, Complete) or event.outcome.kind in ("approve", "rerun"):
            agent = await self.latest(live.machine.session)
            may_run = live.failure is None and not live.machine.session.stopped
            if agent.unlisted and may_run and live.machine.work.phase == "none":
                await self._ports.toolbox.list(agent, live.machine.session)

    async def latest(self, session: Session) -> Agent:
        """What the next step of the session works with, with all its tools as far as they are known."""
        versions = self._versions
        if session.created.agent_file is None:
            agent = versions.latest(session)
        else:
            await versions.prepare(session)
            agent = versions.keep(versions.latest(session))
        return self._ports.toolbox.equip(agent, session)

    async def of_nothing(self, agent: Agent) -> Context:
        """For a session that does not exist yet."""
        agent = await self._ports.toolbox.begin(self._versions.keep(agent))
        return self._of(agent, agent, None, draining=False)

    async def of(self, live: Live, *, draining: bool) -> Context:
        session = live.machine.session
        latest = await self.latest(session)
        if session.children:
            await self._ports.children.look(session)
        if isolates(latest):
            await self._ports.isolation.look()
        return self._of(live.agent, latest, live, draining=draining)

    def _of(self, agent: Agent, latest: Agent, live: Live | None, *, draining: bool) -> Context:
        ports, session = self._ports, live.machine.session if live else None
        millis = ports.clock.millis()
        return _context(
            self._always,
            millis=millis,
            entropy=ports.clock.entropy(),
            agent=agent,
            latest=latest,
            decided_by=lambda config_hash: self._versions.find(session, config_hash) if session else None,
            draining=draining,
            no_tools=self._disk.refusal(millis),
            full=ports.quota.refusal(live) if live else None,
            lawgiver=_looked_up_once(lambda: ports.laws.of(session) if session else NO_LAWS),
        )


_CHANGING = ("millis", "entropy", "agent", "latest", "decided_by", "draining", "no_tools", "full", "lawgiver")
_context: Callable[..., Context] = copier(Context, *_CHANGING)
"""Puts into a context what transitions do not share. To make one with all of its members by name takes four times as
long."""


def _looked_up_once(look_up: Callable[[], Laws]) -> Callable[[], Laws]:
    """Not before somebody asks: it takes a look at files."""
    found: list[Laws] = []

    def laws() -> Laws:
        if not found:
            found.append(look_up())
        return found[0]

    return laws
