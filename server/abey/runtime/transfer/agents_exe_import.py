"""From a session file of agents-exe to records of ours: one unit, which tells all that the file tells.

No model was asked and no tool was started here, so there is no model-requested, and a step taken elsewhere does not
count against the limits of the turn that goes on here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from abey.core.agent import Agent
from abey.core.ids import derive, ulid
from abey.protocol import journal as j
from abey.protocol.base import Timestamp, sha256_hex
from abey.protocol.blocks import ProposedCall
from abey.protocol.policy import Defer
from abey.protocol.session import Usage
from abey.protocol.transcript import Part, TextPart
from abey.runtime.clock import millis_of, timestamp
from abey.runtime.transfer.agents_exe import FileCall, LlmTurn, SessionFile, Tracked, UserTurn

LAST_SECOND = 253_402_300_799
"""9999-12-31T23:59:59Z: a later time has no timestamp."""

NO_RESULT = "the imported file has no result for this call"
PENDING_REASON = "imported: somebody must say what came of it"


def import_records(
    file: SessionFile, created: j.Created, imported: j.Imported, agent: Agent, now: Timestamp, entropy: bytes
) -> tuple[j.Record, ...]:
    """Every record of the new session, `created` and `imported` first.

    Calls nobody answered wait as external ones; those that ran there may have run. Raises InvalidSeed where a turn
    that is not whole names a call that was never made.
    """
    moments = _moments(file.turns, now)
    writer = _Writer(agent, millis_of(now), entropy, next(iter(moments), now))
    writer.write(created)
    writer.write(imported)
    for turn, at in zip(file.turns, moments, strict=True):
        writer.at = at
        if isinstance(turn, LlmTurn):
            writer.answer(turn)
        else:
            writer.user(turn)
    writer.leave_open()
    head, mark, *told = writer.records
    counted = imported.model_copy(update={"records": len(told)})
    return (head, j.Record(mark.rev, mark.at, counted), *told)


def _moments(turns: Sequence[UserTurn | LlmTurn], now: Timestamp) -> tuple[Timestamp, ...]:
    """When each turn was: an answer when its provider says, the rest with the answer before or else the first."""
    known = [_moment(turn.created) if isinstance(turn, LlmTurn) else None for turn in turns]
    latest = next((at for at in known if at), now)
    return tuple(latest := at or latest for at in known)


def _moment(created: int | None) -> Timestamp | None:
    return timestamp(created * 1000) if created is not None and created <= LAST_SECOND else None


@dataclass(slots=True)
class _Open:
    """A call of the open batch; `tracked` once the file said how far it came."""

    call_id: str
    call: FileCall
    tracked: Tracked | None = None
    finished: bool = False


class _Writer:
    """The records so far, and the batch whose results are still to come."""

    def __init__(self, agent: Agent, millis: int, entropy: bytes, at: Timestamp) -> None:
        self.records: list[j.Record] = []
        self.at = at
        self._agent = agent
        self._millis = millis
        self._entropy = entropy
        self._turn_id: str | None = None
        self._step_id = ""
        self._batch: list[_Open] = []
        self._later: tuple[Part, ...] = ()
        self._call_ids: set[str] = set()

    def write(self, data: j.RecordData) -> None:
        self.records.append(j.Record(len(self.records) + 1, self.at, data))

    def user(self, turn: UserTurn) -> None:
        """Results, then input; a partial turn's input waits for the results that are still to come."""
        strange = [tracked for tracked in turn.tracked if not self._track(tracked)]
        if turn.partial and strange:
            raise strange[0].call.at.wrong(f"the model turn before it made no call {strange[0].call.id!r}")
        self._commit_if_settled()
        if turn.partial and self._batch:
            self._later += turn.parts
            return
        self._close_batch()
        self._tell_apart(strange)
        if turn.parts:
            self._input(turn.parts)

    def answer(self, turn: LlmTurn) -> None:
        self._close_batch()
        self._candidate(turn)
        if not turn.calls:
            self.write(j.Final(turn_id=self._turn_id or "", step_id=self._step_id))
            self._turn_id = None

    def _tell_apart(self, strange: Sequence[Tracked]) -> None:
        """Results of calls that no turn before them made: the calls get an answer of their own, so none is lost."""
        if strange:
            calls = tuple(tracked.call for tracked in strange)
            self._candidate(LlmTurn((), calls, "tool_calls", Usage(), None, None))
            for tracked in strange:
                self._track(tracked)
            self._commit_if_settled()

    def _candidate(self, turn: LlmTurn) -> None:
        if self._turn_id is None:
            self._input((TextPart(text=""),))  # a model's answer stands after something that was said to it
        calls = tuple(self._named(turn.calls))
        self._step_id = self._mint("step")
        self.write(
            j.Candidate(
                turn_id=self._turn_id or "",
                step_id=self._step_id,
                invocation_id=self._mint("invocation"),
                blocks=turn.blocks,
                calls=calls,
                finish_reason=turn.finish_reason,
                usage=turn.usage,
                attempts=0,  # no try was made here
            )
        )
        self._batch = [_Open(made.call_id, call) for made, call in zip(calls, turn.calls, strict=True)]

    def leave_open(self) -> None:
        """The end of the file: what has no result yet waits for somebody."""
        if not self._batch:
            return
        waiting = [one for one in self._batch if not one.finished]
        for one in waiting:
            self._leave(one)
        ids = tuple(one.call_id for one in waiting)
        self.write(j.Waiting(turn_id=self._turn_id or "", step_id=self._step_id, call_ids=ids))
        if self._later:
            self.write(j.InputQueued(input_id=self._mint("input"), delivery="interrupt", parts=self._later))

    def _leave(self, one: _Open) -> None:
        tool = self._agent.tools.get(one.call.tool)
        reason = one.tracked.reason if one.tracked and one.tracked.reason else PENDING_REASON
        self.write(
            j.CallDecided(
                call_id=one.call_id,
                token=derive(self._entropy, f"token:{one.call_id}")[:16].hex(),
                disposition=Defer(reason=reason),
                reason=reason,
                runnable=False,
                policy_hash=self._agent.policy_hash,
                tool_hash=tool.hash if tool else sha256_hex({"kind": "external", "name": one.call.tool}),
                config_hash=self._agent.config_hash,
            )
        )
        if one.tracked is not None and one.tracked.state == "started":
            invocation = self._mint("invocation")
            hashed = sha256_hex(one.call.arguments)
            self.write(j.CallStarted(call_id=one.call_id, invocation_id=invocation, arguments_hash=hashed))

    def _track(self, tracked: Tracked) -> bool:
        """Whether there is a call that this is said of."""
        same = (one for one in self._batch if one.call.id == tracked.call.id and one.tracked is None)
        one = next(same, None)
        if one is None:
            return False
        one.tracked = tracked
        if tracked.state in ("completed", "failed"):
            outcome = "completed" if tracked.state == "completed" else "failed"
            self._finish(one, j.CallFinished(call_id=one.call_id, outcome=outcome, output=tracked.result))
        return True

    def _finish(self, one: _Open, finished: j.CallFinished) -> None:
        one.finished = True
        self.write(finished)

    def _close_batch(self) -> None:
        """The file goes on without these results."""
        for one in self._batch:
            if not one.finished:
                self._finish(one, j.CallFinished(call_id=one.call_id, outcome="cancelled", output=NO_RESULT))
        self._commit_if_settled()

    def _commit_if_settled(self) -> None:
        if not self._batch or not all(one.finished for one in self._batch):
            return
        ids = tuple(one.call_id for one in self._batch)
        self.write(j.ToolResults(turn_id=self._turn_id or "", step_id=self._step_id, call_ids=ids))
        self._batch = []
        if self._later:
            self._input(self._later)
            self._later = ()

    def _input(self, parts: tuple[Part, ...]) -> None:
        self._turn_id = self._turn_id or self._mint("turn")
        self.write(j.Input(turn_id=self._turn_id, input_id=self._mint("input"), parts=parts))

    def _named(self, calls: tuple[FileCall, ...]) -> Iterator[ProposedCall]:
        """The calls under ids that are unique in the session, as for a model that answers here."""
        here: set[str] = set()
        for index, call in enumerate(calls):
            fault = "tool/invalid-call-id" if not call.id else "tool/duplicate-call-id" if call.id in here else None
            here.add(call.id)
            ours = fault is not None or call.id in self._call_ids
            call_id = self._mint(f"call:{index}") if ours else call.id
            self._call_ids.add(call_id)
            yield ProposedCall(call_id=call_id, tool=call.tool, arguments=call.arguments, fault=fault)

    def _mint(self, label: str) -> str:
        return ulid(self._millis, derive(self._entropy, f"{label}:{len(self.records)}"))


def title_of(file: SessionFile, otherwise: str) -> str:
    """The first line that a user said, as far as it fits."""
    parts = (part for turn in file.turns if isinstance(turn, UserTurn) for part in turn.parts)
    text = next((part.text for part in parts if isinstance(part, TextPart) and part.text.strip()), "").strip()
    line = text.splitlines()[0] if text else otherwise
    return line if len(line) <= 80 else f"{line[:79]}…"
