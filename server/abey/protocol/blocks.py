"""What a model says: its blocks, and the calls it asks for."""

from typing import Annotated, Literal

from pydantic import Field

from abey.protocol.base import Json, Wire


class TextBlock(Wire):
    type: Literal["text"] = "text"
    text: str


class ThinkingBlock(Wire):
    """`signature` and `opaque` are the provider's, sent back as they came."""

    type: Literal["thinking"] = "thinking"
    text: str
    signature: str | None = None
    opaque: Json = None


Block = Annotated[TextBlock | ThinkingBlock, Field(discriminator="type")]


class ProposedCall(Wire):
    """A call as the model asked for it. `arguments` is the model's own text; `fault` says why it cannot be run."""

    call_id: str
    tool: str
    arguments: str
    fault: str | None = None
