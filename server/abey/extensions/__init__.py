"""The extension API: what a package may give that has an entry point of the group `abey.extensions`.

docs/extensions.md is the way in, with an example.
"""

from abey.core.conversation import (
    AssistantMessage,
    CallMessage,
    Message,
    ResultMessage,
    UserMessage,
)
from abey.errors import ModelFailed
from abey.extensions.answers import Answer, AnsweredCall
from abey.extensions.capabilities import Capabilities, Capability, CapabilityError, SessionInfo, Signal
from abey.extensions.errors import (
    ExtensionError,
    InvalidQuestion,
    InvalidReplacement,
    LateMutation,
    NotAnswered,
    ToolError,
    Tripped,
    UnknownCall,
    UnknownTool,
)
from abey.extensions.extension import Extension, Proceed
from abey.extensions.model_call import ModelCall
from abey.extensions.programs import Program, Start
from abey.extensions.tools import Tool, ToolRun
from abey.protocol.base import Json
from abey.protocol.blocks import Block, TextBlock, ThinkingBlock
from abey.protocol.transcript import Question, TextPart

__all__ = [
    "Answer",
    "AnsweredCall",
    "AssistantMessage",
    "Block",
    "CallMessage",
    "Capabilities",
    "Capability",
    "CapabilityError",
    "Extension",
    "ExtensionError",
    "InvalidQuestion",
    "InvalidReplacement",
    "Json",
    "LateMutation",
    "Message",
    "ModelCall",
    "ModelFailed",
    "NotAnswered",
    "Proceed",
    "Program",
    "Question",
    "ResultMessage",
    "SessionInfo",
    "Signal",
    "Start",
    "TextBlock",
    "TextPart",
    "ThinkingBlock",
    "Tool",
    "ToolError",
    "ToolRun",
    "Tripped",
    "UnknownCall",
    "UnknownTool",
    "UserMessage",
]
