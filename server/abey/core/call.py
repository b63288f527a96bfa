"""A tool call as the records of its session tell it (machine.md, Calls)."""

from typing import Literal

from abey.protocol.base import Json, Timestamp
from abey.protocol.journal import CallDecided, CallFinished, CallResolved, CallStarted, Rewound
from abey.protocol.outcomes import Answer
from abey.protocol.rulings import Ruling
from abey.protocol.transcript import Question
from abey.shared.values import dataclass

CallState = Literal[
    "ready", "deferred", "approved", "running", "uncertain", "completed", "failed", "denied", "cancelled", "expired"
]
RAN_REASON = "already ran before the rewind"
LEFT_OPEN_REASON = "the seed left it open; it may have run elsewhere"
FINAL_STATES: frozenset[CallState] = frozenset({"completed", "failed", "denied", "cancelled", "expired"})


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and everything recorded about it. `arguments` is the model's own text.

    Without a `verdict` it is undecided. `ruling` is what an extension said of it, and `first_answer` what was said to
    the question that came of that before it could run. `answered` is what was said to its last question. `in_doubt`
    marks a call whose records were cut off by a crash of the disk.

    `ran_before`: the session went back to where the call was undecided, and it may have run by then; `rewound`: the
    session went back to before the call while it was open. `left_open`: a seed brought it without a result, and whoever
    had it may have run it.
    """

    call_id: str
    tool: str
    arguments: str
    state: CallState = "ready"
    fault: str | None = None
    ruling: Ruling | None = None
    in_doubt: bool = False
    verdict: CallDecided | None = None
    decided_at: Timestamp | None = None
    question: Question | None = None
    resolution: CallResolved | None = None
    resolved_at: Timestamp | None = None
    answered: CallResolved | None = None
    answered_at: Timestamp | None = None
    first_answer: CallResolved | None = None
    started: CallStarted | None = None
    started_at: Timestamp | None = None
    finished: CallFinished | None = None
    ended_at: Timestamp | None = None
    ran_before: bool = False
    rewound: Rewound | None = None
    left_open: bool = False

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
    def asked_about(self) -> bool:
        """Whether somebody is asked about it before it runs."""
        return self.question is not None and self.state in ("ready", "deferred")

    @property
    def to_be_asked_about(self) -> bool:
        """Whether the question has yet to be asked that an extension wants answered before it runs."""
        wanted = self.ruling is not None and self.ruling.kind == "ask" and self.state in ("ready", "deferred")
        return wanted and self.question is None and self.first_answer is None and self.started is None

    @property
    def may_have_run(self) -> bool:
        """Whether its tool was started, or whether nobody can tell that it was not."""
        return self.started is not None or self.in_doubt

    def undecided_again(self, *, ran_before: bool) -> "Call":
        """The call as its answer has it, before any record about it."""
        return Call(
            self.call_id,
            self.tool,
            self.arguments,
            fault=self.fault,
            ruling=self.ruling,
            ran_before=ran_before,
            left_open=self.left_open,
        )

    @property
    def held(self) -> str | None:
        """Why it waits for somebody, whatever lets it run: it may have run already."""
        if self.ran_before:
            return RAN_REASON
        return LEFT_OPEN_REASON if self.left_open else None

    @property
    def fate(self) -> str:
        """The same in words."""
        if self.started is not None:
            return "it had started and may have run"
        return "it may have run" if self.in_doubt or self.left_open else "it was not run"

    @property
    def answer(self) -> Json:
        """What its tool is told of the answer that it had before it ran, None where it was not asked about."""
        outcome = self.first_answer.outcome if self.first_answer else None
        return outcome.value if isinstance(outcome, Answer) else None

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
