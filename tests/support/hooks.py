"""Model calls for hooks: what is asked, what is answered, and extensions that are installed without a package."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from abey.core.conversation import AskedCall, Message, ModelAnswer, ModelRequest, UserMessage
from abey.extensions import Capabilities, CapabilityError, Extension, ModelCall, Proceed, SessionInfo
from abey.protocol.blocks import TextBlock
from abey.protocol.session import Usage
from abey.protocol.transcript import TextPart
from abey.runtime.extending.installed import Found, installed

SESSION = SessionInfo("s1", "a", "/tmp")


class _None:
    def has(self, capability_id: str) -> bool:
        return False

    async def get(self, capability_id: str) -> Any:
        raise CapabilityError("capability/undeclared", f"no capability {capability_id} is declared")


NO_CAPABILITIES: Capabilities = _None()

Around = Callable[[ModelCall, Proceed], Awaitable[None]]


def user(*texts: str) -> UserMessage:
    return UserMessage(tuple(TextPart(text=text) for text in texts))


def request(text: str = "q", system: str = "sys", messages: Sequence[Message] | None = None) -> ModelRequest:
    return ModelRequest(system, (user(text),) if messages is None else tuple(messages), (), 0)


def asked(tool: str, number: int = 0) -> AskedCall:
    return AskedCall(f"c{number}", tool, f'{{"x":"{number}"}}')


def given(*tools: str, text: str = "hi") -> ModelAnswer:
    """An answer that asks for these tools, in this order."""
    blocks = (TextBlock(text=text),) if text else ()
    calls = tuple(asked(tool, number) for number, tool in enumerate(tools))
    return ModelAnswer(blocks, calls, "tool_calls" if calls else "stop", Usage(input_tokens=3, output_tokens=2))


def hooked(name: str, around: Around, **declared: Any) -> Found:
    """An extension whose hook is `around`."""

    class Hooked(Extension):
        async def around(self, call: ModelCall, proceed: Proceed) -> None:
            await around(call, proceed)

    extension = Hooked()
    for member, value in declared.items():
        setattr(extension, member, value)
    return installed(name, "it 1.0", lambda: extension)
