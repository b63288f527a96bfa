"""`abey rpc`: one request, or JSON lines in and out."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.canned_daemon import AGENTS, CannedDaemon, Refusal, session

ABEY = [sys.executable, "-c", "import sys; from abey_cli.main import main; sys.exit(main())"]


def refuse(_params: object) -> object:
    raise Refusal(-31001, "no such session", kind="session/unknown", retryable=False)


REFUSED = {"code": -31001, "message": "no such session", "data": {"kind": "session/unknown", "retryable": False}}


@pytest.fixture
def lines(work: Path):
    """Runs `abey rpc -` as a program, with these lines on its stdin."""

    def run(*given: object, options: tuple[str, ...] = ()):
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in given)
        done = subprocess.run([*ABEY, "rpc", "-", *options], input=text, capture_output=True, text=True, timeout=30)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    return run


def test_one_request_prints_any_result(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/get"] = lambda params: {"session": session(sessionId=params["sessionId"])}
    daemon.on["agents/none"] = None
    by_argument = abey("rpc", "agents/get", '{"sessionId": "x"}')
    by_stdin = abey("rpc", "agents/get", "-", typed='{"sessionId": "x"}')
    assert by_argument == by_stdin == (0, json.dumps({"session": session(sessionId="x")}) + "\n", "")
    assert abey("rpc", "agents/none", "--json") == (0, "null\n", "")
    assert daemon.params("agents/none") == [{}]


def test_an_error_is_json_and_the_exit_code_that_of_its_kind(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/get"] = refuse
    ran = abey("rpc", "agents/get", "{}", "--json")
    assert (ran.code, json.loads(ran.out)) == (4, {"error": REFUSED})
    said = "abey: no such session (session/unknown); `abey session list` has those there are\n"
    assert abey("rpc", "agents/get", "{}") == (4, "", said)


@pytest.mark.parametrize(
    "options", [("agents/get", "{"), ("agents/get", "NaN"), ("-", "{}"), ("agents/get", "{}", "--fail")]
)
def test_what_is_no_request_is_exit_2(abey, daemon: CannedDaemon, options) -> None:
    assert abey("rpc", *options).code == 2
    assert daemon.asked == []


def test_lines_are_answered_as_the_answers_come(daemon: CannedDaemon) -> None:
    quick_is_printed = threading.Event()
    daemon.on["slow"] = lambda _params: quick_is_printed.wait(20)
    daemon.on["quick"] = "quick"
    asked = [{"id": "a", "method": "slow"}, {"id": 2, "method": "quick", "params": {"x": 1}}]
    with subprocess.Popen([*ABEY, "rpc", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write("".join(f"{json.dumps(line)}\n\n" for line in asked))
        program.stdin.flush()
        first = program.stdout.readline()
        quick_is_printed.set()
        rest, _ = program.communicate(timeout=30)
    assert [json.loads(first), json.loads(rest)] == [{"id": 2, "result": "quick"}, {"id": "a", "result": True}]
    assert sorted(daemon.asked) == [("quick", {"x": 1}), ("slow", {})]


def test_a_bad_line_is_answered_and_the_next_one_served(lines, daemon: CannedDaemon) -> None:
    daemon.on["ping"] = "pong"
    code, answers, said = lines("{nonsense", {"id": 7}, "[1]", '{"id": 1, "x": NaN}', {"method": "ping"})
    head = [(answer["id"], answer.get("error", {}).get("code"), answer.get("result")) for answer in answers]
    assert (code, head, said) == (
        0,
        [(None, -32700, None), (7, -32700, None), (None, -32700, None), (None, -32700, None), (None, None, "pong")],
        "",
    )


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--fail",), 1)])
def test_only_with_fail_an_error_is_exit_1(lines, daemon: CannedDaemon, options, code) -> None:
    daemon.on["agents/get"] = refuse
    asked = {"id": 1, "method": "agents/get"}
    assert lines(asked, options=options) == (code, [{"id": 1, "error": REFUSED}], "")


def test_more_lines_than_the_daemon_takes_at_once_are_all_answered(lines, daemon: CannedDaemon) -> None:
    daemon.agents = {"protocolVersion": "1.0", "limits": {"requestsInFlight": 3}}
    daemon.on["echo"] = lambda params: params["n"]
    code, answers, _ = lines(*({"id": n, "method": "echo", "params": {"n": n}} for n in range(500)))
    assert code == 0
    assert sorted(answers, key=lambda answer: answer["id"]) == [{"id": n, "result": n} for n in range(500)]


def test_a_request_of_more_than_the_daemon_reads_is_answered_and_the_next_one_served(
    lines, daemon: CannedDaemon
) -> None:
    daemon.agents = {**AGENTS, "limits": {"requestsInFlight": 256, "frameBytes": 1000}}
    daemon.on["agents/get"] = lambda params: params
    large = {"id": "large", "method": "agents/get", "params": {"text": "é" * 500}}
    small = {"id": "small", "method": "agents/get", "params": {"text": "é" * 400}}
    code, answers, said = lines(large, small)
    size = len(json.dumps({"jsonrpc": "2.0", **large, "id": 2}, ensure_ascii=False).encode())
    message = f"this is a message of {size} bytes, and the daemon takes at most 1000"
    data = {"kind": "too-large", "retryable": False, "bytes": size, "limit": 1000}
    refused = {"id": "large", "error": {"code": -31015, "message": message, "data": data}}
    assert (code, answers, said) == (0, [refused, {"id": "small", "result": small["params"]}], "")


def test_half_a_character_goes_to_the_daemon_as_it_is(lines, daemon: CannedDaemon) -> None:
    daemon.on["agents/get"] = lambda params: params
    assert lines('{"id": 1, "method": "agents/get", "params": {"a": "é\\ud800"}}')[1] == [
        {"id": 1, "result": {"a": "é\ud800"}}
    ]
