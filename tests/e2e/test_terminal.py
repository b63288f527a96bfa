"""What a person sees in a terminal while a session works, when it asks, and once it has ended."""

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, command, deferred, says, until
from support.terminal import terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

HELD = 'echo "$0 one"; until test -e go; do sleep 0.02; done; echo two'
LONG = "x" * 70


def holding(place: Place, *script: Any, **more: Any) -> str:
    """The file of an agent whose tool `hold` prints a long line, and ends once the file `go` is there."""
    tools = [*place.tools(), command("hold", {"type": "object"}, ["sh", "-c", HELD, LONG])]
    script = script or (calls(("hold", {})), says("all done"))
    return str(place.agent(**{"name": "a", **place.config(script=script, tools=tools, **more)}))


def go(place: Place) -> None:
    (place.work / "go").touch()


def test_what_runs_stands_at_the_bottom_and_leaves_nothing_behind(place: Place) -> None:
    with terminal(place) as seen:
        seen.start("run", "--agent-file", holding(place), "-p", "go")
        busy = seen.shows("    x")
        assert busy[1].startswith("* hold {}")
        assert busy[2] == f"    {LONG} one"
        assert busy[3].startswith("tools ")
        go(place)
        lines = seen.ended()
    assert lines[0].startswith("session-id: ")
    assert lines[1:] == ["* hold {}: completed", f"    {LONG} one", "    two", "all done", "ended with 0"]


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_a_terminal_of_another_size_in_the_middle_is_drawn_as_wide_as_it_is(place: Place, columns: int) -> None:
    with terminal(place) as seen:
        seen.start("run", "--agent-file", holding(place), "-p", "go")
        seen.shows("    x")
        seen.resize(columns, 24)
        until(lambda: seen.screen()[-1][: columns - 1].startswith("tools "), "for another frame")
        go(place)
        whole = "".join(seen.ended())
    assert whole.endswith(f"* hold {{}}: completed    {LONG} one    twoall doneended with 0")


def test_what_a_model_thinks_and_says_is_seen_as_it_comes_and_the_answer_stays_once(place: Place) -> None:
    words = " ".join(f"word{n}" for n in range(12))
    entry = {**says(words), "thinking": "let me see " * 10, "chunkMs": 120}
    with terminal(place) as seen:
        seen.start("run", "--agent-file", holding(place, entry), "-p", "go")
        assert any(line.startswith("~ let me see") for line in seen.shows("~ let me see"))
        seen.shows("word0 word1")
        lines = seen.ended()
    assert "".join(lines[1:]) == f"{words}ended with 0"


def test_with_a_dumb_terminal_there_are_lines_alone(place: Place) -> None:
    go(place)
    with terminal(place) as seen:
        seen.start("run", "--agent-file", holding(place), "-p", "go", TERM="dumb")
        lines = seen.ended()
    assert lines[1:] == ["* hold {}: completed", f"    {LONG} one", "    two", "all done", "ended with 0"]


def test_the_first_ctrl_c_detaches_and_the_second_cancels(place: Place) -> None:
    with terminal(place) as seen:
        seen.start("run", "--agent-file", holding(place), "-p", "go")
        seen.shows("tools ")
        seen.type("C-c")
        detached = seen.shows("Ctrl-C again now cancels the turn")
        seen.type("C-c")
        lines = seen.ended()
    [session] = place.json("session", "list")["items"]
    back = f"abey: detached; come back with `abey session wait {session['sessionId']}`"
    assert ("".join(detached[1:])) == f"{back}Ctrl-C again now cancels the turn"
    assert lines[-2:] == ["^Cabey: the turn was cancelled", "ended with 130"]
    assert session["turn"]["end"] == "cancelled"


def test_a_call_is_asked_about_with_all_that_it_would_do(place: Place) -> None:
    script = [calls(("sh", {"command": "echo 'a\nb'"})), says("all done")]
    with terminal(place, columns=200) as seen:  # the path of the folder is long here
        seen.start("run", "--agent-file", holding(place, *script, rules=[deferred("sh", "you decide")]), "-p", "go")
        asked = seen.shows("[l]ater?")
        begin = asked.index("arguments:")
        assert asked[begin : begin + 5] == [
            "arguments:",
            '  "command":',
            "    | echo 'a",
            "    | b'",
            "reason: you decide",
        ]
        assert f"cwd: {place.work}" in asked
        seen.type("d", "Enter")
        seen.shows("why (empty: no reason):")
        seen.type("not today", "Enter")
        lines = seen.ended()
    assert lines[-2:] == ["all done", "ended with 0"]
    [denied] = [one["call"] for one in place.rpc("agents/transcript", sessionId=only(place))["items"] if "call" in one]
    assert (denied["state"], denied["decision"]["message"]) == ("denied", "not today")


def test_what_was_typed_before_a_call_was_shown_is_no_answer_to_it(place: Place) -> None:
    script = [calls(("hold", {})), calls(("sh", {"command": "touch ran"})), says("all done")]
    with terminal(place) as seen:
        seen.start("run", "--agent-file", holding(place, *script, rules=[deferred("sh", "you decide")]), "-p", "go")
        seen.shows("    x")
        seen.type("a", "Enter", "a", "Enter")
        go(place)
        seen.shows("[l]ater?")
        seen.type("d", "Enter")
        seen.shows("why (empty: no reason):")
        seen.type("Enter")
        assert seen.ended()[-2:] == ["all done", "ended with 0"]
    assert not (place.work / "ran").exists()


def only(place: Place) -> str:
    [session] = place.json("session", "list")["items"]
    return str(session["sessionId"])


def test_who_waits_for_the_end_of_the_turn_is_asked_and_others_may_answer(place: Place) -> None:
    script = [calls(("ext", {})), says("all done")]
    with terminal(place) as seen:
        seen.start("run", "--agent-file", holding(place, *script), "-p", "go", "--until", "turn")
        seen.shows("its result comes from elsewhere: [r]esult, [f]ile, [e]rror, [d]eny, [l]ater?")
        seen.type("l", "Enter")
        token = place.abey("session", "pending", "-q").strip()
        place.abey("session", "complete", token, "--text", "from elsewhere")
        assert seen.ended()[-2:] == ["all done", "ended with 0"]


def test_a_session_is_followed_with_what_goes_on_at_the_moment_below(place: Place) -> None:
    session_id = place.abey("session", "start", "--agent-file", holding(place), "-p", "go", "-q").strip()
    with terminal(place) as seen:
        seen.start("session", "tail", "-f", session_id)
        assert seen.shows("idle ")[0] == "> go"
        place.rpc("agents/run", sessionId=session_id, wait=False)
        seen.shows("tools ")
        go(place)
        seen.shows("turn 1 ended: answered")
        place.abey("session", "stop", session_id, "--yes")
        lines = seen.ended()
    begin = lines.index("* hold {}: completed")
    assert lines[begin:] == [
        "* hold {}: completed",
        f"    {LONG} one",
        "    two",
        "all done",
        "turn 1 ended: answered",
        "the session was stopped",
        "ended with 0",
    ]


def test_the_pending_calls_of_a_session_are_watched_with_those_of_its_children(place: Place) -> None:
    child = place.config(name="reviewer", script=[calls(("bump", {})), says("bumped")], rules=[deferred("bump")])
    (place.agents / "reviewer.json").write_text(json.dumps(child))
    tools = [*place.tools(), {"kind": "agent", "name": "reviewer", "agent": "reviewer"}]
    script = [calls(("reviewer", {"prompt": "look"})), says("reviewed")]
    boss = place.agent(**{"name": "boss", **place.config(script=script, tools=tools)})
    session_id = place.abey("session", "start", "--agent-file", str(boss), "-p", "go", "-q").strip()
    told: list[Any] = []
    program = place.popen("session", "pending", session_id, "--watch", "--json")
    listener = threading.Thread(target=_listen, args=(program.stdout, told), daemon=True)
    listener.start()
    try:
        place.rpc("agents/run", sessionId=session_id, wait=False)
        added = until(lambda: [one for one in told if one["pending"]["tool"] == "bump"], "for the call of the child")
        place.abey("session", "approve", added[0]["pending"]["token"])
        until(lambda: ("pending/resolved", "bump") in [(one["type"], one["pending"]["tool"]) for one in told], "for it")
    finally:
        program.terminate()
        program.communicate(timeout=30)
        listener.join(10)
    assert {one["pending"]["tool"] for one in told} == {"reviewer", "bump"}


def _listen(stream: Any, told: list[Any]) -> None:
    for line in stream:
        told.append(json.loads(line)["event"])


def test_sessions_are_listed_in_a_table_that_fits(place: Place) -> None:
    file = holding(place, calls(("ext", {})), says("x"))
    place.run("run", "--agent-file", file, "-p", "a question that is far longer than a terminal of forty columns")
    shown: dict[int, list[str]] = {}
    for columns in (40, 80, 200):
        with terminal(place, columns) as seen:
            seen.start("session", "list")
            shown[columns] = seen.ended()
    heads = {columns: lines[0].split() for columns, lines in shown.items()}
    assert heads == {
        40: ["session", "state", "title"],
        80: ["session", "state", "age", "cost", "title"],
        200: ["session", "state", "age", "cost", "title", "agent", "folder"],
    }
    assert {columns: len(lines) for columns, lines in shown.items()} == {40: 3, 80: 3, 200: 3}
    assert "waits for a result: ext" in shown[200][1]


def test_a_document_is_laid_out_in_colours_and_plain_in_a_pipe(place: Place, tmp_path: Path) -> None:
    go(place)
    place.run("run", "--agent-file", holding(place), "-p", "go")
    del place.env["NO_COLOR"]
    with terminal(place) as seen:
        seen.start("session", "show", "@")
        shown = seen.ended()
    assert "▌ go" in shown
    assert {"> go", "## Turn 1: answered"} <= set(place.abey("session", "show", "@").splitlines())


def test_a_demo_asks_again_and_says_which_answers_there_are(place: Place) -> None:
    with terminal(place, lines=60) as seen:
        seen.start("demo")
        seen.shows("[a]pprove or [d]eny?")
        seen.type("yes", "Enter")
        seen.shows("a word, or the letter in brackets: approve runs the call, deny does not")
        seen.type("d", "Enter")
        lines = seen.ended()
    decided = [line for line in lines if line.startswith(("$ abey session deny", "$ abey session approve"))]
    assert (lines[-1], len(decided), "deny" in decided[0]) == ("ended with 0", 1, True)
