"""Models behind HTTP, through the installed programs: a streamed answer with a call, and failures of every kind."""

import json
from typing import Any

import pytest
from support.e2e import Place, deferred
from support.e2e_peer import Refusal
from support.replay import Canned, replaying_beside

KEY = "sk-canary-e2e-91c4"


def chat(*deltas: dict[str, Any], reason: str) -> Canned:
    events: list[Any] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    events.append({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}})
    return Canned([f"data: {json.dumps(event)}\n\n".encode() for event in events] + [b"data: [DONE]\n\n"])


def asks(name: str, arguments: str) -> Canned:
    half = len(arguments) // 2
    begun = {"index": 0, "id": "call_1", "function": {"name": name, "arguments": arguments[:half]}}
    rest = {"index": 0, "function": {"arguments": arguments[half:]}}
    return chat({"content": "I look."}, {"tool_calls": [begun]}, {"tool_calls": [rest]}, reason="tool_calls")


def fails(status: int, message: str, **headers: str) -> Canned:
    return Canned([json.dumps({"error": {"message": message}}).encode()], status, headers)


SAYS = chat({"content": "It is "}, {"content": "sunny."}, reason="stop")


def agent(machine: Place, url: str, **more: Any) -> str:
    model = {"provider": "openai", "name": "tiny", "baseUrl": url, "apiKey": {"env": "MY_KEY"}, **more}
    return str(machine.agent(model=model, rules=[deferred("sh")]))


def test_an_answer_streams_a_call_is_approved_and_the_turn_ends(machine: Place) -> None:
    machine.env["MY_KEY"] = KEY
    with replaying_beside(asks("sh", '{"command": "echo hi"}'), SAYS) as model:
        file = agent(machine, model.url)
        machine.abey("run", "--agent-file", file, "-p", "Weather?", "--no-input", code=3)
        (pending,) = machine.json("session", "pending")["items"]
        machine.abey("session", "approve", pending["token"], "--no-input")
        assert machine.abey("run", "--session", pending["sessionId"]) == "It is sunny.\n"
    first, second = model.asked
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert second.json["messages"][2:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "sh", "arguments": '{"command": "echo hi"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "hi\n"},
    ]
    assert nowhere(machine, KEY)


def test_a_run_goes_to_its_end_in_one_command(machine: Place) -> None:
    machine.env["MY_KEY"] = KEY
    with replaying_beside(asks("bump", "{}"), SAYS) as model:
        assert machine.abey("run", "--agent-file", agent(machine, model.url), "-p", "Weather?") == "It is sunny.\n"
    assert machine.ran() == 1


def test_a_failed_call_leaves_the_session_usable(machine: Place) -> None:
    machine.env["MY_KEY"] = KEY
    wrong = fails(401, f"Incorrect API key provided: {KEY}")
    with replaying_beside(wrong, fails(429, "slow down", **{"retry-after-ms": "1"}), SAYS) as model:
        file = agent(machine, model.url)
        session_id = machine.abey("session", "start", "--agent-file", file, "-p", "Weather?", "-q").strip()
        failed = machine.run("session", "step", session_id)
        assert (failed.code, "model/auth" in failed.err, KEY in failed.err) == (1, True, False)
        session = machine.session(session_id)
        assert (session["state"], session["lastError"]["kind"], session["lastError"]["message"]) == (
            "userTurn",
            "model/auth",
            f"{model.url.split('/')[2]} gave status 401 (a key was sent): Incorrect API key provided: …",
        )
        assert machine.abey("session", "step", session_id) == "State: LlmTurn (completed)\nIt is sunny.\n"
        assert "lastError" not in machine.session(session_id)
    assert len(model.asked) == 3
    assert nowhere(machine, KEY)


def test_a_missing_key_is_named_before_anything_is_asked(machine: Place) -> None:
    with replaying_beside(SAYS) as model:
        file = agent(machine, model.url)
        checked = machine.run("agents", "check", file)
        assert "missing-key" in checked.out + checked.err or "MY_KEY" in checked.out + checked.err
        started = machine.rpc("agents/start", agentFile=file, prompt="Weather?")
        with pytest.raises(Refusal) as refused:
            machine.rpc("agents/step", sessionId=started["sessionId"])
    assert (refused.value.kind, refused.value.data["missingEnv"]) == ("model/auth", "MY_KEY")
    assert "MY_KEY" in str(refused.value)
    assert model.asked == []


def test_the_key_is_that_of_the_client_that_asks(machine: Place) -> None:
    """The daemon runs without one; each client brings its own."""
    machine.rpc("agents/status")
    with replaying_beside(SAYS) as model:
        file = agent(machine, model.url)
        machine.env["MY_KEY"] = f"{KEY}-1"
        session_id = machine.abey("session", "start", "--agent-file", file, "-p", "Weather?", "-q").strip()
        machine.abey("session", "step", session_id)
        machine.env["MY_KEY"] = f"{KEY}-2"
        machine.abey("run", "--session", session_id, "-p", "And now?")
        del machine.env["MY_KEY"]
        machine.abey("run", "--session", session_id, "-p", "And then?")
    used = [asked.headers["authorization"].removeprefix("Bearer ") for asked in model.asked]
    assert used == [f"{KEY}-1", f"{KEY}-2", f"{KEY}-1"]
    assert nowhere(machine, KEY)


@pytest.mark.slow
def test_an_odd_environment_of_the_daemon_stops_nothing(machine: Place) -> None:
    machine.env |= {
        "MY_KEY": KEY,
        "NO_PROXY": "[::1]",
        "ALL_PROXY": "socks5://127.0.0.1:1",
        "SSL_CERT_FILE": "/missing/certs.pem",
        "HTTPS_PROXY": "::::",
    }
    with replaying_beside(SAYS) as model:
        assert machine.abey("run", "--agent-file", agent(machine, model.url), "-p", "Weather?") == "It is sunny.\n"


def nowhere(machine: Place, secret: str) -> bool:
    """Whether no file of this machine holds the secret."""
    files = [path for path in machine.root.rglob("*") if path.is_file()]
    return [path for path in files if secret.encode() in path.read_bytes()] == []
