"""A model call, as one hook has it in hand."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from enum import Enum
from typing import Literal, NoReturn

from abey.core.conversation import Message, OfferedTool
from abey.extensions.answers import Answer, AnsweredCall
from abey.extensions.capabilities import Capabilities, SessionInfo
from abey.extensions.errors import LateMutation, UnknownTool
from abey.extensions.exchange import Exchange
from abey.protocol.blocks import Block
from abey.protocol.transcript import Question


class Stage(Enum):
    """Where the hook is: it has not asked the model yet, it has, it has returned."""

    BEFORE = "before"
    ASKED = "asked"
    OVER = "over"


class ModelCall:
    """What a hook may see and change. `session` is whose call it is; `capabilities` are the extension's own."""

    def __init__(
        self,
        extension: str,
        exchange: Exchange,
        session: SessionInfo,
        capabilities: Capabilities,
        tools: Mapping[str, OfferedTool | None],
    ) -> None:
        """`tools` are those of the extension, None where another tool of the agent has the name."""
        self.session = session
        self.capabilities = capabilities
        self.stage = Stage.BEFORE
        self._extension = extension
        self._exchange = exchange
        self._tools = tools

    @property
    def system_prompt(self) -> str:
        """With what hooks have added so far."""
        return self._exchange.request.system_prompt

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model is sent, oldest first, with what hooks have added so far: a copy, which changes nothing."""
        return deepcopy(tuple(self._exchange.request.messages))

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the model is offered, with what hooks have added so far."""
        return tuple(tool.name for tool in self._exchange.request.tools)

    def add_instructions(self, text: str) -> None:
        """A paragraph at the end of the system prompt, for this call. Raises LateMutation."""
        self._before("instructions are added")
        self._exchange.instruct(text)

    def add_context(self, text: str) -> None:
        """Something that the model is told as if the user had said it, last, in this call only: the transcript does not
        hold it. Raises LateMutation."""
        self._before("context is added")
        self._exchange.tell(text)

    def add_tool(self, name: str) -> None:
        """Offers a tool of this extension in this call. Nothing where another tool of the agent has its name. Raises
        LateMutation, UnknownTool."""
        self._before("a tool is added")
        if name not in self._tools:
            raise UnknownTool(f"the extension declares no tool {name}")
        tool = self._tools[name]
        if tool is not None:
            self._exchange.offer(tool)
        else:
            self._exchange.hidden.append(name)

    @property
    def answer(self) -> Answer:
        """As the model gave it and the hooks inside left it. Raises NotAnswered."""
        return self._exchange.the_answer

    def deny(self, call: AnsweredCall, reason: str) -> None:
        """The call is not run, and the model is told why. Of several rulings on a call the first counts, the innermost
        hook's, but a denial beats a question. Raises NotAnswered, UnknownCall, LateMutation."""
        self._in_time("a call is denied")
        self._exchange.rule(self._extension, call, reason, None)

    def ask(self, call: AnsweredCall, question: Question) -> None:
        """Somebody is asked before any call of this answer runs. Of kind `approval`: `false` denies the call. Of kind
        `response`: the tool is given what was answered. Raises NotAnswered, UnknownCall, LateMutation, and
        InvalidQuestion for a schema that nobody's answer could be held against."""
        self._in_time("a question is asked")
        self._exchange.rule(self._extension, call, None, question)

    def replace(self, blocks: Sequence[Block] | None = None, keep: Iterable[AnsweredCall] | None = None) -> None:
        """The answer has these blocks and only these of its calls, where given. Raises NotAnswered, LateMutation, and
        InvalidReplacement for calls that it does not have, or where nothing would be left."""
        self._in_time("the answer is replaced")
        self._exchange.replace(blocks, keep)

    def trip(self, message: str, scope: Literal["step", "session"] = "step") -> NoReturn:
        """Ends the turn (`step`) or the session, for this reason, at any time in the hook: nothing of the answer is
        recorded. Raises Tripped, which is to be let go through; LateMutation."""
        self._in_time("a tripwire is tripped")
        raise self._exchange.trip(self._extension, message, scope)

    def _before(self, what: str) -> None:
        if self.stage is not Stage.BEFORE:
            raise LateMutation(f"{what} before `proceed`: the request has gone out")

    def _in_time(self, what: str) -> None:
        if self.stage is Stage.OVER:
            raise LateMutation(f"{what} before the hook returns: it is over")
