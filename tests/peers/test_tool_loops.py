"""aimock as the provider: calls, an approval, results that go back, and the history that each request tells again."""

import json
from typing import Any

import pytest
from support.e2e import Place, deferred
from support.peers import WIRES, Server, model_at

from abey.core.conversation import ModelAnswer, ModelRequest, OfferedTool, UserMessage
from abey.protocol.config import HttpModel
from abey.protocol.transcript import TextPart
from abey.runtime.clock import SystemClock
from abey.runtime.models.asking import Asking
from abey.runtime.models.network import Network

pytestmark = pytest.mark.parametrize("wire", WIRES)


HISTORY = [
    {"role": "system", "content": "test"},
    {"role": "user", "content": "How warm is it?"},
    {
        "role": "assistant",
        "content": "I look at both.",
        "calls": [
            ("call_bump", "bump", {"x": "Grüße 😀"}),
            ("call_sh", "sh", {"command": "echo 21 degrees"}),
        ],
    },
    {"role": "tool", "tool_call_id": "call_bump", "content": "bumped\n"},
    {"role": "tool", "tool_call_id": "call_sh", "content": "21 degrees\n"},
    {"role": "assistant", "content": "It is 21 degrees. ☀"},
    {"role": "user", "content": "And tomorrow?"},
]

OFFERED = tuple(OfferedTool(name, "", {"type": "object"}) for name in ("bump", "sh"))


def agent(place: Place, wire: str, aimock: Server) -> str:
    aimock.post("/__aimock/reset/journal", {})
    return str(place.agent(model=model_at(wire, f"{aimock.url}/v1"), rules=[deferred("sh")]))


def told(aimock: Server) -> list[Any]:
    """The messages of every request, in the form of Chat Completions, into which aimock translates the others."""
    return [entry["body"]["messages"] for entry in aimock.get("/__aimock/journal")]


def folded(messages: list[Any]) -> list[Any]:
    """The messages, with what an assistant said and asked for in one: Responses has an item for each."""
    made: list[Any] = []
    for message in messages:
        said = {name: value for name, value in message.items() if name != "tool_calls"}
        calls = [asked_for(call) for call in message.get("tool_calls") or ()]
        if calls and made[-1]["role"] == "assistant":
            made[-1].setdefault("calls", []).extend(calls)
        else:
            made.append({**said, "calls": calls} if calls else said)
    return made


def asked_for(call: Any) -> tuple[str, str, Any]:
    return (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))


def test_two_calls_one_of_them_approved_go_back_with_their_results(aimock: Server, place: Place, wire: str) -> None:
    file = agent(place, wire, aimock)
    place.abey("run", "--agent-file", file, "-p", "How warm is it?", "--no-input", code=3)
    assert place.ran() == 1
    [pending] = place.json("session", "pending")["items"]
    assert (pending["tool"], pending["arguments"]) == ("sh", {"command": "echo 21 degrees"})
    place.abey("session", "approve", pending["token"], "--no-input")
    named = pending["sessionId"]
    assert place.abey("run", "--session", named) == "It is 21 degrees. ☀\n"
    assert place.abey("run", "--session", named, "-p", "And tomorrow?") == "Colder.\n"
    assert place.ran() == 1
    first, second, third = told(aimock)
    assert (first, second) == (third[: len(first)], third[: len(second)])
    assert folded(third) == HISTORY


def test_thoughts_are_kept_apart_from_the_answer(aimock: Server, place: Place, wire: str) -> None:
    named = place.rpc("agents/start", agentFile=agent(place, wire, aimock), prompt="Think.")["sessionId"]
    assert place.abey("run", "--session", named) == "Four.\n"
    shown = place.rpc("agents/transcript", sessionId=named)["items"]
    assert [(item["kind"], item.get("text")) for item in shown[1:]] == [
        ("thinking", "Two and two."),
        ("answer", "Four."),
    ]
    assert place.abey("run", "--session", named, "-p", "Are you sure?") == "Yes.\n"
    assert [(said["role"], said["content"]) for said in folded(told(aimock)[-1])[1:]] == [
        ("user", "Think."),
        ("assistant", "Four."),
        ("user", "Are you sure?"),
    ]


@pytest.mark.parametrize("prompt", ["How warm is it?", "Think."])
async def test_an_answer_that_comes_whole_says_what_a_streamed_one_says(aimock: Server, wire: str, prompt: str) -> None:
    streamed, pieces = await answer(wire, aimock, prompt)
    unstreamed = {"stream": False, **({"stream_options": None} if wire == "openai" else {})}
    whole, _ = await answer(wire, aimock, prompt, **unstreamed)
    assert said(whole) == said(streamed)
    assert "".join(pieces) == "".join(block.text for block in streamed.blocks)


async def answer(wire: str, aimock: Server, prompt: str, **parameters: Any) -> tuple[ModelAnswer, list[str]]:
    model = HttpModel.model_validate(model_at(wire, f"{aimock.url}/v1", **parameters))
    asked = ModelRequest("", (UserMessage((TextPart(text=prompt),)),), OFFERED, 0)
    pieces: list[str] = []
    asking = Asking(model, lambda: None, Network({}), SystemClock())
    return await asking.ask(asked, lambda delta: pieces.append(delta.text)), pieces


def said(answer: ModelAnswer) -> Any:
    """All but what is made anew for each answer, and the blanks in arguments."""
    calls = [(call.id, call.tool, json.loads(call.arguments)) for call in answer.calls]
    return [(block.type, block.text) for block in answer.blocks], calls, answer.finish_reason, answer.usage
