"""Programs that describe themselves, HTTP requests and decorators, with the real daemon."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, Value, calls, deferred, says, until
from support.e2e_peer import Refusal

GREETING = {
    "slug": "greet",
    "description": "Greets",
    "args": [
        {
            "name": "who",
            "description": "whom",
            "type": "string",
            "backing_type": "string",
            "arity": "single",
            "mode": "positional",
        },
        {
            "name": "more",
            "description": "what else",
            "type": "string",
            "backing_type": "string",
            "arity": "optional",
            "mode": "stdin",
        },
    ],
}


def install(place: Place, name: str, description: Any, run: str) -> Path:
    """A program in `tools` beside the agent file."""
    folder = place.work / "tools"
    folder.mkdir(exist_ok=True)
    program = folder / name
    told = f"cat <<'END'\n{json.dumps(description)}\nEND\n"
    program.write_text(f'#!/bin/sh\nif [ "$1" = describe ]; then {told}exit; fi\nshift\n{run}\n')
    program.chmod(0o755)
    return program


def results(place: Place, session_id: str) -> list[Any]:
    items = place.rpc("agents/transcript", sessionId=session_id)["items"]
    return [item["call"]["output"] for item in items if item["kind"] == "toolCall"]


EXECUTABLES = [{"kind": "executables", "directory": "tools"}]


def start(place: Place, file: Path, run: str = "turn") -> Any:
    return place.rpc("agents/start", agentFile=str(file), prompt="go", cwd=str(place.work), run=run)


def test_programs_of_a_folder_are_tools_and_a_broken_one_is_named(place: Place) -> None:
    install(place, "greet.sh", GREETING, 'printf "hello %s, " "$1"; cat; echo "($AGENT_SESSION_ID $AGENT_TURN_ID)"')
    install(place, "broken.sh", {"slug": "x"}, "true")
    script = [
        calls(("bash_greet", {"who": "you", "more": "bye"})),
        calls(("bash_broken", {})),
        says("end"),
    ]
    session = start(place, place.agent(script=script, tools=EXECUTABLES))
    session_id = session["sessionId"]
    turn_id = place.rpc("agents/transcript", sessionId=session_id)["items"][0]["turnId"]
    assert (session["state"], results(place, session_id)) == (
        "completed",
        [
            f"hello you, bye\n({session_id} {turn_id})\n",
            "tool/unknown: there is no tool named bash_broken "
            f"({place.work}/tools/broken.sh is no tool: the description has no description); the tools are: bash_greet",
        ],
    )


def test_who_looks_at_the_session_is_told_of_a_broken_program_and_a_missing_folder(place: Place) -> None:
    install(place, "broken.sh", {"slug": "x"}, "true")
    tools = [*EXECUTABLES, {"kind": "executables", "directory": "nowhere"}]
    session_id = start(place, place.agent(script=[says("end")], tools=tools), "none")["sessionId"]
    with place.peer() as peer:
        peer.request("agents/attach", sessionId=session_id)
        peer.request("agents/step", sessionId=session_id)
        events = [one["params"]["event"] for one in peer.heard if one["method"] == "agents/event"]
    told = [event["text"] for event in events if event["type"] == "note"]
    assert sorted(told) == [
        f"without the tool bash_broken: {place.work}/tools/broken.sh is no tool: the description has no description",
        f"without the tools bash_*: {place.work}/nowhere: No such file or directory",
    ]


def test_a_program_that_is_put_there_is_a_tool_of_the_next_step(place: Place) -> None:
    install(place, "greet.sh", GREETING, "echo one")
    script = [calls(("bash_greet", {"who": "x"})), calls(("bash_late", {})), calls(("bash_greet", {"who": "x"}))]
    session_id = start(place, place.agent(script=[*script, says("end")], tools=EXECUTABLES), "none")["sessionId"]
    place.rpc("agents/step", sessionId=session_id)
    place.rpc("agents/step", sessionId=session_id)
    install(place, "late.sh", {"slug": "late", "description": "d", "args": []}, "echo late")
    install(place, "greet.sh", GREETING, "echo two")
    place.rpc("agents/resume", sessionId=session_id)
    assert results(place, session_id) == ["one\n", "late\n", "two\n"]


def test_an_approval_runs_no_other_program_than_the_one_that_was_shown(place: Place) -> None:
    program = install(place, "greet.sh", GREETING, "echo shown > ran; echo shown")
    script = [calls(("bash_greet", {"who": "x"})), says("end")]
    session = start(place, place.agent(script=script, tools=EXECUTABLES, rules=[deferred("bash_*")]))
    (pending,) = session["pending"]
    program.write_text(program.read_text().replace("shown", "other"))
    answer = {"token": pending["token"], "outcome": {"kind": "approve"}}
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/complete", argumentsHash=pending["argumentsHash"], **answer)
    (again,) = place.session(session["sessionId"])["pending"]
    assert (refused.value.kind, again["token"], (place.work / "ran").exists()) == (
        "arguments/mismatch",
        pending["token"],
        False,
    )
    assert again["argumentsHash"] != pending["argumentsHash"]
    place.rpc("agents/complete", argumentsHash=again["argumentsHash"], resume=True, **answer)
    until(lambda: results(place, session["sessionId"]) == ["other\n"])


class Web(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        content = f"{self.path} {'x' * 400_000 if 'long' in self.path else ''}".encode()
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def fetch(name: str, url: str) -> Value:
    return {"kind": "http", "name": name, "description": name, "url": url, "parameters": {"type": "object"}}


def test_a_request_asks_the_host_of_the_file_and_no_local_one_of_an_argument(place: Place, web: str) -> None:
    script = [
        calls(("fixed", {"path": "a/b", "q": "é"}), ("fixed", {"path": "missing"}), ("fixed", {})),
        calls(("chosen", {"host": "127.0.0.1"}), ("chosen", {"host": "localhost"}), ("chosen", {"host": "a/b"})),
        says("end"),
    ]
    tools = [
        fetch("fixed", f"http://{web}/v1/{{path}}"),
        fetch("chosen", f"http://{{host}}:{web.partition(':')[2]}/"),
    ]
    session = start(place, place.agent(script=script, tools=tools))
    assert results(place, session["sessionId"]) == [
        "/v1/a%2Fb?q=%C3%A9 ",
        "/v1/missing \n[HTTP 404 Not Found]",
        "the URL has no value for path",
        "not asked: 127.0.0.1 is at 127.0.0.1, which is loopback",
        "not asked: localhost is a name of the local network",
        "the argument host is no host, nor a part of one",
    ]


def test_decorators_act_and_all_of_a_truncated_result_can_be_read(place: Place, web: str) -> None:
    count = place.count

    def decorated(tool: str, *decorators: Value, inner: Any = "runSync") -> Value:
        return {"tool": tool, "disposition": {"tag": "decorate", "decorators": list(decorators), "inner": inner}}

    rules = [
        decorated("slow", {"tag": "timeout", "seconds": 0.2}),
        decorated("bad", {"tag": "retries", "count": 2}),
        decorated("bump", {"tag": "cache", "key": "k"}),
        decorated("fetch", {"tag": "truncate", "maxBytes": 5}),
        decorated("ext", {"tag": "label", "label": "ask the team"}, inner="defer"),
    ]
    bad = f"echo line >> {count}; echo half; exit 3"
    more = [
        {"kind": "command", "name": "bad", "description": "b", "argv": ["sh", "-c", bad]},
        fetch("fetch", f"http://{web}/long"),
    ]
    tools = [tool for tool in place.tools() if tool["name"] != "bad"]
    script = [
        calls(("slow", {"x": "1"})),
        calls(("bad", {})),
        calls(("bump", {"x": "1"})),
        calls(("bump", {"x": "1"})),
        calls(("fetch", {})),
        calls(("ext", {"y": 1})),
    ]
    session = start(place, place.agent(script=script, tools=[*tools, *more], rules=rules))
    session_id = session["sessionId"]
    items = place.rpc("agents/transcript", sessionId=session_id)["items"]
    called = [item["call"] for item in items if item["kind"] == "toolCall"]
    whole = place.rpc("agents/output", sessionId=session_id, callId=called[4]["callId"], offset=0, limit=10)
    assert ([call["output"] for call in called[:5]], place.ran(), whole["size"], whole["data"]) == (
        [
            "tool call timed out after 0.2s",
            "half\n[exit code 3]",
            "bumped\n",
            "bumped\n",
            "/long\n[truncated: result exceeded 5 bytes]",
        ],
        1 + 3 + 1,
        400_006,
        "/long xxxx",
    )
    assert [one["title"] for one in session["pending"]] == ['ask the team: ext {"y": 1}']
