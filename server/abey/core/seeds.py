"""What a seed makes of a session: its transcript becomes turns (machine.md, Seeds).

Laws
- What makes sense to a provider becomes input, answers and calls like any other; what does not stays as it came, and a
  model would be sent just that.
- A call that the transcript leaves open is undecided: whoever had it may have run it.
"""

from pydantic import ValidationError

from abey.core.edits import IllegalRecord
from abey.core.lines import kept
from abey.core.portable import entries_of
from abey.core.rows import Row
from abey.core.seed_turns import Telling
from abey.core.session import NoteEntry, Session, Turn
from abey.protocol import journal as j
from abey.protocol.seeds import Seed
from abey.shared.values import replace


def seeded(session: Session, data: j.Seeded, record: j.Record) -> Session:
    """From here on the session is what the seed says; what it was is a line that it left. Raises IllegalRecord."""
    seed = data.seed
    lost = f"the transcript of the seed is lost: {seed.transcript}" if isinstance(seed.transcript, str) else None
    return replace(
        session,
        turns=Row.of(turns_of(seed, record)),
        turns_before=seed.turn_count,
        user_id=seed.user_id,
        context=seed.context,
        lines=kept(session),
        untold=(NoteEntry(lost, record.rev, record.at),) if lost is not None else (),
        compactions=(),
        tries=0,
        context_tokens=None,
        stopped_rev=None,
        paused=None,
        last_error=None,
    )


def turns_of(seed: Seed, record: j.Record) -> tuple[Turn, ...]:
    """The turns that the transcript tells of, none where it is lost. Raises IllegalRecord."""
    if isinstance(seed.transcript, str):
        return ()
    telling = Telling(record)
    try:
        for entry in entries_of(seed.transcript):
            telling.take(entry)
    except ValidationError as error:
        raise IllegalRecord(
            f"record {record.rev}: the transcript of the seed has {error.error_count()} faults"
        ) from error
    return telling.turns(seed.turn_count)
