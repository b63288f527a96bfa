"""Ways to break the daemon, each a mistake that somebody could make."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from abey.core import calls, dispatch, replay
from abey.core.call import Call
from abey.core.machine import Work
from abey.core.session import Session
from abey.daemon.subscriptions import Subscriptions
from abey.protocol.journal import Record, Withdrawn
from abey.runtime import reviving
from abey.runtime.live import Live
from abey.runtime.scheduler import Scheduler
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import Journal

Mutate = Callable[[pytest.MonkeyPatch], None]


def acts_before_it_writes(patches: pytest.MonkeyPatch) -> None:
    write = Scheduler._write

    async def later(self: Scheduler, live: Live, done: Any) -> None:
        asyncio.get_running_loop().call_later(0.01, lambda: asyncio.ensure_future(write(self, live, done)))

    patches.setattr(Scheduler, "_write", later)


def forgets_the_fence(patches: pytest.MonkeyPatch) -> None:
    find = Work.find

    def any_one(self: Work, invocation_id: str) -> Any:
        """Whatever comes is taken for what is waited for."""
        found = find(self, invocation_id)
        return found or next((one for one in self.live if one.call_id is None), None)

    patches.setattr(Work, "find", any_one)


def drops_a_waiter(patches: pytest.MonkeyPatch) -> None:
    ended = Live.run_ended

    def every_third_is_dropped(self: Live, end: Any) -> None:
        if end.generation % 3:
            ended(self, end)

    patches.setattr(Live, "run_ended", every_third_is_dropped)


def runs_what_was_denied(patches: pytest.MonkeyPatch) -> None:
    patches.setitem(calls._RESOLVED, "deny", "approved")


def loses_the_queue_in_a_restart(patches: pytest.MonkeyPatch) -> None:
    recover = reviving.recover
    patches.setattr(reviving, "recover", lambda session: replace(recover(session), queue=()))


def forgets_to_sync(patches: pytest.MonkeyPatch) -> None:
    commit = Journal._commit

    def unsynced(self: Any, *what: Any) -> None:
        io, self._io = self._io, Unsynced(self._io)
        try:
            commit(self, *what)
        finally:
            self._io = io

    patches.setattr(Journal, "_commit", unsynced)


class Unsynced:
    """A disk that says it has synced."""

    def __init__(self, io: FileIO) -> None:
        self._io = io

    def __getattr__(self, name: str) -> Any:
        return getattr(self._io, name)

    def sync(self, _: int) -> None:
        pass


def skips_an_event(patches: pytest.MonkeyPatch) -> None:
    render = Subscriptions._render

    def without_the_fifth(self: Subscriptions, session_id: str, after: int) -> Any:
        told = render(self, session_id, after)
        return told and tuple(one for one in told if one[0] % 5)

    patches.setattr(Subscriptions, "_render", without_the_fifth)


def keeps_an_approval_in_a_rewind(patches: pytest.MonkeyPatch) -> None:
    undecided_again = Call.undecided_again

    def approved_still(self: Call, *, ran_before: bool) -> Call:
        again = undecided_again(self, ran_before=ran_before)
        if self.resolution is None or self.resolution.outcome.kind != "approve":
            return again
        return replace(again, state="approved", verdict=self.verdict, resolution=self.resolution)

    patches.setattr(Call, "undecided_again", approved_still)


def sends_what_was_withdrawn(patches: pytest.MonkeyPatch) -> None:
    withdrawn = replay._FOLDS[Withdrawn]

    def kept(session: Session, data: Withdrawn, record: Record) -> Session:
        return replace(withdrawn(session, data, record), queue=session.queue)

    patches.setitem(replay._FOLDS, Withdrawn, kept)


def skips_a_question(patches: pytest.MonkeyPatch) -> None:
    patches.setattr(dispatch, "question_first", lambda _: None)


MUTANTS: dict[str, Mutate] = {
    "acts before it writes": acts_before_it_writes,
    "forgets the fence": forgets_the_fence,
    "drops a waiter": drops_a_waiter,
    "runs what was denied": runs_what_was_denied,
    "loses the queue in a restart": loses_the_queue_in_a_restart,
    "forgets to sync": forgets_to_sync,
    "skips an event": skips_an_event,
    "keeps an approval in a rewind": keeps_an_approval_in_a_rewind,
    "sends what was withdrawn": sends_what_was_withdrawn,
    "skips a question": skips_a_question,
}
