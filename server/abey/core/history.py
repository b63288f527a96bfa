"""From a transcript to what a model is sent: every call closed exactly once, in its place."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from abey.core.call import Call
from abey.core.conversation import AssistantMessage, CallMessage, Message, ResultMessage, UserMessage
from abey.core.once import once
from abey.core.portable import messages_of
from abey.core.rows import Fold, Row
from abey.core.session import AnswerEntry, Entry, InputEntry, NoteEntry, Session, Turn
from abey.protocol.base import Json, sha256_hex
from abey.protocol.outcomes import Answer
from abey.protocol.transcript import TextPart
from abey.shared.values import dataclass

SUMMARY = "[The conversation up to here, summed up]"
REJECTED = "Approval rejected"
"""Why a call was denied that somebody said no to before it ran."""
_USER = "user"


@dataclass(frozen=True, slots=True)
class Cut:
    """A place between two entries. What came up to that revision stands before it; of the entries of that record itself
    only those up to `place`, where it has more."""

    revision: int
    place: int | None = None

    def covers(self, entry: Entry) -> bool:
        """Whether the entry stands before it."""
        if entry.revision != self.revision or self.place is None:
            return entry.revision <= self.revision
        return entry.place <= self.place


def history(session: Session) -> Sequence[Message]:
    """Every message that a model is sent, oldest first: the last summary, then all that came after what it sums up.

    Legal for the strictest provider in every state. Where nothing was summed up it is a row, which shares with those of
    other revisions what turns that had ended then have told.
    """
    if session.compacted is not None:
        return history_between(session, None)
    turns = session.turns
    told = turns.begun(_TOLD)
    messages = list(told.tail)
    for turn in turns.tail:
        _extend(messages, _messages(turn))
    return told.then((), tuple(messages))


def history_between(session: Session, up_to: Cut | None) -> tuple[Message, ...]:
    """The same, of the entries before `up_to`."""
    messages: list[Message] = []
    summary = summed_up(session)
    if summary:
        messages.append(UserMessage((TextPart(text=summary),)))
    _extend(messages, (one for entry in sent_entries(session, up_to) for one in entry_messages(entry)))
    return tuple(messages)


def summed_up(session: Session) -> str:
    """What the model is told in place of what was summed up; empty where nothing was."""
    return f"{SUMMARY}\n\n{session.compacted.summary}" if session.compacted else ""


def sent_entries(session: Session, up_to: Cut | None = None) -> tuple[Entry, ...]:
    """The entries that are sent as they are, oldest first; only those before `up_to`."""
    after = _summed(session)
    behind = bisect_left(session.turns, after.revision, key=_last_rev)  # what stands before it is summed up
    return tuple(
        entry
        for turn in session.turns[behind:]
        for entry in turn.entries
        if not after.covers(entry) and (up_to is None or up_to.covers(entry))
    )


def sent_newest_first(session: Session) -> Iterator[Entry]:
    """The same, newest first: who wants a few of them looks at no more."""
    after = _summed(session)
    entries = (entry for turn in reversed(session.turns) for entry in reversed(turn.entries))
    return takewhile(lambda entry: not after.covers(entry), entries)


def turn_messages(entries: Iterable[Entry]) -> tuple[Message, ...]:
    """The messages of one turn; neighbouring inputs are one message."""
    return _joined(message for entry in entries for message in entry_messages(entry))


def entry_messages(entry: Entry) -> tuple[Message, ...]:
    """What an entry tells a model: an answer stands with the results of its calls."""
    match entry:
        case InputEntry():
            return (UserMessage(entry.parts),)
        case AnswerEntry():
            calls = tuple([CallMessage(call.call_id, call.tool, call.arguments) for call in entry.calls])
            return (AssistantMessage(entry.blocks, calls), *map(result_of, entry.calls))
        case NoteEntry():
            return messages_of(entry.told)


def turn_digest(before: str, entries: Iterable[Entry]) -> str:
    """A hash of the messages of these entries and, through `before`, of all earlier ones. The text of an entry is read
    once, however often it is asked for."""
    told: list[list[str]] = []
    for entry in entries:
        for _, *hashed in _read(entry):
            if told and told[-1][0] == hashed[0] == _USER:
                told[-1] += hashed[1:]
            else:
                told.append(hashed)
    return sha256_hex([before, told])


def turn_told(before: str, entries: Sequence[Entry]) -> tuple[tuple[Message, ...], str]:
    """The messages of a turn that ends, and its digest."""
    return _joined([read[0] for entry in entries for read in _read(entry)]), turn_digest(before, entries)


def digest_before(session: Session) -> str:
    """The digest of the last turn that has ended, empty without one. Every turn but the last has ended."""
    last, turns = session.turns.last, session.turns
    if last is None or last.end is not None:
        return last.digest if last is not None else ""
    return turns[-2].digest if len(turns) > 1 else ""


def request_hash(session: Session) -> str:
    """The hash of the history that a model call made now would send: as many digits as tell it from any other."""
    return _request_digest(session)[:32]


def _request_digest(session: Session) -> str:
    turn = session.open_turn
    digest = turn_digest(digest_before(session), turn.entries if turn is not None else ())
    compacted = session.compacted
    if compacted is None:
        return digest
    place = () if compacted.place is None else (compacted.place,)
    return sha256_hex([digest, compacted.up_to, *place, compacted.summary])


def result_of(call: Call) -> ResultMessage:
    """The one result a model is told for `call`, in whatever state it is."""
    content, is_error = _told(call)
    return ResultMessage(call.call_id, call.tool, _mended(content), is_error)


def _summed(session: Session) -> Cut:
    """Where what was summed up ends."""
    compacted = session.compacted
    return Cut(0) if compacted is None else Cut(compacted.up_to, compacted.place)


def _last_rev(turn: Turn) -> int:
    """The revision of its last entry; of one that has none, that it began with."""
    return turn.entries[-1].revision if turn.entries else turn.began_rev


def _messages(turn: Turn) -> tuple[Message, ...]:
    if turn.end is not None:
        return turn.messages
    return _joined([read[0] for entry in turn.entries for read in _read(entry)])


def _tell(told: Row[Message], turn: Turn) -> Row[Message]:
    """With the messages of one more turn. What a user has said last stays in the tail: more of it may follow."""
    messages = list(told.tail)
    _extend(messages, _messages(turn))
    settled = len(messages) - isinstance(messages[-1] if messages else None, UserMessage)
    return told.then(messages[:settled], tuple(messages[settled:]))


_TOLD: Fold[Turn, Row[Message]] = Fold(Row(), _tell)


def _joined(told: Iterable[Message]) -> tuple[Message, ...]:
    messages: list[Message] = []
    _extend(messages, told)
    return tuple(messages)


def _extend(messages: list[Message], more: Iterable[Message]) -> None:
    for message in more:
        if isinstance(message, UserMessage) and messages and isinstance(last := messages[-1], UserMessage):
            messages[-1] = UserMessage(last.parts + message.parts)
        else:
            messages.append(message)


def _told(call: Call) -> tuple[Json, bool]:
    if call.finished is not None:
        return call.finished.output, call.finished.outcome != "completed"
    resolution = call.resolution.outcome if call.resolution else None
    match call.state:
        case "completed":
            return getattr(resolution, "content", ""), False
        case "failed":
            return getattr(resolution, "message", ""), True
        case "denied":
            message = REJECTED if isinstance(resolution, Answer) else getattr(resolution, "message", None)
            return f"denied by user: {message}" if message else "denied by user", True
        case "cancelled":
            return _with_doubt("cancelled by user", call), True
        case "expired":
            return "nobody answered in time; the call was not run", True
        case _:
            return _with_doubt("interrupted before it had a result", call), True


def _mended(content: Json) -> Json:
    """`content` with U+FFFD for each half of a surrogate pair: JSON may hold one, and providers refuse it."""
    match content:
        case str():
            mended = content.isascii()
            return content if mended else content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_mended(key): _mended(value) for key, value in content.items()}
        case list():
            return [_mended(value) for value in content]
        case _:
            return content


def _with_doubt(text: str, call: Call) -> str:
    return f"{text}; {call.fate}"


@once
def _read(entry: Entry) -> tuple[tuple[Message, *tuple[str, ...]], ...]:
    """The messages of an entry, each with whose it is and the hashes of its parts."""
    return tuple([(message, *_hashed(message)) for message in entry_messages(entry)])


def _hashed(message: Message) -> tuple[str, ...]:
    match message:
        case UserMessage():
            return (_USER, *[sha256_hex(part.wire()) for part in message.parts])
        case AssistantMessage():
            calls = [[call.call_id, call.tool, call.arguments] for call in message.calls]
            return ("assistant", sha256_hex([[block.wire() for block in message.blocks], calls]))
        case ResultMessage():
            return ("result", sha256_hex([message.call_id, message.content, message.is_error]))
