"""What a model has answered, as hooks see it."""

import json
from dataclasses import dataclass

from abey.protocol.base import Json
from abey.protocol.blocks import Block
from abey.protocol.session import Usage


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A tool call as the model asked for it: `number` is its place in the model's own answer, `arguments` its text."""

    number: int
    id: str
    tool: str
    arguments: str

    @property
    def value(self) -> Json:
        """What the arguments are; None where the text is no JSON, and then the call is not run."""
        try:
            value: Json = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return None
        return value


@dataclass(frozen=True, slots=True)
class Answer:
    """`blocks` are its text and thinking; `finish_reason` is the provider's word."""

    blocks: tuple[Block, ...]
    calls: tuple[AnsweredCall, ...]
    finish_reason: str
    usage: Usage

    @property
    def text(self) -> str:
        """All that it says, without what it thinks."""
        return "".join(block.text for block in self.blocks if block.type == "text")
