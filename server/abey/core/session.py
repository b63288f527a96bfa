"""A session as its journal tells it: values only, the fold of its records and nothing else.

A session is a row of turns, a turn is a row of entries, and the last answer's calls decide what the next step does
(machine.md, State).
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Literal

from abey.core.call import FINAL_STATES, Call
from abey.core.conversation import Message
from abey.core.idempotency import Requests
from abey.core.late import Late
from abey.core.marks import Mark
from abey.core.rows import Row
from abey.protocol.base import Json, Timestamp
from abey.protocol.blocks import Block
from abey.protocol.journal import Compacted, Created, InputQueued, KeyedRequest, ModelRequested
from abey.protocol.lines import Transition
from abey.protocol.policy import Rule
from abey.protocol.seeds import SeedEntry
from abey.protocol.session import Driver, LastError, Paused, State, TurnEnd, Usage
from abey.protocol.transcript import Part
from abey.shared.values import Referable, dataclass

Dropped = Literal["withdrawn", "rejected", "stopped"]
"""How an input ended that was never committed."""


@dataclass(frozen=True, slots=True)
class InputEntry(Referable):
    """What a user says; with `repairs` we do, of what is wrong with the answer before it. `place`: among the entries of
    its record, where that has many."""

    input_id: str
    parts: tuple[Part, ...]
    revision: int
    at: Timestamp
    repairs: bool = False
    place: int = 0


@dataclass(frozen=True, slots=True)
class AnswerEntry(Referable):
    """One answer of the model and the calls it asked for; `committed` once every call's result is in the transcript.

    `dispatched_rev` is the first record about one of its calls, and `committed_rev` the one with their results;
    `place`: among the entries of its record.
    """

    step_id: str
    blocks: tuple[Block, ...]
    calls: tuple[Call, ...]
    finish_reason: str
    revision: int
    at: Timestamp
    dispatched_rev: int | None = None
    committed_rev: int | None = None
    place: int = 0

    @property
    def committed(self) -> bool:
        return self.committed_rev is not None

    @property
    def settled(self) -> bool:
        return FINAL_STATES.issuperset([call.state for call in self.calls])


@dataclass(frozen=True, slots=True)
class NoteEntry(Referable):
    """Something people should know; no model sees it, but what a seed has `told` that makes no sense, as it came."""

    text: str
    revision: int
    at: Timestamp
    told: Annotated[tuple[SeedEntry, ...], Late] = ()
    place: int = 0


Entry = InputEntry | AnswerEntry | NoteEntry


@dataclass(frozen=True, slots=True)
class Turn:
    """From one user input to its end. `messages` and `digest` (of them and all before) are there once it has ended.
    `continues` is the id of what began it without input, if it was begun so. `began_rev` and `ended_rev` are its first
    record and its last; `marks` are all of its counts, oldest first. `usage` is what its model calls used."""

    turn_id: str
    n: int
    started_at: Timestamp
    entries: Annotated[tuple[Entry, ...], Late] = ()
    steps: int = 0
    end: TurnEnd | None = None
    ended_at: Timestamp | None = None
    messages: Annotated[tuple[Message, ...], Late] = ()
    digest: str = ""
    continues: str | None = None
    began_rev: int = 0
    ended_rev: int | None = None
    marks: tuple[Mark, ...] = ()
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Line:
    """What a session was up to `revision`, when it left that: its open calls are closed as `rewound`."""

    revision: int
    turns: Row[Turn] = Row()
    untold: tuple[NoteEntry, ...] = ()
    compactions: tuple[tuple[int, Compacted], ...] = ()
    stopped_rev: int | None = None
    turns_before: int = 0
    user_id: str | None = None
    context: Json = None


@dataclass(frozen=True, slots=True)
class Session:
    """The fold of a journal up to `revision`. `asked` is a model request that has no answer yet,
    and `asked_note` what will be said of it should it never get one. `untold` waits for the first turn to stand in.
    `titled`: an input or a renaming gave the title. `dropped` are the inputs that were never committed, by their ids.
    `compactions` stand with their revisions; `lines` are those that it left, oldest first: a revision is on
    the first that is as long, else on this one. `user_id`, `context` and the turns begun before it are of its seed.
    `transition` is the one that it has made last (machine.md, Records).
    """

    created: Created
    created_at: Timestamp
    updated_at: Timestamp
    revision: int
    config_hash: str
    title: str
    titled: bool = False
    archived: bool = False
    turns: Row[Turn] = Row()
    turns_before: int = 0
    user_id: str | None = None
    context: Json = None
    queue: Annotated[tuple[InputQueued, ...], Late] = ()
    dropped: Mapping[str, Dropped] = field(default_factory=dict)
    rules: Annotated[tuple[Rule, ...], Late] = ()
    paused: Paused | None = None
    first_rev: int = 1
    stopped_rev: int | None = None
    last_error: LastError | None = None
    usage: Usage = Usage()
    context_tokens: int | None = None
    tries: int = 0
    compactions: Annotated[tuple[tuple[int, Compacted], ...], Late] = ()
    lines: Annotated[tuple[Line, ...], Late] = ()
    driven_by: Driver = "step"
    transition: Transition | None = None
    asked: ModelRequested | None = None
    asked_note: NoteEntry | None = None
    untold: tuple[NoteEntry, ...] = ()
    children: tuple[str, ...] = ()
    requests: Requests = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.created.session_id

    @property
    def stopped(self) -> bool:
        return self.stopped_rev is not None

    @property
    def compacted(self) -> Compacted | None:
        """The summary that is told in place of what it sums up."""
        return self.compactions[-1][1] if self.compactions else None

    @property
    def turn_count(self) -> int:
        """The turns begun so far, those included that a seed only counts."""
        return self.turns_before if self.turns.last is None else self.turns.last.n

    def remembers(self, request: KeyedRequest) -> bool:
        return request.key in self.requests

    @property
    def turn(self) -> Turn | None:
        return self.turns.last

    @property
    def open_turn(self) -> Turn | None:
        turn = self.turns.last
        return turn if turn is not None and turn.end is None else None

    @property
    def batch(self) -> AnswerEntry | None:
        """The last answer of the open turn, while it has calls whose results are not in the transcript."""
        answer = self.last_answer
        return answer if answer is not None and answer.calls and answer.committed_rev is None else None

    @property
    def last_answer(self) -> AnswerEntry | None:
        turn = self.turns.last
        for entry in reversed(turn.entries) if turn is not None and turn.end is None else ():
            if isinstance(entry, AnswerEntry):
                return entry
        return None

    @property
    def state(self) -> State:
        """What the next step would do (machine.md, State)."""
        turn = self.turns.last
        if self.stopped_rev is not None:
            return "stopped"
        if turn is None or turn.end is not None:
            return "completed"
        answer = self.last_answer
        if answer is None or not answer.calls or answer.committed_rev is not None:
            return "completed" if _ends_with_an_answer(turn) else "userTurn"
        if any(call.undecided for call in answer.calls):
            return "llmTurn"
        return "userTurn" if answer.settled else "partialUserTurn"


def _ends_with_an_answer(turn: Turn) -> bool:
    last = turn.entries[-1] if turn.entries else None
    if isinstance(last, NoteEntry):
        last = next((entry for entry in reversed(turn.entries) if is_sent(entry)), None)
    return isinstance(last, AnswerEntry) and not last.calls


def is_sent(entry: Entry) -> bool:
    """Whether a model is sent it."""
    return not isinstance(entry, NoteEntry) or bool(entry.told)


def open_calls(session: Session) -> tuple[Call, ...]:
    """The calls of the open batch that have no result, in model order."""
    batch = session.batch
    return tuple([call for call in batch.calls if call.state not in FINAL_STATES]) if batch is not None else ()


def queue_order(session: Session) -> list[InputQueued]:
    """What waits, in the order in which it will be committed: interrupts overtake the rest."""
    return sorted(session.queue, key=lambda queued: queued.delivery != "interrupt")


def ends_with_an_answer(session: Session) -> bool:
    """Whether the last thing in the transcript is a final answer, which nothing can be added to without an input."""
    entries = (entry for turn in reversed(session.turns) for entry in reversed(turn.entries))
    last = next((entry for entry in entries if is_sent(entry)), None)
    return isinstance(last, AnswerEntry) and not last.calls
