"""`tail -f`, `pending --watch`, `--events` and `rpc - --events`: what happens elsewhere, as it does."""

import json
import os
import select
import signal
import subprocess
from types import TracebackType
from typing import Any, Self

import pytest
from support.e2e import Place, calls, deferred, kill, says, until
from support.e2e_crash import Nursery
from support.e2e_peer import PATIENCE


class Program:
    """`abey` beside the test, and what it prints, line by line."""

    def __init__(self, place: Place, *words: str) -> None:
        self._process = subprocess.Popen(
            place.program(*words), cwd=place.work, env=place.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        kill(self._process.pid)
        self._process.communicate()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def line(self) -> str:
        """The next line of its stdout; fails where none comes."""
        assert self._process.stdout is not None
        while b"\n" not in self._buffer:
            assert select.select([self._process.stdout], [], [], PATIENCE)[0], "nothing comes"
            chunk = os.read(self._process.stdout.fileno(), 1 << 16)
            assert chunk, "it ended"
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()

    def value(self) -> Any:
        return json.loads(self.line())

    def rest(self) -> tuple[int, list[str]]:
        """The exit code, once it has ended, and the lines that nobody read."""
        out, _ = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, (self._buffer + out).decode().splitlines()

    def read_no_more(self) -> tuple[int, bytes]:
        """The exit code after its reader went, and its stderr."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._process.stdout.close()
        return self._process.wait(PATIENCE), self._process.stderr.read()


def started(place: Place, **config: Any) -> str:
    cwd = str(place.work)
    return str(place.rpc("agents/start", config=place.config(**config), prompt="x", cwd=cwd)["sessionId"])


def waiting(place: Place) -> str:
    return started(place, script=[calls(("bump", {})), says("done")], rules=[deferred("bump")])


def all_events(place: Place, session_id: str) -> list[Any]:
    return list(place.rpc("agents/events", sessionId=session_id, limit=1000)["events"])


def test_a_run_tells_its_events_and_at_last_its_result(place: Place) -> None:
    agent = str(place.agent(script=[calls(("bump", {})), says("done")]))
    printed = place.abey("run", "--agent-file", agent, "-p", "x", "--events", "--json")
    *told, last = map(json.loads, printed.splitlines())
    session = last["result"]["session"]
    assert (last["result"]["outcome"], session["output"]) == ("completed", "done")
    assert [one["params"] for one in told] == all_events(place, session["sessionId"])
    assert {one["method"] for one in told} == {"agents/event"}
    done = place.run("run", "--agent-file", agent, "-p", "x", "--events")
    assert (done.code, done.out) == (0, "done\n")
    assert done.err.splitlines()[1:] == [
        "> x",
        "* bump {}: running",
        "* bump {}: completed",
        "    bumped",
        "done",
        "turn 1 ended: answered",
    ]


def test_a_step_and_a_resume_tell_what_happens_in_them_alone(place: Place) -> None:
    named = waiting(place)
    seen = len(all_events(place, named))
    step = [json.loads(one) for one in place.abey("session", "step", named, "--events", "--json").splitlines()]
    assert (step[0]["params"]["seq"], step[-1]["result"]["outcome"]) == (seen + 1, "advanced")
    refused = place.run("session", "resume", named, "--events", "--json", "--if-revision", "1")
    assert (refused.code, json.loads(refused.out)["error"]["data"]["kind"]) == (5, "revision/conflict")
    resumed = place.run("session", "resume", named, "--events")
    assert (resumed.code, resumed.out.splitlines()[0]) == (3, "State: PartialUserTurn")
    [call] = place.rpc("agents/pending")["items"]
    waits, way_on = resumed.err.splitlines()
    assert (waits, way_on.split(" (or")[0]) == (
        f"waits: {call['token']} (bump)",
        f"next: `abey session approve {call['token']}`",
    )


def test_a_tail_shows_the_end_of_the_transcript(place: Place) -> None:
    named = started(place, script=[says("hello")])
    place.abey("session", "resume", named)
    assert place.abey("session", "tail", named) == "> x\nhello\n"
    page = place.rpc("agents/transcript", sessionId=named, limit=50)
    assert place.json("session", "tail", named) == page


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_tail_goes_on_over_the_end_of_a_daemon_and_misses_nothing(
    place: Place, nursery: Nursery, number: signal.Signals
) -> None:
    named = started(place, script=[calls(("bump", {})), says("done")])
    with Program(place, "session", "tail", "-f", named, "--json") as program:
        first = program.value()
        assert first["snapshot"]["session"]["sessionId"] == named
        place.abey("session", "step", named)
        told = [program.value()["params"]]
        pid = place.daemon_pid()
        assert pid is not None
        kill(pid, number)
        nursery.wake(place).close()
        place.abey("session", "resume", named)
        place.abey("session", "stop", named, "--yes")
        code, rest = program.rest()
    *more, last = map(json.loads, rest)
    told += [one["params"] for one in more]
    assert (code, last["result"]["session"]["state"]) == (0, "stopped")
    assert told == all_events(place, named)[first["seq"] :]


def test_a_tail_hears_of_an_end_that_came_while_it_had_no_daemon(place: Place, nursery: Nursery) -> None:
    named = started(place, script=[says("hello")])
    with Program(place, "session", "tail", "-f", named, "--json") as program:
        program.value()
        pid = place.daemon_pid()
        assert pid is not None
        program.signal(signal.SIGSTOP)
        kill(pid)
        nursery.wake(place).close()
        place.abey("session", "stop", named, "--yes")
        program.signal(signal.SIGCONT)
        code, rest = program.rest()
    assert (code, json.loads(rest[-1])["result"]["session"]["state"]) == (0, "stopped")


def test_a_tail_ends_with_what_it_follows_and_says_why(place: Place) -> None:
    named = started(place, script=[says("hello")])
    with Program(place, "session", "tail", "-f", named) as program:
        assert program.line() == "> x"
        place.abey("session", "resume", named)
        place.abey("session", "delete", named, "--yes")
        assert program.rest() == (4, ["hello", "turn 1 ended: answered"])
    other = started(place, script=[says("hello")])
    late = place.run("session", "tail", "-f", other, "--json", "--timeout", "0.2")
    assert (late.code, json.loads(late.out.splitlines()[-1])["error"]["data"]["kind"]) == (8, "timeout")


@pytest.mark.parametrize("words", [("session", "tail", "-f", "@"), ("session", "pending", "--watch")])
def test_whoever_watches_for_a_reader_that_went_ends(place: Place, words: tuple[str, ...]) -> None:
    waiting(place)
    place.abey("session", "resume", "@", code=3)
    with Program(place, *words) as program:
        program.line()
        assert program.read_no_more() == (0, b"")


@pytest.mark.parametrize(
    "words", [("session", "tail", "-f", "@"), ("session", "pending", "--watch"), ("daemon", "logs", "-f")]
)
def test_a_ctrl_c_is_the_last_line_of_json(place: Place, words: tuple[str, ...]) -> None:
    waiting(place)
    place.abey("session", "resume", "@", code=3)
    (place.state / "logs").mkdir()
    (place.state / "logs" / "daemon.log").write_text("a line\n")
    with Program(place, *words, "--json") as program:
        program.value()
        program.signal(signal.SIGINT)
        code, lines = program.rest()
    interrupted = {"code": 0, "message": "interrupted", "data": {"kind": "interrupted"}}
    assert (code, json.loads(lines[-1])) == (130, {"error": interrupted})


def test_the_calls_that_wait_are_told_as_they_come_and_go_over_the_end_of_a_daemon(
    place: Place, nursery: Nursery
) -> None:
    named = waiting(place)
    with Program(place, "session", "pending", "--watch", "--json") as program:
        place.abey("session", "resume", named, code=3)
        [call] = place.rpc("agents/pending")["items"]
        assert program.value() == {"event": {"type": "pending/added", "pending": call}}
        place.kill_daemon()
        nursery.wake(place).close()
        place.abey("session", "deny", call["token"])
        assert program.value() == {"event": {"type": "pending/resolved", "pending": call}}
        other = waiting(place)
        place.abey("session", "resume", other, code=3)
        [call] = place.rpc("agents/pending")["items"]
        assert program.value()["event"]["pending"] == call
        place.abey("session", "delete", other, "--yes", "--force")
        assert program.value() == {"event": {"type": "pending/resolved", "pending": call}}


def test_watching_one_session_in_words(place: Place) -> None:
    named, other = waiting(place), waiting(place)
    with Program(place, "session", "pending", named, "--watch") as program:
        for one in (other, named):
            place.abey("session", "resume", one, code=3)
        [call] = place.rpc("agents/pending", sessionId=named)["items"]
        assert [program.line() for _ in range(4)] == [
            f"token: {call['token']} (bump) approval required",
            f"  session: {named}",
            "  kind: approval",
            "  arguments: {}",
        ]
        place.abey("session", "deny", call["token"])
        assert program.line() == f"resolved: {call['token']} (bump)"


def test_lines_with_events_have_what_the_daemon_says_unasked_and_without_have_not(place: Place) -> None:
    named = waiting(place)
    asked = [
        {"id": 1, "method": "agents/attach", "params": {"sessionId": named, "after": 0}},
        {"id": 2, "method": "agents/run", "params": {"sessionId": named}},
    ]
    text = "".join(f"{json.dumps(one)}\n" for one in asked)
    told = [json.loads(one) for one in place.abey("rpc", "-", "--events", stdin=text).splitlines()]
    [attached] = [one["result"] for one in told if one.get("id") == 1]
    heard = [one["params"] for one in told if one.get("method") == "agents/event"]
    assert attached["replay"] + heard == all_events(place, named)
    assert {one["method"] for one in told if "method" in one} == {"agents/event", "agents/summary"}
    assert told[-1]["id"] == 2
    quiet = place.abey("rpc", "-", stdin=json.dumps({"id": 3, "method": "agents/run", "params": {"sessionId": named}}))
    assert [json.loads(one)["id"] for one in quiet.splitlines()] == [3]


@pytest.mark.parametrize("words", [("rpc", "agents/status", "--events"), ("session", "show", "x", "--events")])
def test_events_where_there_are_none_are_refused(place: Place, words: tuple[str, ...]) -> None:
    assert place.run(*words).code == 2


def test_a_command_line_that_is_killed_at_any_moment_harms_nothing(place: Place) -> None:
    script = [*[calls(("bump", {}))] * 8, says("done")]
    for number in range(6):
        named = started(place, script=script)
        with Program(place, "session", "resume", named, "--events", "--json") as program:
            for _ in range(number * 7):
                program.line()
        until(lambda named=named: place.run("session", "resume", named).code == 0)
    assert place.ran() == 6 * 8
