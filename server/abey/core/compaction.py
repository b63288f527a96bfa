"""Long sessions: when the oldest part of a history is told to the model in a few words (agent-file.md, Long sessions).

The journal keeps all of it. What is summed up ends between entries, so that a call stays with its result.
"""

import math
from collections.abc import Iterable

from abey.core.agent import Agent
from abey.core.conversation import AssistantMessage, Message, ModelRequest, OfferedTool, ResultMessage, UserMessage
from abey.core.history import entry_messages, history, sent_entries, summed_up
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


def due(session: Session, agent: Agent) -> int | None:
    """The revision up to which a model should sum up the history now; None where it need not, or cannot."""
    plan = agent.compaction
    if plan is None or estimate(session, agent) < plan.at_tokens:
        return None
    return _cut(session, plan.keep_tokens)


def summary_request(session: Session, agent: Agent, up_to: int) -> ModelRequest:
    """The request whose answer is the summary of everything up to that revision."""
    messages = list(history(session, up_to))
    ask = TextPart(text=REQUEST)
    if messages and isinstance(messages[-1], UserMessage):
        messages[-1] = UserMessage((*messages[-1].parts, ask))
    else:
        messages.append(UserMessage((ask,)))
    tools = tuple(OfferedTool(tool.name, tool.description, tool.parameters) for tool in agent.tools.values())
    return ModelRequest(agent.system_prompt, tuple(messages), tools, session.tries)


def estimate(session: Session, agent: Agent) -> int:
    """About how many tokens the next model call sends."""
    entries = sent_entries(session)
    if session.context_tokens is None:
        known = _tokens(agent.system_prompt) + _tokens(summed_up(session))
        return known + sum(_entry_tokens(entry) for entry in entries)
    last = max((index for index, entry in enumerate(entries) if isinstance(entry, AnswerEntry)), default=-1)
    since = _message_tokens(_results(entries[last])) if last >= 0 else 0
    return session.context_tokens + since + sum(_entry_tokens(entry) for entry in entries[last + 1 :])


def _cut(session: Session, keep_tokens: int) -> int | None:
    """The revision of the last entry that is not kept. The last entry always is."""
    entries = [entry for entry in sent_entries(session) if not isinstance(entry, NoteEntry)]
    kept = 0
    for index in range(len(entries) - 1, 0, -1):
        kept += _entry_tokens(entries[index])
        earlier = kept + _entry_tokens(entries[index - 1])
        if earlier > keep_tokens:
            return entries[index - 1].revision
    return None


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
