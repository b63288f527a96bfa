"""Drives a session to its answer, or to where somebody must decide: a person is asked, and then it goes on."""

from collections.abc import Callable
from functools import partial
from typing import Any

from abey_cli.approving import APPROVING
from abey_cli.asking import ask_about, call_key, unasked
from abey_cli.context import Context
from abey_cli.detaching import asking, detachable, resumable
from abey_cli.families import children_at_work, with_family
from abey_cli.live import live
from abey_cli.questioning import QUESTIONING
from abey_cli.settling import SETTLING, SUPPLYING
from abey_cli.waiting import is_over, wait_until

ASKINGS = (APPROVING, QUESTIONING, SETTLING, SUPPLYING)

Result = Any
"""`{outcome, session}`, and of a run its `steps`."""


class Drive:
    """One use. Without a person, `until` is what the daemon is asked for; a person is asked at each yield, and where it
    is `turn`, others may answer what the person leaves for later."""

    def __init__(self, context: Context, session_id: str, until: str = "yield", max_steps: int | None = None) -> None:
        self._context = context
        self._session_id = session_id
        self._until = until
        self._asks = context.console.interactive
        self._asked: set[str] = set()
        self.common = {
            "sessionId": session_id,
            "until": "yield" if self._asks else until,
            "maxSteps": max_steps,
        }

    def run(self, begin: Callable[[], Result]) -> Result:
        """What `begin` asks for, and all that follows: the result of the last request. Raises Failure."""
        with resumable(self._context, self._session_id):
            result = self._driven(begin)
            while self._asks and result["outcome"] == "waiting":
                if self._decided(result["session"]):
                    result = self._driven(self._further)
                elif self._until == "yield":
                    break
                else:
                    result = self._driven(partial(self._after_others, result))
        return result

    def _further(self) -> Result:
        return self._context.request("agents/run", **self.common)

    def _driven(self, begin: Callable[[], Result]) -> Result:
        """A run yields while children work: it goes on with what each of them comes to, until only a decision can move
        it, or a person can be asked for one."""
        with detachable(self._context, self._session_id), live(self._context, self._session_id):
            result = begin()
            while result["outcome"] == "waiting" and not self._there(before := result["session"]):
                session = wait_until(self._context, self._session_id, self._there)
                if _children(session) == _children(before):
                    return {**result, "session": session}
                result = self._further()
            return result

    def _there(self, session: Any) -> bool:
        return self._wants_a_person(session) or not children_at_work(self._context, session)

    def _wants_a_person(self, session: Any) -> bool:
        """Whether there is a call of it, or of a child, that the person has not been asked about."""
        return self._asks and bool(unasked(with_family(self._context, session), self._asked, ASKINGS))

    def _decided(self, session: Any) -> bool:
        """Asks about all that waits and was not asked about before. Whether anything was answered."""
        calls = unasked(with_family(self._context, session), self._asked, ASKINGS)
        self._asked.update(call_key(call) for _, call in calls)
        with asking(self._context, self._session_id):
            answered = [ask_about(self._context, about, call) for about, call in calls]
        return any(answered)

    def _after_others(self, before: Result) -> Result:
        """Once somebody else has answered one of the calls, or another one waits."""
        waited = _keys(before["session"])

        def moved(session: Any) -> bool:
            return session["activity"] == "idle" and (is_over(session) or _keys(session) != waited)

        session = wait_until(self._context, self._session_id, moved)
        return {**before, "outcome": "completed", "session": session} if is_over(session) else self._further()


def _children(session: Any) -> set[str]:
    return {call["childId"] for call in session["pending"] if call.get("childId")}


def _keys(session: Any) -> set[str]:
    return {f"{call_key(call)} {call['kind']} {call.get('reason')}" for call in session["pending"]}
