"""The running daemon: an application, its listener, and the ends that it can come to."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from abey.daemon.listen import Listener
from abey.daemon.settings import Settings
from abey.daemon.stdio import serve_stdio
from abey.rpc.connection import LIMITS
from abey.rpc.dispatch import Surface

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)
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

    async def close(self, drain: bool) -> None:
        """With `drain` running steps finish first."""
        ...


Create = Callable[[Settings], App]
Stdio = tuple[int, int]


async def run_daemon(settings: Settings, create: Create, bound: socket.socket, stdio: Stdio | None) -> int:
    """Serves until a signal, a request, idleness or the end of stdio; the exit code: 0, or that of stdio's client."""
    _log_to_stderr(settings.log_level)
    signalled = asyncio.create_task(_signalled())
    app = create(settings)
    await app.start()
    listener = Listener(app.surface, LIMITS, bound, settings.socket, settings.state_dir)
    await listener.start()
    log.info("serving %s at %s", settings.state_dir, settings.socket)
    pipe = asyncio.create_task(_pipe(app.surface, stdio))
    others = [
        signalled,
        *map(asyncio.create_task, (_requested(app), _idle(settings, listener, app), listener.keep_bound())),
    ]
    try:
        await _first_of([pipe, *others])
    finally:
        log.info("closing")
        await app.close(drain=pipe.done())
        await _ended([pipe, *others])
        await listener.close()
    return 0 if pipe.cancelled() else pipe.result()


async def _pipe(surface: Surface, stdio: Stdio | None) -> int:
    """Without stdio its client never leaves."""
    if stdio is None:
        await asyncio.Event().wait()
        return 0
    return await serve_stdio(surface, *stdio, limits=LIMITS)


async def _signalled() -> None:
    """Returns at the first signal; the second one is not waited for, it ends the process."""
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, arrived.set)
    try:
        await arrived.wait()
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def _requested(app: App) -> None:
    await app.stop_requested.wait()


async def _idle(settings: Settings, listener: Listener, app: App) -> None:
    """Returns after the idle time; never while stdio is served, which is a client, too."""
    tick = settings.idle_exit / IDLE_LOOKS
    quiet = 0.0
    while quiet < settings.idle_exit:
        await asyncio.sleep(tick)
        served = settings.mode == "standalone" or listener.clients or app.busy
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


def _log_to_stderr(level: str) -> None:
    """A detached daemon's stderr is its log file. pygls is kept quiet: its info messages hold whole payloads."""
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, level=level.upper(), format=form)
    logging.getLogger("pygls").setLevel(logging.WARNING)
