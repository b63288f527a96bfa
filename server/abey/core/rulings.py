"""What extensions say of calls: the stricter of that and the policy counts, and a denial beats a question
(machine.md, Extensions).

Laws
- While somebody is asked about a call before it runs, nothing of its batch starts by itself.
- What an extension wants to be asked about does not start before that was answered.
"""

from collections.abc import Iterable, Sequence

from abey.core.call import Call
from abey.core.calls import base_disposition
from abey.core.conversation import CallRuling
from abey.protocol import journal as j
from abey.protocol.blocks import ProposedCall
from abey.protocol.policy import Deny
from abey.protocol.rulings import Ruling
from abey.protocol.transcript import Question


def recorded(said: Iterable[CallRuling], calls: Sequence[ProposedCall]) -> tuple[Ruling, ...]:
    """The rulings on the calls of an answer, under the ids that these have in the session."""
    return tuple(
        Ruling(
            call_id=calls[one.index].call_id,
            extension=one.extension,
            kind="deny" if one.question is None else "ask",
            reason=one.reason,
            question=one.question,
        )
        for one in said
    )


def denial(call: Call, verdict: j.CallDecided) -> tuple[j.CallDecided, j.CallFinished] | None:
    """The verdict and the end of a call that an extension denies; None where none does, or the policy does it."""
    ruling = call.ruling
    if ruling is None or ruling.kind != "deny" or isinstance(base_disposition(verdict.disposition), Deny):
        return None
    changes = {
        "disposition": Deny(reason=ruling.reason),
        "reason": ruling.reason,
        "rule": {"extension": ruling.extension},
        "isolation": None,
        "expires_at": None,
    }
    told = f"denied by extension {ruling.extension}" + (f": {ruling.reason}" if ruling.reason else "")
    return verdict.model_copy(update=changes), j.CallFinished(call_id=call.call_id, outcome="denied", output=told)


def question_first(call: Call) -> Question | None:
    """What somebody is asked before the call runs. Not of one that may have run: running it again is a choice already,
    which somebody makes who looks at it."""
    return call.ruling.question if call.ruling is not None and not call.may_have_run else None


def asks_first(open_calls: Iterable[Call]) -> bool:
    """Whether somebody is asked about one of the open calls before it runs."""
    return any(call.asked_about for call in open_calls)
