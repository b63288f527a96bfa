"""The composition root: the only place that knows which part is behind which port."""

import asyncio
from typing import TYPE_CHECKING

from abey.daemon.agent_news import AgentNews
from abey.daemon.bindings import Rooms, bound
from abey.daemon.doctor import make_doctor
from abey.daemon.editors.late import LateEditors, loading
from abey.daemon.editors.offering import offered
from abey.daemon.families import Families
from abey.daemon.greeting import Greeting
from abey.daemon.idempotency import Repeats
from abey.daemon.plain.following import Following
from abey.daemon.publish import Publisher
from abey.daemon.rules import Rules
from abey.daemon.services import Services
from abey.daemon.settings import Settings
from abey.daemon.subscriptions import Subscriptions
from abey.daemon.tooling import make_sandbox, own_of
from abey.daemon.trusting import Trusting, make_registry
from abey.daemon.world import WORLD, World
from abey.protocol import params as p
from abey.protocol import requests as r
from abey.rpc.dispatch import Surface
from abey.rpc.peer import Peer
from abey.runtime.agents.children import Described
from abey.runtime.agents.registry import Registry
from abey.runtime.agents.versions import Versions
from abey.runtime.index.database import Database
from abey.runtime.index.index import Index
from abey.runtime.keeping import Keeping
from abey.runtime.laws import Lawgiving
from abey.runtime.models.keys import Keys
from abey.runtime.models.network import Network
from abey.runtime.ports import Ports
from abey.runtime.remembering import Remembering
from abey.runtime.resting import Resting
from abey.runtime.scheduler import Scheduler
from abey.runtime.sessions import Sessions
from abey.runtime.store.io import FileIO
from abey.runtime.store.store import Store
from abey.runtime.tools.arguments import check_arguments
from abey.runtime.tools.helper import ProcessHelper
from abey.runtime.transfer.adopting import Adopting

if TYPE_CHECKING:
    from abey.daemon.transfer import Transfer

DRAIN_SECONDS = 10.0


def create(settings: Settings, io: FileIO | None = None, world: World = WORLD) -> "App":
    """The daemon of these settings, not started yet; `io` stands between it and the disk, `world` between it and all
    else."""
    return App(settings, io or FileIO(settings.durability), world)


class App:
    """What main serves: the surface of methods, and the work behind it."""

    _draining: asyncio.Task[None] | None = None

    def __init__(self, settings: Settings, io: FileIO, world: World) -> None:
        clock = world.clock
        self._settings = settings
        self._helper = ProcessHelper()
        self._greeting = Greeting(settings, clock.now())
        self.stop_requested = asyncio.Event()
        self._store = store = Store(settings.state_dir, io)
        trust, registry, floors = make_registry(settings, io, lambda: self._publisher.everybody())
        versions = Versions(registry, store)
        sessions = Sessions(store, versions, clock)
        self._subscriptions = Subscriptions(sessions.log_of, versions.then)
        self._publisher = Publisher(self._subscriptions)
        sessions.on_keep = self._publisher.kept
        self._news = AgentNews(registry, self._publisher.everybody, world.watch)
        self._trusting = Trusting(trust, clock, registry.aside, self._news.look)
        keys = Keys(settings.config_dir, settings.env)
        families = Families(sessions, versions, registry, keys, store, lambda: self._scheduler)
        self._children = families.children
        self._remembering = Remembering(settings.config_dir / "rules.json", io)
        self._laws = Lawgiving(floors, self._remembering)
        ports = self._ports(world, registry, keys, families, io)
        scheduler = self._scheduler = Scheduler(ports, sessions, versions)
        database = Database(settings.state_dir / "index.sqlite", io)
        self._index = Index(sessions, store, clock, database)
        self._resting = Resting(ports, sessions, scheduler.parking, lambda: not database.off, settings.rest_after)
        self._keeping = Keeping(ports, sessions, self._scheduler.parking)
        self._adopting = Adopting(ports, sessions, versions)
        self._services = Services(
            settings, clock, registry, versions, sessions, scheduler, keys, self._children, self._laws, ports.toolbox
        )
        self._doctor = make_doctor(self._services, self._keeping, database, self._helper, io, ports.hooks)
        self._io = io
        self._rules = Rules(self._services, self._remembering, self._index, self._publisher)
        self._repeats = Repeats(self._services, self._keeping)
        self._bindings = {binding.method.name: binding for binding in bound(self._rooms())}
        self._following = Following(self._services, store.exists)
        self._editors = LateEditors(loading(self._services, self._bindings, self._following, self._index))
        self._publisher.follow(self._following)
        self._publisher.follow(self._editors)
        self.surface = self._surface()

    def _ports(self, world: World, registry: Registry, keys: Keys, families: Families, io: FileIO) -> Ports:
        env, clock = self._settings.env, world.clock
        own = own_of(self._settings, registry)
        sandbox = make_sandbox(self._settings, registry, io, world.find)
        tooling = world.tooling(self._helper, clock, env, own, sandbox, self._publisher)
        return Ports(
            clock=clock,
            store=self._store,
            agents=registry,
            models=world.models(clock, keys, Network(env)),
            tools={**tooling.runners, "agent": families.runner},
            children=families.children,
            toolbox=Described(tooling.toolbox, registry),
            kept_open=tooling.states,
            hooks=tooling.hooks,
            preview=tooling.preview,
            check=check_arguments,
            listener=self._publisher,
            rules=self._remembering,
            laws=self._laws,
            isolation=sandbox,
            tracing=world.tracing(env),
        )

    def _surface(self) -> Surface:
        return Surface(
            bindings=self._bindings,
            capabilities=lambda: self._greeting.capabilities(self._bindings),
            joined=self._joined,
            left=self._left,
            settle=self._publisher.settle,
            features=self._editors.features,
            notices=self._editors.notices,
            offered=offered,
        )

    def _transfer(self) -> "Transfer":
        """Most daemons export and import nothing."""
        from abey.daemon.transfer import Transfer

        return Transfer(self._services, self._store, self._io, self._adopting)

    @property
    def busy(self) -> bool:
        return self._scheduler.busy

    async def start(self) -> None:
        """No session is read and nothing of one starts by itself: it is loaded when somebody asks for it."""
        self._news.start()
        self._following.start()

    async def drain(self) -> None:
        """The work in flight has DRAIN_SECONDS to end by itself, and none begins."""
        self._publisher.draining()
        await self._scheduler.drain(DRAIN_SECONDS)

    async def close(self) -> None:
        """Ends the work in flight."""
        if self._draining is not None:
            self._draining.cancel()
        await self._news.close()
        await self._resting.close()
        await self._doctor.close()
        await self._keeping.close()
        await self._adopting.close()
        await self._rules.close()
        await self._scheduler.close()
        await self._children.close()
        await self._repeats.close()
        await self._editors.close()
        await self._following.close()
        await self._services.sessions.snapshots.leave(self._services.sessions.loaded)
        await self._index.close()
        await self._helper.close()
        self._services.registry.aside.close()
        self._publisher.tell()

    async def _shutdown(self, _: Peer, params: r.ShutdownParams) -> p.Nothing:
        """Who asked may leave: the daemon ends all the same."""
        if params.mode == "drain":
            self._draining = self._draining or asyncio.create_task(self._drained())
            await asyncio.shield(self._draining)
        else:
            self._end_soon()
        return p.Nothing()

    async def _drained(self) -> None:
        await self.drain()
        self._end_soon()

    def _end_soon(self) -> None:
        """The reply goes out before the end begins."""
        asyncio.get_running_loop().call_later(0.05, self.stop_requested.set)

    def _joined(self, peer: Peer) -> None:
        self._publisher.joined(peer)
        self._news.joined(peer)
        self._editors.joined(peer)

    def _left(self, peer: Peer) -> None:
        self._publisher.left(peer)
        self._editors.left(peer)

    def _rooms(self) -> Rooms:
        return Rooms(
            services=self._services,
            store=self._store,
            greeting=self._greeting,
            publisher=self._publisher,
            subscriptions=self._subscriptions,
            index=self._index,
            doctor=self._doctor,
            keeping=self._keeping,
            adopting=self._adopting,
            transfer=self._transfer,
            trusting=self._trusting,
            rules=self._rules,
            repeats=self._repeats,
            shutdown=self._shutdown,
        )
