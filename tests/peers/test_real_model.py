"""A real model behind a real server, llama.cpp's: what it says does not matter here, how it is said does."""

from typing import Any

import pytest
from support.e2e import Place, command, until
from support.e2e_peer import Refusal
from support.peers import WIRES, Server, model_at

pytestmark = pytest.mark.parametrize("wire", WIRES)

STOPS = {"openai": "stop", "openai-responses": "stop", "anthropic": "stop_sequences"}
"""The parameter for the words that end an answer."""

SHELL = command(
    "sh",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    ["sh", "-c", "{command}"],
)


def agent(place: Place, wire: str, llama: Server, tokens: int, *, tools: bool = False, **parameters: Any) -> str:
    model = model_at(wire, f"{llama.url}/v1", tokens, temperature=0, **parameters)
    return str(place.agent(model=model, tools=[SHELL] if tools else [], systemPrompt="Be brief."))


def forced(place: Place, wire: str, llama: Server, sign: str) -> str:
    """An agent whose model can say nothing but `sign`, and whose answers end before it."""
    return agent(place, wire, llama, 8, tools=True, logit_bias=[[sign, 100]], **{STOPS[wire]: [sign]})


def begun(command: str, end: str = "") -> str:
    """A prompt that begins a call of the shell; the model goes on with it."""
    return f'Go on.<tool_call>\n{{"name": "sh", "arguments": {{"command": "{command}{end}'


def started(place: Place, file: str, prompt: str) -> str:
    return str(place.rpc("agents/start", agentFile=file, prompt=prompt, cwd=str(place.work))["sessionId"])


def items(place: Place, named: str, kind: str) -> list[Any]:
    page = place.rpc("agents/transcript", sessionId=named)
    return [item for item in page["items"] if item["kind"] == kind]


def busy(llama: Server) -> bool:
    return any(slot["is_processing"] for slot in llama.get("/slots"))


def test_an_answer_streams_to_an_attached_client(llama: Server, place: Place, wire: str) -> None:
    named = started(place, agent(place, wire, llama, 24), "Tell me of the sea.")
    with place.peer("one") as one:
        one.request("agents/attach", sessionId=named, deltas=True)
        one.request("agents/run", sessionId=named)
        heard = []
        while not heard or heard[-1]["type"] != "item/completed":
            heard.append(one.hear("agents/event")["event"])
    deltas = [event for event in heard if event["type"] == "item/delta"]
    [answer] = items(place, named, "answer")
    texts = [delta["text"] for delta in deltas]
    assert len(deltas) > 1
    assert [delta["offset"] for delta in deltas] == [len("".join(texts[:at])) for at in range(len(texts))]
    assert (heard[-1]["item"]["text"], answer["text"].startswith("".join(texts))) == (answer["text"], True)
    usage = place.session(named)["usage"]
    assert (usage["inputTokens"] > 10, 1 <= usage["outputTokens"] <= 24) == (True, True)


def test_a_cancel_in_mid_stream_ends_the_turn_and_the_model_and_the_next_turn_works(
    llama: Server, place: Place, wire: str
) -> None:
    named = started(place, agent(place, wire, llama, 900, ignore_eos=True), "Tell me a very long story of the sea.")
    with place.peer("one") as one:
        one.request("agents/attach", sessionId=named, deltas=True)
        run = one.start("agents/run", sessionId=named)
        until(lambda: one.hear("agents/event")["event"]["type"] == "item/delta", "for a piece of the answer")
        assert busy(llama)
        place.abey("session", "cancel", named)
        one.answer(run)
    until(lambda: not busy(llama), "for the model to stop")
    assert items(place, named, "answer") == []
    agent(place, wire, llama, 8)
    assert place.abey("run", "--session", named, "-p", "Hello?").strip() != ""
    assert [len(items(place, named, kind)) for kind in ("input", "answer")] == [2, 1]


def test_a_context_that_overflows_is_told_as_that(llama: Server, place: Place, wire: str) -> None:
    file = agent(place, wire, llama, 8)
    named = started(place, file, "sea " * 3000)
    failed = place.run("session", "step", named)
    assert (failed.code, "model/context-overflow" in failed.err) == (1, True)
    session = place.session(named)
    assert (session["state"], session["lastError"]["kind"]) == ("userTurn", "model/context-overflow")
    assert place.abey("run", "--agent-file", file, "-p", "Hello?").strip() != ""


def test_a_malformed_call_becomes_a_failed_result_and_runs_nothing(llama: Server, place: Place, wire: str) -> None:
    """The answer ends before the quote that would close the command; the server calls that a whole call."""
    named = started(place, forced(place, wire, llama, '"'), begun(f"echo line >> {place.count}"))
    place.abey("session", "step", named)
    agent(place, wire, llama, 8, tools=True)
    place.abey("run", "--session", named)
    [call] = [item["call"] for item in items(place, named, "toolCall")]
    assert (call["tool"], call["state"]) == ("sh", "failed")
    assert call["arguments"] == f'{{"command": "echo line >> {place.count}'
    assert call["output"].startswith("tool/invalid-arguments")
    assert (place.ran(), place.session(named)["state"]) == (0, "completed")


def test_a_whole_call_runs_once_and_its_result_goes_back(llama: Server, place: Place, wire: str) -> None:
    file = forced(place, wire, llama, "\n")
    named = started(place, file, begun(f"echo line >> {place.count}", end='"}}'))
    place.abey("session", "step", named)
    agent(place, wire, llama, 8, tools=True)
    place.abey("run", "--session", named)
    [call] = [item["call"] for item in items(place, named, "toolCall")]
    assert (call["tool"], call["state"]) == ("sh", "completed")
    assert call["arguments"] == {"command": f"echo line >> {place.count}"}
    assert (place.ran(), place.session(named)["state"]) == (1, "completed")


def test_an_error_in_mid_stream_is_tried_again_and_then_told(llama: Server, place: Place, wire: str) -> None:
    """A tool that was not offered: the server gives its own answer up when it has begun."""
    file = agent(place, wire, llama, 2, tools=True)
    named = started(place, file, 'Go on.<tool_call>\n{"name": "none", "arguments": {"command": "echo"}}')
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/step", sessionId=named)
    assert (refused.value.kind, refused.value.data["attempts"]) == ("model/transient", 3)
    session = place.session(named)
    assert (session["state"], session["lastError"]["kind"]) == ("userTurn", "model/transient")
    assert [item["kind"] for item in place.rpc("agents/transcript", sessionId=named)["items"]] == ["input"]
