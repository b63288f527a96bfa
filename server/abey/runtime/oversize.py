"""What is recorded in place of something that does not fit into a record: too many small parts, or too many levels."""

from abey.core.conversation import ToolOutcome
from abey.core.events import Event, ModelAnswered, ModelCallFailed, ToolEnded
from abey.errors import TooLarge


def fitting(event: Event, error: TooLarge) -> Event:
    """A failure that says what was too large. Raises `error` where that makes no sense."""
    match event:
        case ToolEnded():
            return ToolEnded(event.invocation_id, ToolOutcome(f"tool/too-large: {error.message}", "tool/too-large"))
        case ModelAnswered():
            return ModelCallFailed(event.invocation_id, "invalid-output", error.message, event.answer.attempts)
        case _:
            raise error
