"""A session and the work in flight for it, and the draft of the next one."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from abey.core.agent import Agent, Tool
from abey.core.call import Call
from abey.core.conversation import ToolOutcome
from abey.core.effects import Effect
from abey.core.events import Ending, Run
from abey.core.idempotency import ended
from abey.core.ids import derive, ulid
from abey.core.policy import Laws
from abey.core.previews import Look, no_preview
from abey.core.replay import apply
from abey.core.session import Session
from abey.errors import AbeyError
from abey.protocol.base import Json, Timestamp
from abey.protocol.journal import KeyedOutcome, KeyedRequest, Record, RecordData
from abey.protocol.policy import RunIsolated
from abey.protocol.session import Activity
from abey.shared.values import copier, dataclass, replace


@dataclass(frozen=True, slots=True)
class Invocation:
    """A model call or a tool that runs now. A background one belongs to no step; `child_id` is the session that works
    on the call, if one does."""

    invocation_id: str
    call_id: str | None = None
    background: bool = False
    child_id: str | None = None


@dataclass(frozen=True, slots=True)
class ActiveRun:
    """A run that is not over. `input_id` is the input it came with; `turn_over` once a turn it drove has ended while
    that did not wait any more; `awaits`: calls it waits for."""

    run: Run
    generation: int
    steps: int = 0
    turn_over: bool = False
    awaits: frozenset[str] = frozenset()
    input_id: str | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """A cancel or a stop on its way: the work in flight has been told to end. `generation` is the one it began in."""

    ending: Ending
    reason: str | None
    by: str
    attempts: int = 0
    generation: int = 0


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request with a key that has not ended: it waits for the end of a run, of a call, or of what is `closing`.

    `answer` is its outcome so far, and `reports` what of the run comes into it.
    """

    request: KeyedRequest
    answer: Mapping[str, Json]
    generation: int | None = None
    call_id: str | None = None
    closing: bool = False
    reports: Literal["end", "failure", "nothing"] = "failure"

    @property
    def waits(self) -> bool:
        return self.generation is not None or self.call_id is not None or self.closing


Phase = Literal["none", "model", "tools", "listing"]
_ACTIVITIES: Mapping[Phase, Activity] = {"none": "idle", "model": "model", "tools": "tools", "listing": "tools"}


@dataclass(frozen=True, slots=True)
class Work:
    """What dies with the daemon. `generation` is the number of runs started or promised; `promised` are those that
    will follow, in order; `requests` are those with a key; `rested` are the calls whose children came to rest since
    somebody asked for a run; `left_ended` once the children of the lines that were left have been told to end."""

    generation: int = 0
    live: tuple[Invocation, ...] = ()
    phase: Phase = "none"
    run: ActiveRun | None = None
    promised: tuple[ActiveRun, ...] = ()
    closing: Closing | None = None
    requests: tuple[OpenRequest, ...] = ()
    rested: frozenset[str] = frozenset()
    left_ended: bool = False

    @property
    def activity(self) -> Activity:
        return "stopping" if self.closing is not None else _ACTIVITIES[self.phase]

    def find(self, invocation_id: str) -> Invocation | None:
        return next((one for one in self.live if one.invocation_id == invocation_id), None)


@dataclass(frozen=True, slots=True)
class Machine:
    session: Session
    work: Work = Work()


NoSandbox = Callable[[Tool, RunIsolated, str], str | None]
"""(tool, how it is to be isolated, cwd) -> why nothing here can run it so, None where something can."""


def no_sandbox(_tool: Tool, _isolation: RunIsolated, _cwd: str) -> str | None:
    return "this daemon has no sandbox"


ChildOutcome = Callable[[Session, Call], ToolOutcome | None]
"""(session, a call that a child works on) -> what came of the child, None where its turn has not ended."""


def no_child(_session: Session, _call: Call) -> ToolOutcome | None:
    return None


@dataclass(frozen=True, slots=True)
class Context:
    """What a transition may know of the world: the time, chance, and the agent.

    `agent` is the version that the running step began with, `latest` the one that the next step begins with;
    `decided_by` finds the agent version of a configHash; `check` says what is wrong with a value by a schema, or None,
    and calls it as it is told; `timestamp` writes milliseconds since 1970 as the protocol does. `no_tools` says why no
    tool may be started now, and `full` why the session may take no input and begin no step. `lawgiver` has the laws
    that are asked beside the agent's own policy, the same ones all through a transition; `preview` says what a write
    would change, `child_outcome` what came of a child, and `no_sandbox` why a call cannot be isolated.
    """

    millis: int
    entropy: bytes
    timestamp: Callable[[int], Timestamp]
    agent: Agent
    latest: Agent
    decided_by: Callable[[str], Agent | None]
    check: Callable[[Any, Any, str], str | None]
    draining: bool = False
    no_tools: AbeyError | None = None
    full: AbeyError | None = None
    lawgiver: Callable[[], Laws] = Laws
    preview: Look = no_preview
    child_outcome: ChildOutcome = no_child
    no_sandbox: NoSandbox = no_sandbox

    @property
    def laws(self) -> Laws:
        """Looked up where a call is judged: most transitions judge none."""
        return self.lawgiver()

    @property
    def now(self) -> Timestamp:
        return self.timestamp(self.millis)

    def later(self, seconds: int) -> Timestamp:
        return self.timestamp(self.millis + seconds * 1000)

    def token(self, label: str) -> str:
        """128 bits of this transition's chance, in hex; another label gives another token."""
        return derive(self.entropy, label)[:16].hex()

    def ulid(self, label: str) -> str:
        """A lower-case ULID of now; another label gives another one."""
        return ulid(self.millis, derive(self.entropy, label))


@dataclass(frozen=True, slots=True)
class Draft:
    """A transition being made: the session and the work so far, what will be written, what will then be done.
    `sessions` are those after each of the records.

    `generation` is the run that the request which caused all this waits for; `untold` are the requests with a key whose
    first record comes next.
    """

    session: Session
    work: Work
    context: Context
    records: tuple[Record, ...] = ()
    sessions: tuple[Session, ...] = ()
    effects: tuple[Effect, ...] = ()
    generation: int | None = None
    untold: tuple[KeyedRequest, ...] = ()

    def with_latest_agent(self) -> "Draft":
        """A step begins: from here on it is the agent's latest version that counts."""
        context = self.context
        if context.agent is context.latest:
            return self
        return replace(self, context=replace(context, agent=context.latest))

    def write(self, data: RecordData) -> "Draft":
        untold = self.untold
        record = Record(self.session.revision + 1, self.context.now, data, untold[0] if untold else None)
        session = apply(self.session, record)
        return _written(self, session, (*self.records, record), (*self.sessions, session), untold[1:])

    def claim(self, acts: Callable[[OpenRequest], bool]) -> "Draft":
        """What is written next is done for the open requests that `acts` tells: none of them is left untold."""
        if not self.work.requests:
            return self
        asked = [one.request for one in self.work.requests if acts(one)]
        first = [one for one in asked if one not in self.untold and not self.session.remembers(one)]
        return replace(self, untold=(*self.untold, *first)) if first else self

    def tell(self, outcomes: tuple[KeyedOutcome, ...]) -> "Draft":
        """The last record, which there is, has the outcomes."""
        *before, last = self.records
        session = replace(self.session, requests=ended(self.session.requests, outcomes))
        records = (*before, replace(last, outcomes=outcomes))
        return replace(self, session=session, records=records, sessions=(*self.sessions[:-1], session))

    def do(self, effect: Effect) -> "Draft":
        return _acting(self, self.work, (*self.effects, effect))

    def with_work(self, work: Work) -> "Draft":
        return _working(self, work)

    def mint(self, label: str) -> str:
        """A ULID that no other place of this transition gets."""
        return self.context.ulid(f"{label}:{self.session.revision}:{len(self.effects)}")

    def begin(self, invocation: Invocation, effect: Effect, phase: Phase | None = None) -> "Draft":
        """Something runs from now on: what a step waits for, where a phase begins with it."""
        work = self.work
        begun = _in_flight(work, (*work.live, invocation), phase or work.phase)
        return _acting(self, begun, (*self.effects, effect))

    def end(self, invocation_id: str) -> "Draft":
        work = self.work
        live = tuple([one for one in work.live if one.invocation_id != invocation_id])
        return _working(self, _in_flight(work, live, work.phase))


_in_flight: Callable[[Work, tuple[Invocation, ...], Phase], Work] = copier(Work, "live", "phase")
_working: Callable[[Draft, Work], Draft] = copier(Draft, "work")
_acting: Callable[[Draft, Work, tuple[Effect, ...]], Draft] = copier(Draft, "work", "effects")
_written: Callable[[Draft, Session, tuple[Record, ...], tuple[Session, ...], tuple[KeyedRequest, ...]], Draft]
_written = copier(Draft, "session", "records", "sessions", "untold")
