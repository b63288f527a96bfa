"""The session goes back to an earlier revision (machine.md, Rewinds).

Laws
- Nothing that was going on goes on: runs end, background work is told to end, and its late result is nobody's.
- A call that may have run does not run again until somebody has said so.
"""

from abey.core.children import let_go
from abey.core.effects import Abort, EndRun
from abey.core.events import Rewind
from abey.core.inputs import refuse_busy, refuse_stopped
from abey.core.lines import at, ran_before
from abey.core.machine import Draft
from abey.core.session import open_calls
from abey.protocol import journal as j
from abey.shared.values import replace


def rewind(draft: Draft, event: Rewind) -> Draft:
    """To where the session is already is nowhere. Raises SessionStopped; SessionBusy while the foreground works;
    InvalidState for a revision that there is not, or where the session was not quiet."""
    refuse_stopped(draft.session)
    refuse_busy(draft)
    past = at(draft.session, event.to)
    if event.to == draft.session.revision:
        return draft
    draft = _runs_ended(_work_let_go(draft))
    return draft.write(j.Rewound(to=event.to, ran=ran_before(past), client=event.client))


def _work_let_go(draft: Draft) -> Draft:
    """Children are told to end, and so is what runs in the background; no request waits for a call any more."""
    for call in open_calls(draft.session):
        draft = let_go(draft, call)
    for invocation in draft.work.live:
        draft = draft.end(invocation.invocation_id).do(Abort(invocation.invocation_id))
    requests = tuple(replace(one, call_id=None) for one in draft.work.requests)
    return draft.with_work(replace(draft.work, requests=requests, rested=frozenset(), left_ended=True))


def _runs_ended(draft: Draft) -> Draft:
    """The run that waits, and those that were promised, are over as if their turn had been cancelled."""
    active = (draft.work.run,) if draft.work.run is not None else ()
    for run in (*active, *draft.work.promised):
        draft = draft.do(EndRun(run.generation, "cancelled", run.steps))
    return draft.with_work(replace(draft.work, run=None, promised=()))
