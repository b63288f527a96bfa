"""A session as its journal tells it: values only, the fold of its records and nothing else.

A session is a row of turns, a turn is a row of entries, and the last answer's calls decide what the next step does
(machine.md, State).
"""

from dataclasses import dataclass, field
from typing import Literal

from abey.core.conversation import Message
from abey.core.idempotency import Requests
from abey.protocol.base import Timestamp
from abey.protocol.blocks import Block
from abey.protocol.journal import (
    CallDecided,
    CallFinished,
    CallResolved,
    CallStarted,
    Compacted,
    Created,
    InputQueued,
    KeyedRequest,
    ModelRequested,
)
from abey.protocol.policy import Rule
from abey.protocol.session import Driver, LastError, Paused, State, TurnEnd, Usage
from abey.protocol.transcript import Part, Question

CallState = Literal[
    "ready", "deferred", "approved", "running", "uncertain", "completed", "failed", "denied", "cancelled", "expired"
]
FINAL_STATES: frozenset[CallState] = frozenset({"completed", "failed", "denied", "cancelled", "expired"})


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and everything recorded about it. `arguments` is the model's own text.

    Without a `verdict` it is undecided. `answered` is what was said to its last question. `in_doubt` marks a call whose
    records were cut off by a crash of the disk.
    """

    call_id: str
    tool: str
    arguments: str
    state: CallState = "ready"
    fault: str | None = None
    in_doubt: bool = False
    verdict: CallDecided | None = None
    decided_at: Timestamp | None = None
    question: Question | None = None
    resolution: CallResolved | None = None
    resolved_at: Timestamp | None = None
    answered: CallResolved | None = None
    answered_at: Timestamp | None = None
    started: CallStarted | None = None
    started_at: Timestamp | None = None
    finished: CallFinished | None = None
    ended_at: Timestamp | None = None

    @property
    def final(self) -> bool:
        return self.state in FINAL_STATES

    @property
    def child_id(self) -> str | None:
        """The session that works on it, or has worked on it."""
        return self.started.child_id if self.started is not None else None

    @property
    def undecided(self) -> bool:
        return self.verdict is None and not self.final

    @property
    def may_have_run(self) -> bool:
        """Whether its tool was started, or whether nobody can tell that it was not."""
        return self.started is not None or self.in_doubt

    @property
    def fate(self) -> str:
        """The same in words."""
        if self.started is not None:
            return "it had started and may have run"
        return "it may have run" if self.in_doubt else "it was not run"

    @property
    def effective_preimage(self) -> str | None:
        """The hash of the file that it writes, or would write, as it was when that was shown."""
        edited = self.resolution is not None and self.resolution.arguments is not None
        return (
            self.resolution.preimage if edited and self.resolution else self.verdict.preimage if self.verdict else None
        )

    @property
    def effective_arguments(self) -> str:
        """The text that runs, or would run: the edited one where somebody edited it."""
        edited = self.resolution.arguments if self.resolution else None
        return self.arguments if edited is None else edited


@dataclass(frozen=True, slots=True)
class InputEntry:
    input_id: str
    parts: tuple[Part, ...]
    revision: int
    at: Timestamp


@dataclass(frozen=True, slots=True)
class AnswerEntry:
    """One answer of the model and the calls it asked for; `committed` once every call's result is in the transcript."""

    step_id: str
    blocks: tuple[Block, ...]
    calls: tuple[Call, ...]
    finish_reason: str
    revision: int
    at: Timestamp
    committed: bool = False
    in_doubt: bool = False

    @property
    def settled(self) -> bool:
        return all(call.final for call in self.calls)


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """Something people should know; no model sees it."""

    text: str
    revision: int
    at: Timestamp


Entry = InputEntry | AnswerEntry | NoteEntry


@dataclass(frozen=True, slots=True)
class Turn:
    """From one user input to its end. `messages` and `digest` (of them and all before) are there once it has ended."""

    turn_id: str
    n: int
    started_at: Timestamp
    entries: tuple[Entry, ...] = ()
    steps: int = 0
    end: TurnEnd | None = None
    ended_at: Timestamp | None = None
    messages: tuple[Message, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """The fold of a journal up to `revision`. `asked` is a model request that has no answer yet,
    and `asked_note` what will be said of it should it never get one. `untold` waits for the first turn to stand in.
    `titled`: an input or a renaming gave the title.
    """

    created: Created
    created_at: Timestamp
    updated_at: Timestamp
    revision: int
    config_hash: str
    title: str
    titled: bool = False
    archived: bool = False
    turns: tuple[Turn, ...] = ()
    queue: tuple[InputQueued, ...] = ()
    rules: tuple[Rule, ...] = ()
    paused: Paused | None = None
    stopped: bool = False
    last_error: LastError | None = None
    usage: Usage = Usage()
    context_tokens: int | None = None
    tries: int = 0
    compacted: Compacted | None = None
    driven_by: Driver = "step"
    asked: ModelRequested | None = None
    asked_note: NoteEntry | None = None
    untold: tuple[NoteEntry, ...] = ()
    children: tuple[str, ...] = ()
    requests: Requests = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.created.session_id

    def remembers(self, request: KeyedRequest) -> bool:
        return request.key in self.requests

    @property
    def turn(self) -> Turn | None:
        return self.turns[-1] if self.turns else None

    @property
    def open_turn(self) -> Turn | None:
        turn = self.turn
        return turn if turn is not None and turn.end is None else None

    @property
    def batch(self) -> AnswerEntry | None:
        """The last answer of the open turn, while it has calls whose results are not in the transcript."""
        answer = self.last_answer
        return answer if answer is not None and answer.calls and not answer.committed else None

    @property
    def last_answer(self) -> AnswerEntry | None:
        entries = self.open_turn.entries if self.open_turn else ()
        return next((entry for entry in reversed(entries) if isinstance(entry, AnswerEntry)), None)

    @property
    def state(self) -> State:
        """What the next step would do (machine.md, State)."""
        turn = self.open_turn
        if self.stopped:
            return "stopped"
        if turn is None:
            return "completed"
        batch = self.batch
        if batch is None:
            return "completed" if _ends_with_an_answer(turn) else "userTurn"
        if any(call.undecided for call in batch.calls):
            return "llmTurn"
        return "userTurn" if batch.settled else "partialUserTurn"

    def find_call(self, token: str) -> tuple[Turn, Call] | None:
        """The call with this token and its turn, newest first."""
        for turn in reversed(self.turns):
            for entry in reversed(turn.entries):
                for call in entry.calls if isinstance(entry, AnswerEntry) else ():
                    if call.verdict is not None and call.verdict.token == token:
                        return turn, call
        return None


def _ends_with_an_answer(turn: Turn) -> bool:
    entries = [entry for entry in turn.entries if not isinstance(entry, NoteEntry)]
    last = entries[-1] if entries else None
    return isinstance(last, AnswerEntry) and not last.calls


def open_calls(session: Session) -> tuple[Call, ...]:
    """The calls of the open batch that have no result, in model order."""
    return tuple(call for call in session.batch.calls if not call.final) if session.batch else ()
