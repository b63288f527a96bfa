"""Microsoft's vscode-jsonrpc speaks our methods: through `abey-daemon --stdio`, and straight to the unix socket."""

from collections.abc import Callable
from typing import Any

import pytest
from support.e2e import Place, calls, deferred, says, until
from support.editors import NODE, Editor, Sit

NEEDS = (NODE,)

AGENTS = {"protocolVersions": ["1.0"], "clientId": "node-1", "name": "node", "kind": "test", "deltas": True}
CAPABILITIES = {"experimental": {"agents": AGENTS}}
SCRIPT = [calls(("bump", {}), ("sh", {"command": "echo hi"})), says("It is sunny.")]

Value = dict[str, Any]
Connect = Callable[[], tuple[Editor, Value]]


@pytest.fixture(params=["stdio", "socket"])
def connected(request: pytest.FixtureRequest, machine: Place, sit: Sit) -> Connect:
    """A client that has said hello, and what the daemon answered."""

    def start() -> tuple[Editor, Value]:
        editor = sit(NODE)
        way: Any = ["abey-daemon", "--stdio"] if request.param == "stdio" else socket_of(machine)
        return editor, editor.order("connect", way, CAPABILITIES, {"env": machine.env})

    return start


def socket_of(machine: Place) -> str:
    return (machine.state / "daemon.addr").read_text().strip()


def ask(editor: Editor, method: str, **params: Any) -> Any:
    answer = editor.order("request", method, params)
    assert "error" not in answer, (method, answer)
    return answer["value"]


def refused(editor: Editor, method: str, params: Any) -> tuple[int, Any]:
    error = editor.order("request", method, params)["error"]
    return error["code"], (error.get("data") or {}).get("kind")


def started(editor: Editor, machine: Place, script: list[Value] = SCRIPT, **more: Any) -> str:
    agent = str(machine.agent(script=script, rules=[deferred("sh")]))
    session = ask(editor, "agents/start", agentFile=agent, prompt="weather", cwd=str(machine.work), **more)
    found: str = session["sessionId"]
    return found


def test_the_handshake_names_the_methods_and_the_daemon(connected: Connect, machine: Place) -> None:
    editor, result = connected()
    agents = result["capabilities"]["experimental"]["agents"]
    assert (agents["protocolVersion"], agents["daemon"]["stateDir"]) == ("1.0", str(machine.state))
    assert {"agents/start", "agents/step", "agents/pending", "agents/complete"} <= set(agents["methods"])
    assert editor.order("failures") == []


def test_a_session_goes_from_prompt_to_answer_with_a_call_approved_on_the_way(
    connected: Connect, machine: Place
) -> None:
    editor, _ = connected()
    named = {"sessionId": started(editor, machine)}
    told: list[Any] = []
    for _ in range(2):
        step = ask(editor, "agents/step", **named)
        told.append((step["outcome"], step["session"]["state"]))
    [call] = ask(editor, "agents/pending", **named)["items"]
    told.append((call["tool"], call["arguments"]))
    outcome = {"kind": "approve", "arguments": {"command": "echo ho"}}
    done = ask(editor, "agents/complete", token=call["token"], outcome=outcome, argumentsHash=call["argumentsHash"])
    told.append((done["applied"], done["resolution"]["client"], done["session"]["state"]))
    run = ask(editor, "agents/run", **named)
    told.append((run["outcome"], run["session"]["output"]))
    items = ask(editor, "agents/transcript", **named)["items"]
    told.append([item.get("call", {}).get("output") for item in items])
    assert (told, editor.order("failures")) == (
        [
            ("advanced", "llmTurn"),
            ("advanced", "partialUserTurn"),
            ("sh", {"command": "echo hi"}),
            (True, {"id": "node-1", "name": "node", "kind": "test"}, "userTurn"),
            ("completed", "It is sunny."),
            [None, "bumped\n", "ho\n", None],
        ],
        [],
    )


def test_an_attached_client_hears_each_event_once_and_in_order(connected: Connect, machine: Place) -> None:
    editor, _ = connected()
    session = started(editor, machine, [says("It is sunny.")])
    seq = ask(editor, "agents/attach", sessionId=session)["seq"]
    ask(editor, "agents/run", sessionId=session)
    kept = ask(editor, "agents/events", sessionId=session, after=seq)["events"]

    def events() -> list[Any]:
        heard = editor.order("heard")
        return [one["params"] for one in heard if one["method"] == "agents/event" and "seq" in one["params"]]

    editor.until("heard", lambda _: len(events()) == len(kept))
    assert events() == kept
    summaries = [one["params"] for one in editor.order("heard") if one["method"] == "agents/summary"]
    assert (summaries[-1]["sessionId"], summaries[-1]["state"]) == (session, "completed")
    ask(editor, "agents/detach", sessionId=session)


def test_cancelling_a_request_ends_the_wait_and_not_the_turn(connected: Connect, machine: Place) -> None:
    editor, _ = connected()
    session = started(editor, machine, [calls(("slow", {})), says("late")])
    editor.order("send", "run", "agents/run", {"sessionId": session})
    until(lambda: machine.ran() == 1, "for the tool")
    editor.order("cancel", "run")
    assert editor.order("result", "run")["error"]["code"] == -32800
    assert ask(editor, "agents/get", sessionId=session)["session"]["activity"] == "tools"
    assert ask(editor, "agents/cancel", sessionId=session)["applied"] is True


def test_errors_come_with_code_and_kind(connected: Connect, machine: Place) -> None:
    editor, _ = connected()
    assert [
        refused(editor, "agents/step", {"sessionId": "nobody"}),
        refused(editor, "agents/step", {}),
        refused(editor, "agents/step", {"sessionId": "nobody", "ifRevison": 1}),
        refused(editor, "agents/nothing", {}),
        refused(editor, "agents/start", {"agent": "nobody"}),
        refused(editor, "agents/complete", {"token": "0" * 32, "outcome": {"kind": "cancel"}}),
        refused(editor, "initialize", {"capabilities": {}}),
    ] == [
        (-31001, "session/unknown"),
        (-32602, "invalid-params"),
        (-32602, "invalid-params"),
        (-32601, "method-not-found"),
        (-31009, "agent/unknown"),
        (-31005, "token/unknown"),
        (-32600, "invalid-request"),
    ]


def test_a_method_without_params_is_answered(connected: Connect) -> None:
    editor, result = connected()
    daemon = editor.order("request", "agents/status", None)["value"]["daemon"]
    assert daemon["pid"] == result["capabilities"]["experimental"]["agents"]["daemon"]["pid"]


def test_pages_of_a_list_come_as_progress(connected: Connect, machine: Place) -> None:
    editor, _ = connected()
    sessions = {started(editor, machine) for _ in range(3)}
    editor.order("send", "list", "agents/sessions", {"partialResultToken": "pages", "limit": 2}, "pages")
    assert editor.order("result", "list")["value"]["items"] == []
    pages = [one["items"] for one in editor.order("progress")]
    assert {item["sessionId"] for page in pages for item in page} == sessions


def test_a_client_that_leaves_ends_cleanly_and_the_daemon_stays(connected: Connect, machine: Place) -> None:
    editor, _ = connected()
    pid = machine.daemon_pid()
    assert editor.order("leave") in (0, None)
    assert (machine.daemon_pid(), pid is not None) == (pid, True)


def test_ids_may_be_numbers_and_strings_and_come_back_as_they_were(machine: Place, sit: Sit) -> None:
    editor = sit(NODE)
    hello = {"processId": None, "rootUri": None, "capabilities": CAPABILITIES}
    messages = [
        {"id": "hello", "method": "initialize", "params": hello},
        {"id": 0, "method": "agents/status", "params": {}},
        {"id": "0", "method": "agents/status", "params": {}},
        {"id": 7, "method": "agents/get", "params": {"sessionId": "nobody"}},
        {"id": "ünï\u0000", "method": "agents/nothing"},
    ]
    answers = editor.order("bare", socket_of(machine), messages)
    told = [(one["id"], one["ok"], one.get("code")) for one in answers]
    assert sorted(told, key=repr) == [
        ("0", True, None),
        ("hello", True, None),
        ("ünï\0", False, -32601),
        (0, True, None),
        (7, False, -31001),
    ]
