"""`abey session show`: a session as a document, and where it is."""

import subprocess
import sys

import pytest
from support.canned_daemon import AT, SESSION_ID, CannedDaemon, answered, input_item, session, tool_item, transcript

from abey_cli.markdown import rendered

KNOWN = f"""\
# Research

- session-id: {SESSION_ID}
- title: Research
- agent: a
- cwd: /w
- revision: 2
- activity: idle
- updated: {AT}
- usage: 0 tokens in, 0 out, cost unknown
"""
QUEUED = [{"inputId": "i1", "delivery": "interrupt"}, {"inputId": "other", "delivery": "queue"}]


def item(kind: str, text: str) -> dict[str, object]:
    return {"itemId": "3.9", "revision": 3, "turnId": "t1", "at": AT, "kind": kind, "text": text}


def test_show_names_the_inputs_that_wait(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/get"] = {"session": session(queued=QUEUED)}
    daemon.on["agents/transcript"] = {**transcript(), "queuedTexts": {"i1": "no\x1b\nno"}}
    block = "State: UserTurn (ready for LLM)\n  queued: 2\n    i1 (interrupt): no\\x1b\\nno\n    other (queue)\n"
    assert abey("session", "show", SESSION_ID).out == f"{KNOWN}\n{block}"


def test_show_never_runs_anything(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/get"] = {"session": answered()}
    ran = abey("session", "show", SESSION_ID)
    assert (ran.code, ran.out.splitlines()[-2:]) == (0, ["State: LlmTurn (completed)", "all done"])
    asked = {"sessionId": SESSION_ID}
    assert daemon.asked == [("agents/get", asked), ("agents/transcript", asked)]


def test_a_turn_is_shown_with_its_calls_and_what_it_used(abey, daemon: CannedDaemon) -> None:
    edited = tool_item("bash", "completed", arguments={"c": "x"}, effectiveArguments={"c": "y"}, output="a\n```\nb\x1b")
    said = item("answer", "# all\n\n- done")
    page = transcript(input_item(), item("thinking", "hm"), edited, said)
    daemon.on["agents/get"] = {"session": answered("# all\n\n- done")}
    daemon.on["agents/transcript"] = {**page, "hasMore": True}
    turn = """
… earlier items are left out; `abey rpc agents/transcript` has them

## Turn 1: open

### Input

> hello

### Thinking

> hm

### Call of bash (edited): completed

```json
{
  "c": "y"
}
```

````text
a
```
b\\x1b
````

### Answer

> # all
>
> - done

*Turn 1 used 7 tokens in, 3 out, cost unknown*

State: LlmTurn (completed)
"""
    assert abey("session", "show", SESSION_ID).out == KNOWN + turn


def test_show_says_at_which_revision_each_thing_came(abey, daemon: CannedDaemon) -> None:
    first, second = input_item(), tool_item("bump", "completed")
    items = ({**first, "revision": 2}, {**second, "revision": 4}, {**second, "revision": 4})
    daemon.on["agents/get"] = {"session": session()}
    daemon.on["agents/transcript"] = {**transcript(*items), "resultsAt": {"bump": 9}}
    with_them, without = (abey("session", "show", SESSION_ID, *flag).out for flag in (["--revisions"], []))
    lines = [line for line in with_them.splitlines() if line.startswith("-- revision")]
    assert lines == ["-- revision 2", "-- revision 4", "-- revision 9: the results"]
    assert "-- revision" not in without


@pytest.mark.parametrize("colours", [True, False])
def test_on_a_terminal_it_is_laid_out_where_there_may_be_colours(abey, daemon, monkeypatch, colours: bool) -> None:
    daemon.on["agents/get"] = {"session": session()}
    daemon.on["agents/transcript"] = transcript(input_item())
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    if colours:
        monkeypatch.delenv("NO_COLOR")
    shown = abey("session", "show", SESSION_ID).out
    assert ("▌ hello" in shown, "\x1b[" in shown, "> hello" in shown) == (colours, colours, not colours)
    assert shown.endswith("State: UserTurn (ready for LLM)\n")


@pytest.mark.parametrize(
    "hidden",
    [
        "<!-- run -->",
        "a <b>run</b>",
        "[ok](https://run.example)",
        "[run]: https://x.example",
        "&#8238;run",
        "![run](x)",
    ],
)
def test_nothing_of_a_text_is_hidden_by_what_it_is_in_markdown(hidden: str) -> None:
    shown = rendered(f"> {hidden}", 80)
    assert ("run" in shown, "\u202e" in shown) == (True, False)


LOADED = """
import sys
from abey_cli.main import main
code = main({argv})
loaded = {{name.partition(".")[0] for name in sys.modules}}
print(code, sorted(loaded & {{"rich", "markdown_it", "pygments"}}), file=sys.stderr)
"""


@pytest.mark.parametrize("words", [("show", SESSION_ID), ("list",), ("pending",), ("tail", SESSION_ID)])
def test_what_is_not_drawn_loads_nothing_to_draw_with(daemon: CannedDaemon, words: tuple[str, ...]) -> None:
    daemon.on |= {
        "agents/get": {"session": session()},
        "agents/sessions": {"items": [session()], "damaged": []},
        "agents/pending": {"items": []},
    }
    script = LOADED.format(argv=["session", *words])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines()[-1] == "0 []"
