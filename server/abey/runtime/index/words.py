"""What is sought in a session, as words: letters and digits, whatever their case and accents."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from abey.core.call import Call
from abey.core.finding import turns_of_all_lines
from abey.core.seeds import turns_of
from abey.core.session import AnswerEntry, InputEntry, Session, Turn
from abey.errors import InvalidArguments
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.protocol.blocks import Block, ProposedCall, TextBlock
from abey.protocol.outcomes import Error, Result
from abey.protocol.transcript import Part, TextPart

TEXT_LENGTH = 32 * 1024
"""Characters of one input, answer or result that are looked at: of more, the first ones."""
WORD_LENGTH = 64
QUERY_WORDS = 32

_WORD = re.compile(r"[^\W_]+")
_ASCII = "".join(char if char.isalnum() else " " for char in map(chr, range(128)))
"""By their codes, a blank for what is no letter and no digit: most texts are ASCII, and split by this in a tenth of
the time."""


@dataclass(frozen=True, slots=True)
class Query:
    """Words that must all stand in a session; of `beginning` only a beginning must. Without words nothing is sought."""

    whole: tuple[str, ...] = ()
    beginning: str | None = None

    def fits(self, known: frozenset[str]) -> bool:
        """Whether a session with these words is one that is sought."""
        beginning = self.beginning
        return known.issuperset(self.whole) and (
            beginning is None or beginning in known or any(word.startswith(beginning) for word in known)
        )


def query_of(text: str | None) -> Query:
    """What somebody seeks. Nothing in `text` is syntax. Raises InvalidArguments for too many words."""
    words = list(dict.fromkeys(_cut(_split(text or ""))))
    if len(words) > QUERY_WORDS:
        message = f"a query has at most {QUERY_WORDS} words, not {len(words)}; leave some out"
        raise InvalidArguments(message, errors=["query has too many words"])
    return Query(tuple(words[:-1]), words[-1]) if words else Query()


def words_of(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(_cut(set[str]().union(*map(_split, texts))))


def session_texts(session: Session) -> Iterator[str]:
    """All that is sought in a session: the title, inputs, answers with what they call, and results, on all lines."""
    yield session.title
    for turn in turns_of_all_lines(session):
        yield from _turn(turn)


def record_texts(records: Iterable[j.Record]) -> Iterator[str]:
    """What these records add to `session_texts`; a title that is exchanged is not among it."""
    for record in records:
        texts = _TEXTS.get(type(record.data))
        if texts is not None:
            yield from texts(record.data, record)


def _turn(turn: Turn) -> Iterator[str]:
    for entry in turn.entries:
        match entry:
            case InputEntry(repairs=False):
                yield _input(entry.parts)
            case AnswerEntry():
                yield _answer(entry.blocks, entry.calls)
                yield from (text for call in entry.calls for text in _results(call))


def _cut(words: Iterable[str]) -> Iterator[str]:
    return (word[:WORD_LENGTH] for word in words)


def _split(text: str) -> list[str]:
    folded = text.casefold()
    if not folded.isascii():
        marks_apart = unicodedata.normalize("NFKD", folded)
        folded = "".join(char for char in marks_apart if not unicodedata.combining(char)).casefold()
    return folded.translate(_ASCII).split() if folded.isascii() else _WORD.findall(folded)


def _input(parts: Sequence[Part]) -> str:
    return _joined(part.text if isinstance(part, TextPart) else part.path or "" for part in parts)


def _answer(blocks: Sequence[Block], calls: Sequence[ProposedCall] | Sequence[Call]) -> str:
    said = (block.text for block in blocks if isinstance(block, TextBlock))
    return _joined((*said, *(f"{call.tool} {call.arguments}" for call in calls)))


def _results(call: Call) -> Iterator[str]:
    if call.finished is not None:
        yield _flat(call.finished.output)
    if call.resolution is not None and isinstance(call.resolution.outcome, Result | Error):
        yield _outcome(call.resolution.outcome)


def _resolved(data: j.CallResolved) -> Sequence[str]:
    return [_outcome(data.outcome)] if isinstance(data.outcome, Result | Error) else []


def _outcome(outcome: Result | Error) -> str:
    return outcome.message[:TEXT_LENGTH] if isinstance(outcome, Error) else _flat(outcome.content)


def _flat(value: Json) -> str:
    return _joined(_strings(value))


def _strings(value: Json) -> Iterator[str]:
    """The strings and numbers in a JSON value, without the names of members."""
    match value:
        case str():
            yield value
        case dict():
            for member in value.values():
                yield from _strings(member)
        case list() | tuple():
            for member in value:
                yield from _strings(member)
        case int() | float():
            yield str(value)


def _joined(texts: Iterable[str]) -> str:
    """The texts in a row, as many of their characters as are looked at."""
    taken: list[str] = []
    room = TEXT_LENGTH
    for text in texts:
        taken.append(text[:room])
        room -= len(text) + 1
        if room <= 0:
            break
    return " ".join(taken)


# found by its type at once, as what a record does to its session is
_TEXTS: Mapping[type[j.RecordData], Callable[[Any, j.Record], Iterable[str]]] = {
    j.Created: lambda data, _: [data.title],
    j.Input: lambda data, _: [_input(data.parts)] if data.repairs is None else [],
    j.Candidate: lambda data, _: [_answer(data.blocks, data.calls)],
    j.CallFinished: lambda data, _: [_flat(data.output)],
    j.CallResolved: lambda data, _: _resolved(data),
    j.Seeded: lambda data, record: (text for turn in turns_of(data.seed, record) for text in _turn(turn)),
}
