"""An extension that does what the user's last word says, for the tests of a whole daemon."""

import asyncio

from abey.extensions import (
    Capability,
    Extension,
    Json,
    ModelCall,
    Proceed,
    Question,
    SessionInfo,
    Signal,
    TextBlock,
    TextPart,
    Tool,
    ToolError,
    ToolRun,
    UserMessage,
)

COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
ANYTHING = {"type": "object"}


async def told(run: ToolRun) -> Json:
    return {"answer": run.answer}


async def wonder(run: ToolRun) -> Json:
    run.tell("I wonder")
    return {"heard": await run.ask(Question(kind="approval", prompt="Is it so?"))}


async def fail(run: ToolRun) -> Json:
    raise ToolError("not today")


async def count(run: ToolRun) -> Json:
    """How many calls of this session have come here."""
    counter: list[str] = await run.capabilities.get("counter")
    counter.append(run.call_id)
    return len(counter)


async def create(session: SessionInfo, signal: Signal) -> list[str]:
    return []


async def refuse(session: SessionInfo, signal: Signal) -> None:
    raise OSError("out of order")


async def never() -> None:
    """Whatever is done to it."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


def word_of(call: ModelCall) -> str:
    asked = [part for message in call.messages if isinstance(message, UserMessage) for part in message.parts]
    words = [part.text for part in asked if isinstance(part, TextPart)]
    return words[-1].split()[-1]


class Guard(Extension):
    capabilities = (Capability("counter", create), Capability("broken", refuse))
    tools = tuple(
        Tool(run.__name__, run.__name__, ANYTHING, run, destructive=run is fail) for run in (told, wonder, fail, count)
    )

    async def around(self, call: ModelCall, proceed: Proceed) -> None:
        word = word_of(call)
        for tool in self.tools:
            if word != "withheld":
                call.add_tool(tool.name)
        match word:
            case "early":
                call.trip("not even asked")
            case "hang":
                await asyncio.Event().wait()
            case "stubborn":
                await never()
            case "context":
                call.add_context(f"the session is of {call.session.agent}")
            case "capability":
                await call.capabilities.get("broken")
        await proceed()
        self.judge(call, word)

    def judge(self, call: ModelCall, word: str) -> None:
        match word:
            case "step" | "session":
                call.trip(f"a {word} too far", "step" if word == "step" else "session")
            case "raise":
                raise ValueError("secret")
            case "late":
                call.add_instructions("too late")
            case "replace":
                call.replace(blocks=[TextBlock(text="only this")], keep=call.answer.calls[:1])
            case "colour":
                for asked in call.answer.calls:
                    call.ask(asked, Question(kind="response", prompt="Which colour?", schema=COLOUR))
            case "sure":
                for asked in call.answer.calls:
                    call.ask(asked, Question(kind="approval", prompt="Really?\u202e"))
            case "deny":
                for asked in call.answer.calls:
                    call.deny(asked, "not here")
