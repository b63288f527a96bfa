"""The program `abey-daemon`: takes the lock, binds the socket, and only then imports what takes long."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from abey.daemon.settings import Settings, read_options, read_settings
from abey.daemon.signals import one_waits, put_off
from abey.shared.kinds import EXIT_ERROR, EXIT_OK, EXIT_UNREACHABLE

if TYPE_CHECKING:
    from abey.daemon.serving import App
    from abey.daemon.ways import Ways

Create = Callable[[Settings], "App"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs as the command line says; the exit status: 0 after a graceful end, 6 where no daemon can be reached or,
    with --standalone or --listen, another one holds the state directory; 1 where --doctor has an error to tell."""
    given = sys.argv[1:] if arguments is None else arguments
    options = read_options(given)
    if options.doctor:
        return _doctor(options.json)
    return run(read_settings(given, os.environ), _application)


def run(settings: Settings, create: Create) -> int:
    """`main`, with the application that `create` makes."""
    if settings.mode == "forward":
        from abey.daemon.forward import forward

        return forward(settings)
    put_off()  # until the loop listens for them
    code = _hold(settings, create)

    from abey.daemon.leaving import leave_threads

    leave_threads(code)
    return code


def _doctor(as_json: bool) -> int:
    """Says what is well and what is not, whatever keeps a daemon from starting."""
    from abey.daemon import doctor_program as doctor
    from abey.runtime.doctor.host import Host

    findings = doctor.report(os.environ, Host())
    try:
        for line in doctor.as_json(findings) if as_json else doctor.as_text(findings):
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:  # who read has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return doctor.status(findings)


def _hold(settings: Settings, create: Create) -> int:
    """Serves if the state directory is free. Who finds a shared daemon there has nothing to do, and that is success
    unless more was asked for than that one does."""
    from abey.runtime.store.locks import LockingUnsupported, StateLocked, lock_state
    from abey.shared.owner import NotOurs, state_folder

    try:
        lock = lock_state(state_folder(settings.state_dir), _now())
    except StateLocked as error:
        _say(f"{error}; TCP is not served: `abey daemon stop` ends that one first" if settings.tcp else error)
        return EXIT_UNREACHABLE if settings.tcp or settings.mode == "standalone" else EXIT_OK
    except (LockingUnsupported, NotOurs, OSError) as error:
        _say(error)
        return EXIT_ERROR
    try:
        return _listen(settings, create)
    finally:
        lock.release()


def _listen(settings: Settings, create: Create) -> int:
    """Listens first: who connects now waits for the imports instead of being refused."""
    from abey.daemon.binding import bind, write_address
    from abey.daemon.ways import Ways
    from abey.shared.owner import NotOurs
    from abey.shared.places import tcp_address_path

    try:
        bound = bind(settings.socket)
        write_address(settings.state_dir, settings.socket)
        tcp_address_path(settings.state_dir).unlink(missing_ok=True)  # of one that was killed
    except (NotOurs, OSError) as error:
        _say(f"the socket cannot be bound: {error}; ABEY_RUNTIME_DIR names another folder for it")
        return EXIT_ERROR
    with closing(bound):
        return _listen_on_loopback(settings, create, Ways(bound))


def _listen_on_loopback(settings: Settings, create: Create, ways: "Ways") -> int:
    """Before anybody is served: who asked for TCP and cannot have it gets no daemon without."""
    if settings.tcp is None:
        return _serve(settings, create, ways)
    from abey.daemon.loopback import TokenRefused, bind_loopback, read_token, shown

    try:
        token = read_token(settings.tcp.token_file)
        bound = bind_loopback(settings.tcp.address, settings.tcp.port)
    except (TokenRefused, OSError) as error:
        _say(f"TCP cannot be served: {error}")
        return EXIT_ERROR
    with closing(bound):
        print(f"listening on {shown(bound)}", file=sys.stderr, flush=True)
        return _serve(settings, create, replace(ways, loopback=bound, token=token))


def _serve(settings: Settings, create: Create, ways: "Ways") -> int:
    from abey.daemon.pipes import take_stdio

    if settings.mode == "standalone":
        ways = replace(ways, stdio=take_stdio())
    import asyncio

    from abey.daemon.serving import run_daemon, to_its_end
    from abey.runtime.collector import collect_seldom, keep_what_is_there

    def created(settings: Settings) -> "App":
        app = create(settings)
        keep_what_is_there()
        return app

    if one_waits():
        return EXIT_OK  # most of what is to be loaded is not needed any more
    collect_seldom()
    return asyncio.run(to_its_end(run_daemon(settings, created, ways)))


def _application(settings: Settings) -> "App":
    from abey.daemon.app import create

    return create(settings)


def _now() -> str:
    """As runtime/clock.py tells it, which would first load asyncio."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _say(reason: object) -> None:
    print(f"abey-daemon: {reason}", file=sys.stderr)
