"""The running daemon: an application, its listener, and the ends that it can come to."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from abey.daemon.leaving import END_SECONDS, leave_at_once
from abey.daemon.listen import Listener
from abey.daemon.logs import begin_logging
from abey.daemon.parent import Parent
from abey.daemon.pipes import Stdio
from abey.daemon.reception import Reception
from abey.daemon.settings import Settings
from abey.daemon.signals import heed_again, heeded
from abey.daemon.stdio import serve_stdio
from abey.daemon.ways import Ways
from abey.rpc.connection import LIMITS
from abey.rpc.dispatch import Surface
from abey.shared.places import tcp_address_path

if TYPE_CHECKING:
    from abey.daemon.tcp import TcpListener

log = logging.getLogger(__name__)

IDLE_LOOKS = 30
"""How often is looked, within the idle time, whether somebody is there."""


class App(Protocol):
    """What the daemon serves."""

    @property
    def surface(self) -> Surface: ...

    @property
    def busy(self) -> bool:
        """Work is running that must not be ended for want of clients."""
        ...

    @property
    def stop_requested(self) -> asyncio.Event:
        """Set when a client asked for the end, and the application is ready for it."""
        ...

    async def start(self) -> None: ...

    async def drain(self) -> None:
        """Running steps finish, if they do so soon."""
        ...

    async def close(self) -> None: ...


Create = Callable[[Settings], App]


async def run_daemon(settings: Settings, create: Create, ways: Ways) -> int:
    """Serves until a signal, a request, idleness, the end of stdio or of who started it; the exit code: 0, or that of
    stdio's client."""
    signalled = asyncio.create_task(Signals().first())
    begin_logging(settings)
    app = create(settings)
    await app.start()
    reception = Reception(app.surface, LIMITS)
    listener = Listener(reception, ways.socket, settings.socket, settings.state_dir)
    # TCP first: whoever is greeted at the socket is told where it is
    doors: list[Listener | TcpListener] = [*_loopback(settings, ways, reception), listener]
    for door in doors:
        await door.start()
    log.info("serving %s at %s", settings.state_dir, settings.socket)
    orphaned = asyncio.Event()
    pipe = asyncio.create_task(_pipe(app.surface, ways.stdio, _setter_of(orphaned)))
    alone, bound = asyncio.create_task(orphaned.wait()), asyncio.create_task(listener.keep_bound())
    others = [signalled, alone, *map(asyncio.create_task, (_requested(app), _idle(settings, reception, app)))]
    try:
        await _first_of([pipe, bound, *others])
    finally:
        log.info("closing")
        if pipe.done():
            await _drain(app, alone)
        # who comes now finds no socket, and starts the next daemon instead of being hung up on
        await _ended([bound])
        for door in doors:
            door.close()
        await app.close()
        await _ended([pipe, *others])
        await reception.close()
    return 0 if pipe.cancelled() else pipe.result()


async def to_its_end(daemon: Coroutine[Any, Any, int]) -> int:
    """What `run_daemon` gives. Nothing is left to be done then: what does not end in END_SECONDS, such as code of an
    extension that ignores that it was cancelled, or a thread in which that waits, ends with the process."""
    code = await daemon
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    stubborn = (await asyncio.wait(left, timeout=END_SECONDS))[1] if left else set()
    ending = asyncio.create_task(asyncio.get_running_loop().shutdown_default_executor())
    stubborn |= (await asyncio.wait({ending}, timeout=END_SECONDS))[1]
    if stubborn:
        leave_at_once(code, [*map(repr, stubborn)])
    return code


def _loopback(settings: Settings, ways: Ways, reception: Reception) -> "list[TcpListener]":
    """The door that TCP has, if it has one."""
    if ways.loopback is None:
        return []
    from abey.daemon.tcp import TcpListener

    return [TcpListener(reception, ways.loopback, ways.token, tcp_address_path(settings.state_dir))]


async def _pipe(surface: Surface, stdio: Stdio | None, gone: Callable[[], None]) -> int:
    """Without stdio its client never leaves. `gone` is told, in any thread, when who started us has ended."""
    if stdio is None:
        await asyncio.Event().wait()
        return 0
    return await serve_stdio(surface, stdio, Parent(gone).hears, limits=LIMITS)


async def _drain(app: App, alone: asyncio.Task[Any]) -> None:
    """A client that left lets running steps finish; one that was killed is not waited for."""
    draining = asyncio.create_task(app.drain())
    await asyncio.wait([draining, alone], return_when=asyncio.FIRST_COMPLETED)
    await _ended([draining])


def _setter_of(event: asyncio.Event) -> Callable[[], None]:
    """Sets it from any thread."""
    loop = asyncio.get_running_loop()

    def set_it() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(event.set)

    return set_it


class Signals:
    """Heeds from now on the signals that end the daemon."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        self._heeded = heeded()
        for number in self._heeded:
            self._loop.add_signal_handler(number, self._arrived.set)
        heed_again()

    async def first(self) -> None:
        """Returns when one has arrived; the second one is not waited for, it ends the process."""
        try:
            await self._arrived.wait()
        finally:
            for number in self._heeded:
                self._loop.remove_signal_handler(number)


async def _requested(app: App) -> None:
    await app.stop_requested.wait()


async def _idle(settings: Settings, reception: Reception, app: App) -> None:
    """Returns after the idle time; never while stdio is served, which is a client, too."""
    tick = settings.idle_exit / IDLE_LOOKS
    quiet = 0.0
    while quiet < settings.idle_exit:
        await asyncio.sleep(tick)
        served = settings.mode == "standalone" or reception.clients or app.busy
        quiet = 0.0 if served else quiet + tick
    log.info("nobody was here for %g s", settings.idle_exit)


async def _first_of(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Waits for the first to end. Raises what it failed with."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def _ended(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
