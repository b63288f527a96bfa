"""What a model reads of a session, in the plain form that all providers share."""

from typing import Any

from abey.core.conversation import AssistantMessage, Message, ResultMessage
from abey.core.history import history
from abey.core.session import Session
from abey.runtime.models.contents import result_parts


def read_by_a_model(session: Session) -> list[Any]:
    return [_plain(message) for message in history(session)]


def _plain(message: Message) -> Any:
    match message:
        case ResultMessage():
            return (message.call_id, [part.wire() for part in result_parts(message.content)], message.is_error)
        case AssistantMessage():
            return ([block.wire() for block in message.blocks], [(one.call_id, one.arguments) for one in message.calls])
        case _:
            return [part.wire() for part in message.parts]
