"""What goes on in a session at the moment: events in, a view out, and the lines that stand on a terminal for it."""

from dataclasses import replace
from typing import Any

import pytest
from support.canned_daemon import pending, session, tool_item

from abey_cli.drawing import Drawn, Region
from abey_cli.live_frame import frame
from abey_cli.live_view import Running, Stream, View, seen, view_of

RUNNING = Running("sh", "sh", "{}", 1.0)


def delta(kind: str, offset: int, text: str) -> Any:
    return {"type": "item/delta", "itemId": "s.0", "kind": kind, "offset": offset, "text": text}


def changed(state: str) -> Any:
    return {"type": "item/updated", "item": tool_item("sh", state)}


def after(*events: Any, view: View | None = None) -> View:
    view = view or View(0.0)
    for event in events:
        view = seen(view, event, 1.0)
    return view


@pytest.mark.parametrize(
    ("events", "view"),
    [
        (
            [delta("thinking", 0, "a"), delta("thinking", 1, "b"), delta("answer", 0, "c")],
            View(1.0, "model", Stream("ab", 2), Stream("c", 1)),
        ),
        ([delta("answer", 0, "abc"), delta("answer", 0, "x")], View(1.0, "model", answer=Stream("x", 1))),
        ([delta("answer", 0, "ab"), delta("answer", 4, "x")], View(1.0, "model", answer=Stream("ab\n…\nx", 5))),
        ([delta("answer", 0, "a"), {"type": "item/completed", "item": {"kind": "answer"}}], View(1.0, "model")),
        ([changed("running")], View(0.0, calls=(RUNNING,))),
        ([changed("running"), changed("running"), changed("completed")], View(0.0)),
        (
            [changed("running"), {"type": "tool/progress", "callId": "sh", "offset": 0, "text": "out"}],
            View(0.0, calls=(replace(RUNNING, printed=Stream("out", 3)),)),
        ),
        (
            [
                changed("running"),
                {"type": "tool/progress", "callId": "sh", "message": "half", "progress": 1, "total": 2},
            ],
            View(0.0, calls=(replace(RUNNING, says="half 1 of 2"),)),
        ),
        ([{"type": "tool/progress", "callId": "another", "offset": 0, "text": "out"}], View(0.0)),
        ([{"type": "usage", "usage": {"inputTokens": 3}}], View(0.0, usage={"inputTokens": 3})),
        ([{"type": "activity", "activity": "tools"}], View(1.0, "tools")),
        ([{"type": "something/new"}], View(0.0)),
    ],
)
def test_each_event_makes_another_view(events: list[Any], view: View) -> None:
    assert after(*events) == view


def test_a_session_begins_with_what_runs_there_and_what_waits() -> None:
    running = pending(kind="running", callId="sh", outputSoFar="so far", childId="kid", reason="session kid waits")
    found = session(activity="tools", pending=[running], queued=[{"inputId": "i", "delivery": "turn"}])
    call = replace(RUNNING, printed=Stream("so far"))
    usage = {"inputTokens": 0, "outputTokens": 0}
    assert view_of(found, [tool_item("sh", "running")], 1.0) == View(1.0, "tools", calls=(call,), queued=1, usage=usage)
    told = after({"type": "session/updated", "session": found}, view=View(1.0, calls=(RUNNING,)))
    assert told.calls == (replace(RUNNING, says="session kid waits"),)


BUSY = View(
    0.0,
    "tools",
    thinking=Stream("one two three " * 50, 700),
    answer=Stream("an answer with 漢字 " * 200, 4000),
    calls=tuple(replace(RUNNING, call_id=str(n), printed=Stream("line\n" * 30, 150), says="half") for n in range(9)),
    queued=2,
    usage={"inputTokens": 12, "outputTokens": 3},
)


@pytest.mark.parametrize("columns", [10, 20, 40, 80, 200])
@pytest.mark.parametrize("lines", [2, 5, 24, 60])
def test_a_frame_is_never_wider_or_higher_than_the_terminal(columns: int, lines: int) -> None:
    drawn = frame(BUSY, 75.0, (columns, lines), colours=False)
    assert (len(drawn) < lines, all(line.cells <= max(columns - 1, 1) for line in drawn)) == (True, True)


def test_a_frame_says_what_is_thought_said_and_run_and_for_how_long() -> None:
    view = replace(
        BUSY, thinking=Stream("a\nb\nc\nd"), answer=Stream("so"), calls=(replace(RUNNING, printed=Stream("x\ty\n")),)
    )
    assert [line.text for line in frame(view, 75.0, (80, 24), colours=False)] == [
        "~ b",
        "~ c",
        "~ d",
        "so",
        "* sh {} 1 min 14 s",
        "    x   y",
        "tools 1 min 15 s, 2 queued, 12 tokens in, 3 out, cost unknown",
    ]


def test_hostile_text_does_not_act_in_a_frame() -> None:
    bite = "\x1b[2J\u202e\r\x07"
    call = replace(RUNNING, tool=bite, arguments=bite, printed=Stream(bite), says=bite)
    drawn = frame(View(0.0, bite, Stream(bite), Stream(bite), (call,)), 9.0, (80, 24), colours=False)
    assert {character for line in drawn for character in line.text if not character.isprintable()} == set()


def test_what_was_drawn_is_taken_away_also_where_the_terminal_became_narrower() -> None:
    region = Region()
    lines = [Drawn("a" * 30, 30), Drawn("b", 1)]
    begin, end = "\x1b[?2026h", "\x1b[?2026l"
    assert region.redrawn(lines, 40) == f"{begin}{'a' * 30}\nb{end}"
    assert region.redrawn(lines, 40) == ""
    assert region.redrawn([Drawn("c", 1)], 40) == f"{begin}\r\x1b[2K\x1b[A\x1b[2Kc{end}"
    assert region.redrawn(lines, 40) == f"{begin}\r\x1b[2K{'a' * 30}\nb{end}"
    assert (region.wiped(10), region.wiped(10)) == ("\r\x1b[2K\x1b[A\x1b[2K\x1b[A\x1b[2K\x1b[A\x1b[2K", "")
