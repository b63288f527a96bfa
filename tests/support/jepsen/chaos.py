"""Four clients on one daemon that is ended again and again, and the history that they leave."""

import select
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from random import Random

from support.e2e import Place, kill, until
from support.e2e_crash import Nursery
from support.e2e_peer import Peer
from support.jepsen.clients import SESSIONS, Client, config
from support.jepsen.history import History
from support.jepsen.journals import read_journal

ENDS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)


def chaos(place: Place, nursery: Nursery, seed: str, restarts: int) -> History:
    """After so many restarts everything becomes quiet, and the journals are read."""
    chance, halt = Random(seed), threading.Event()
    with nursery.wake(place) as peer:
        for session_id in SESSIONS:
            cwd = str(place.work)
            peer.request("agents/start", config=config(place), prompt="go", sessionId=session_id, cwd=cwd)
    clients = [Client(f"c{number}", place, Random(f"{seed}:{number}"), halt) for number in range(4)]
    for client in clients:
        client.begin()
    try:
        for number in range(restarts):
            select.select([], [], [], chance.uniform(0.1, 0.8))
            _restart(place, nursery, ENDS[number % len(ENDS)])
        select.select([], [], [], 0.5)
    finally:
        halt.set()
        for client in clients:
            client.join()
    with place.peer() as peer:
        _become_quiet(peer)
        last = {key: seq for client in clients for key, seq in client.finish().items()}
    place.kill_daemon()
    return History(
        operations=[one for client in clients for one in client.operations],
        notices={client.name: client.notices for client in clients},
        strays=[stray for client in clients for stray in client.strays],
        journals={session_id: read_journal(place.journal(session_id)) for session_id in SESSIONS},
        last=last,
        restarts=restarts,
    )


def size(histories: Sequence[History]) -> str:
    """How much was tried, in a line."""
    outcomes = Counter(one.outcome for history in histories for one in history.operations)
    heard = sum(len(notices) for history in histories for notices in history.notices.values())
    counted = ", ".join(f"{outcomes[one]} {one}" for one in ("ok", "refused", "unknown"))
    restarts = sum(history.restarts for history in histories)
    return f"{restarts} restarts, {outcomes.total()} operations ({counted}), {heard} events and attachments heard"


def _restart(place: Place, nursery: Nursery, how: int) -> None:
    pid = place.daemon_pid()
    if pid is not None:
        kill(pid, how)
    nursery.wake(place).close()


def _become_quiet(peer: Peer) -> None:
    """Nothing of the sessions runs any more."""
    for session_id in SESSIONS:
        until(
            lambda named=session_id: peer.request("agents/get", sessionId=named)["session"]["activity"] == "idle",
            f"for {session_id} to rest",
        )
