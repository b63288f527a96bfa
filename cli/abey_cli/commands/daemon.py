"""`abey daemon`: status, start, stop, restart of the shared daemon."""

import contextlib
import os
import select
import signal
import time
from typing import Any

from abey.shared import starting
from abey.shared.kinds import EXIT_OK
from abey.shared.owner import peer_pid
from abey.shared.places import state_dir
from abey.shared.version import VERSION
from abey_cli.channels import kept_turn
from abey_cli.context import Context, Which
from abey_cli.failures import Failure

POLL_SECONDS = 0.05


def status(context: Context) -> int:
    """Starts none: without a daemon this is `daemon/unreachable`."""
    return _status(context, "running")


def start(context: Context) -> int:
    return _status(context, "shared")


def stop(context: Context) -> int:
    context.builds_told = True  # it goes, of whatever build it is
    if not _stop(context):
        context.console.note("no daemon is running")
    context.answer({}, lambda: None)
    return EXIT_OK


def restart(context: Context) -> int:
    """Of whatever build the one was that runs, the next one is of ours, with our environment: an editor that connects
    again at once starts none in between. Sessions are on the disk."""
    context.builds_told = True
    if context.options.log_level:
        context.env = {**context.env, "ABEY_LOG": context.options.log_level}
    with kept_turn(context.env) as context.turn:
        stopped = _stop(context)
        context.builds_told = False
        code = start(context)
    if not stopped:
        context.console.note("no daemon was running; started one")
    return code


def _status(context: Context, which: Which) -> int:
    with contextlib.closing(context.connected(which)) as client:
        result = client.request("agents/status", {})
    context.answer(result, lambda: _show_status(context, result))
    return EXIT_OK


def _stop(context: Context) -> bool:
    """Returns when the process is gone; False where none ran."""
    try:
        client = context.connected("running")
    except Failure as failure:
        if failure.kind == "protocol/unsupported":
            _terminate(context)
            return True
        if failure.kind != "daemon/unreachable":
            raise
        return False
    pid = int(client.daemon["daemon"]["pid"])
    with _watch(pid) as gone, contextlib.closing(client):
        client.request("agents/shutdown", {"mode": "now" if context.options.now else "drain"})
        gone()
    context.console.note(f"the daemon (pid {pid}) is gone")
    return True


def _terminate(context: Context) -> None:
    """Ends a daemon with which nobody of ours can talk. Who listens at the socket is who is meant, whatever else says
    so; like every daemon, it ends on a signal without losing anything."""
    with starting.connect(state_dir(context.env), context.env, start=False, timeout=0) as connection:
        pid = peer_pid(connection)
    with _watch(pid) as gone:
        os.kill(pid, signal.SIGTERM)
        gone()
    context.console.note(f"the daemon (pid {pid}) spoke another protocol, and is gone")


@contextlib.contextmanager
def _watch(pid: int) -> Any:
    """A function that returns once the process has ended; made before it does, so that no other can be meant."""
    if not hasattr(os, "pidfd_open"):
        yield lambda: _poll(pid)
        return
    watched = os.pidfd_open(pid)
    try:
        yield lambda: select.select([watched], [], [])
    finally:
        os.close(watched)


def _poll(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0)
            time.sleep(POLL_SECONDS)


def _show_status(context: Context, status: Any) -> None:
    daemon = status["daemon"]
    out = context.console.out
    out(f"daemon: {status['state']}, pid {daemon['pid']}, since {daemon['startedAt']}")
    ours = "" if daemon["buildId"] == VERSION else f" (this is {VERSION})"
    out(f"build: {daemon['buildId']}{ours}")
    out(f"state-dir: {daemon['stateDir']}")
    if daemon.get("socket"):
        out(f"socket: {daemon['socket']}")
    if daemon.get("tcp"):
        out(f"tcp: {daemon['tcp']}")
    out(f"clients: {status['clients']}")
    out(f"sessions: {', '.join(f'{n} {what}' for what, n in status['sessions'].items()) or 'none'}")
    out(f"durability: {status['durability']}")
