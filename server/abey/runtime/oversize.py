"""What is recorded in place of something that does not fit into a record."""

from dataclasses import replace

from abey.core.conversation import ToolOutcome
from abey.core.events import Event, ModelAnswered, ModelCallFailed, ToolEnded
from abey.errors import TooLarge

FITTING = 64 * 1024
"""Characters of a text's head, and of its tail, that fit into a record however they are spelled in JSON."""


def fitting(event: Event, error: TooLarge) -> Event:
    """A shorter text, or a failure that says what was too large. Raises `error` where neither makes sense."""
    match event:
        case ToolEnded() if isinstance(event.outcome.content, str) and len(event.outcome.content) > 2 * FITTING:
            text = event.outcome.content
            mark = f"\n[… {len(text) - 2 * FITTING} characters left out …]\n"
            shorter = replace(event.outcome, content=text[:FITTING] + mark + text[-FITTING:])
            return ToolEnded(event.invocation_id, shorter)
        case ToolEnded():
            return ToolEnded(event.invocation_id, ToolOutcome(f"tool/too-large: {error.message}", "tool/too-large"))
        case ModelAnswered():
            return ModelCallFailed(event.invocation_id, "invalid-output", error.message, event.answer.attempts)
        case _:
            raise error
