"""Long sessions: when the oldest part of a history is told to the model in a few words (agent-file.md, Long sessions).

The journal keeps all of it. What is summed up ends between entries, so that a call stays with its result.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate

from abey.core.agent import Agent
from abey.core.conversation import AssistantMessage, Message, ModelRequest, ResultMessage, UserMessage
from abey.core.history import Cut, entry_messages, history_between, sent_entries, sent_newest_first, summed_up
from abey.core.offering import offered_tools
from abey.core.session import AnswerEntry, Entry, NoteEntry, Session
from abey.protocol.base import canonical_json
from abey.protocol.transcript import MediaPart, Part, TextPart

BYTES_A_TOKEN = 4
"""A rule of thumb for text; what the model says it was sent counts instead, as soon as it has."""
TOKENS_A_MESSAGE = 8
TOKENS_A_MEDIUM = 1500
REQUEST = (
    "Sum up the conversation so far for yourself: it will be replaced by your summary. Keep what was asked for, what "
    "was decided and done, names, paths, numbers, open questions and whatever else is needed to go on. "
    "Answer with the summary alone, and call no tool."
)


def due(session: Session, agent: Agent) -> Cut | None:
    """Up to where a model should sum up the history now; None where it need not, or cannot. A history that is far too
    long, such as one of elsewhere, is summed up a part at a time: each is no longer than a request may be."""
    plan = agent.compaction
    if plan is None or estimate(session, agent) < plan.at_tokens:
        return None
    known = _tokens(agent.system_prompt) + _tokens(summed_up(session))
    # never a few entries at a time: where so much is always sent, that would cost more than it saves
    return _cut(session, plan.keep_tokens, max(plan.at_tokens - known, plan.at_tokens // 2))


def summary_request(session: Session, agent: Agent, up_to: Cut) -> ModelRequest:
    """The request whose answer is the summary of everything up to there."""
    messages = list(history_between(session, up_to))
    ask = TextPart(text=REQUEST)
    if messages and isinstance(messages[-1], UserMessage):
        messages[-1] = UserMessage((*messages[-1].parts, ask))
    else:
        messages.append(UserMessage((ask,)))
    return ModelRequest(agent.system_prompt, tuple(messages), offered_tools(agent), session.tries)


def estimate(session: Session, agent: Agent) -> int:
    """About how many tokens the next model call sends."""
    tokens = session.context_tokens
    if tokens is None:
        known = _tokens(agent.system_prompt) + _tokens(summed_up(session))
        return known + sum(_entry_tokens(entry) for entry in sent_entries(session))
    for entry in sent_newest_first(session):
        if isinstance(entry, AnswerEntry):
            return tokens + _message_tokens(_results(entry))
        tokens += _entry_tokens(entry)
    return tokens


def _cut(session: Session, keep_tokens: int, most_tokens: int) -> Cut | None:
    """Behind the last entry that is not kept; or within the record of a seed, where all up to that are more than so
    many tokens: no model here was ever sent it whole. The last entry is always kept, and the first one is not."""
    entries = [entry for entry in sent_entries(session) if not isinstance(entry, NoteEntry)]
    tokens = [_entry_tokens(entry) for entry in entries]
    kept = enumerate(accumulate(reversed(tokens)))
    last = next((len(tokens) - 1 - newer for newer, total in kept if newer and total > keep_tokens), None)
    if last is None:
        return None
    told = enumerate(accumulate(tokens[: last + 1]))
    part = max((index for index, total in told if total <= most_tokens), default=0)
    cut = part if _one_record(entries, part) else last
    return Cut(entries[cut].revision, entries[cut].place if _one_record(entries, cut) else None)


def _one_record(entries: Sequence[Entry], index: int) -> bool:
    """Whether the entry and the next one are of one record."""
    return entries[index].revision == entries[index + 1].revision


def _results(entry: Entry) -> tuple[Message, ...]:
    return tuple(message for message in entry_messages(entry) if isinstance(message, ResultMessage))


def _entry_tokens(entry: Entry) -> int:
    return _message_tokens(entry_messages(entry))


def _message_tokens(messages: Iterable[Message]) -> int:
    return sum(TOKENS_A_MESSAGE + sum(_tokens(text) for text in _texts(message)) for message in messages)


def _texts(message: Message) -> Iterable[str | Part]:
    match message:
        case UserMessage():
            return message.parts
        case AssistantMessage():
            calls = (text for call in message.calls for text in (call.tool, call.arguments))
            return (*(block.text for block in message.blocks), *calls)
        case ResultMessage():
            told = message.content
            return (told if isinstance(told, str) else canonical_json(told).decode("ascii"),)


def _tokens(text: str | Part) -> int:
    match text:
        case str():
            return math.ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_A_TOKEN)
        case TextPart():
            return _tokens(text.text)
        case MediaPart():
            return TOKENS_A_MEDIUM
        case _:
            return TOKENS_A_MESSAGE
