"""The turns that a portable transcript tells of (core/seeds.py)."""

import re

from abey.core.call import Call, CallState
from abey.core.history import turn_told
from abey.core.ids import key_id
from abey.core.portable import CANCELLED, blocks_of, calls_of, content_of, final_text, parts_of
from abey.core.session import AnswerEntry, Entry, InputEntry, NoteEntry, Turn
from abey.protocol import journal as j
from abey.protocol import seeds as s
from abey.protocol.base import Timestamp
from abey.protocol.blocks import Block, TextBlock
from abey.protocol.session import TurnEnd
from abey.shared.values import replace

_USABLE_ID = re.compile(r"(?![0-9]*\Z)[!-~]{1,128}")
"""An id of elsewhere that can be one of ours. Digits alone are a revision."""


class _Asked:
    """The calls of an answer that stands at `index` of its turn, while one of them has no result; `told` is what the
    transcript has said of them. They are put back into the answer once, however many entries have their results."""

    def __init__(self, index: int, calls: tuple[Call, ...], told: s.SeedEntry) -> None:
        self.index = index
        self.told = [told]
        self.heard = False
        self._calls = list(calls)
        self._places = {call.call_id: place for place, call in enumerate(calls)}
        self._last = -1
        self._left = len(calls)

    @property
    def all_closed(self) -> bool:
        return not self._left

    def close(self, entry: s.SeedResults, at: Timestamp) -> bool:
        """Whether its results are of these calls and in their order; if not, the calls are of no more use."""
        for result in entry.results:
            place = self._places.get(result.call_id, -1)
            if place <= self._last:
                return False
            self._calls[place] = _finished(self._calls[place], result, at)
            self._last, self._left, self.heard = place, self._left - 1, True
        self.told.append(entry)
        return True

    def into(self, answer: AnswerEntry, rev: int) -> AnswerEntry:
        """The answer with its calls as they are now."""
        dispatched, committed = rev if self.heard else None, rev if self.all_closed else None
        return replace(answer, calls=tuple(self._calls), dispatched_rev=dispatched, committed_rev=committed)


class Telling:
    """The turns so far, and the last one, which may go on; `_asked` while calls of its last answer have no results."""

    def __init__(self, record: j.Record) -> None:
        self._rev, self._at = record.rev, record.at
        self._names = _Names(record.rev)
        self._call_ids: set[str] = set()
        self._turns: list[Turn] = []
        self._turn: Turn | None = None
        self._their_turn = ""
        self._entries: list[Entry] = []
        self._asked: _Asked | None = None
        self._places = 0

    def take(self, entry: s.SeedEntry) -> None:
        ours = self._asked is not None and isinstance(entry, s.SeedResults)  # whatever turn they say they are of
        if self._turn is None or not (ours or self._their_turn == entry.turn_id):
            self._begin(entry.turn_id)
        match entry:
            case s.SeedInput(event=s.MessageEvent() as event):
                self._leave_open()
                name, place = self._names.ours("input"), self._place()
                self._entries.append(InputEntry(name, parts_of(event), self._rev, self._at, place=place))
            case s.SeedInput():
                self._note("a question was answered before the session came here", entry)
            case s.SeedCandidate():
                self._leave_open()
                self._answer(entry)
            case s.SeedResults():
                self._results(entry)
            case s.SeedFinal():
                self._leave_open()
                self._final(entry)

    def turns(self, turn_count: int) -> tuple[Turn, ...]:
        """All of them, under their numbers; the last one is open unless it has ended."""
        if self._turn is not None:
            self._put_back()
            self._turns.append(replace(self._turn, entries=tuple(self._entries)))
        before = max(0, turn_count - len(self._turns))
        return tuple(replace(turn, n=before + number) for number, turn in enumerate(self._turns, 1))

    def _begin(self, turn_id: str) -> None:
        if self._turn is not None:
            self._leave_open()
            self._end("answered" if self._is_answered() else "cancelled")
        self._their_turn = turn_id
        self._turn = Turn(self._names.like("turn", turn_id), 0, self._at, began_rev=self._rev)

    def _end(self, end: TurnEnd) -> None:
        if self._turn is None:
            return
        messages, digest = turn_told(self._turns[-1].digest if self._turns else "", self._entries)
        whole = replace(self._turn, entries=tuple(self._entries), messages=messages, digest=digest)
        self._turns.append(replace(whole, end=end, ended_at=self._at, ended_rev=self._rev))
        self._turn, self._entries = None, []

    def _is_answered(self) -> bool:
        last = self._entries[-1] if self._entries else None
        return isinstance(last, AnswerEntry) and not last.calls

    def _answer(self, entry: s.SeedCandidate) -> None:
        asked = calls_of(entry.candidate)
        ids = {call.call_id for call in asked}
        if len(ids) < len(asked) or ids & self._call_ids:
            self._note("an answer with calls whose ids are not their own", entry)
            return
        self._call_ids |= ids
        calls = tuple(Call(call.call_id, call.tool, call.arguments, left_open=True) for call in asked)
        self._append(entry.step_id, blocks_of(entry.candidate), calls, entry.candidate.finish_reason)
        self._asked = _Asked(len(self._entries) - 1, calls, entry) if calls else None

    def _results(self, entry: s.SeedResults) -> None:
        if self._asked is None or not self._asked.close(entry, self._at):
            self._leave_open()
            self._note("results of no calls, or out of their place", entry)
        elif self._asked.all_closed:
            self._put_back()
            self._asked = None

    def _put_back(self) -> None:
        """The last answer has its calls as they are by now."""
        if self._asked is not None:
            answer = self._entries[self._asked.index]
            assert isinstance(answer, AnswerEntry)
            self._entries[self._asked.index] = self._asked.into(answer, self._rev)

    def _final(self, entry: s.SeedFinal) -> None:
        """Without its candidate it is all that is known of the answer."""
        if not self._is_answered():
            self._append(entry.step_id, (TextBlock(text=final_text(entry.output)),), (), None)
        self._end("answered")

    def _append(self, step_id: str, blocks: tuple[Block, ...], calls: tuple[Call, ...], reason: str | None) -> None:
        reason = reason or ("tool_calls" if calls else "stop")
        step = self._names.like("step", step_id)
        answer = AnswerEntry(step, blocks, calls, reason, self._rev, self._at, place=self._place())
        self._entries.append(answer)

    def _leave_open(self) -> None:
        """The transcript goes on without the results of the last answer: it stays as it came."""
        asked, self._asked = self._asked, None
        if asked is None:
            return
        after = self._entries[asked.index + 1 :]
        del self._entries[asked.index :]
        for told in asked.told:
            self._note("an answer with calls that nobody has closed, or what was said of them", told)
        self._entries += (replace(one, place=self._place()) for one in after)

    def _note(self, text: str, entry: s.SeedEntry) -> None:
        note = NoteEntry(f"as the seed has it: {text}", self._rev, self._at, told=(entry,), place=self._place())
        self._entries.append(note)

    def _place(self) -> int:
        """Entries that stand behind others have higher ones."""
        self._places += 1
        return self._places - 1


class _Names:
    """Ids that stand once in the session, and which a replay finds again, also that of a copy."""

    def __init__(self, rev: int) -> None:
        self._rev = rev
        self._taken: set[tuple[str, str]] = set()
        self._made = 0

    def like(self, kind: str, wanted: str) -> str:
        """The one that the transcript has, if it can be one of ours."""
        if _USABLE_ID.fullmatch(wanted) and (kind, wanted) not in self._taken:
            self._taken.add((kind, wanted))
            return wanted
        return self.ours(kind)

    def ours(self, kind: str) -> str:
        self._made += 1
        return key_id(f"seed {self._rev} {kind} {self._made}")


def _finished(call: Call, result: s.CompletedResult | s.DeniedResult | s.FailedResult, at: Timestamp) -> Call:
    code = result.code if isinstance(result, s.FailedResult) else None
    state: CallState = "cancelled" if code == CANCELLED else result.kind
    error = code if state == "failed" else None
    finished = j.CallFinished(call_id=call.call_id, outcome=state, output=content_of(result), error=error)
    return replace(call, state=state, left_open=False, finished=finished, ended_at=at)
