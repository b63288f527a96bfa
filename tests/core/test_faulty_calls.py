"""Calls that cannot run: the model is told at once, and the turn goes on (machine.md, Calls)."""

import pytest
from support.stories import Came, came, dispatched, find, proposed, states
from support.world import answer

from abey.core.effects import RunTool
from abey.protocol import journal as j

FAULTS = {
    "unknown tool": (
        ("c1", "gone", "{}"),
        "tool/unknown",
        "there is no tool named gone; the tools are: alone, ask, bg, box, ext, no, run, safe, soon",
    ),
    "not JSON": (
        ("c1", "run", "{not json"),
        "tool/invalid-arguments",
        "the arguments are not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    ),
    "NaN": (("c1", "run", '{"x": NaN}'), "tool/invalid-arguments", "the arguments are not JSON: NaN is not JSON"),
    "a number nothing can write down": (
        ("c1", "run", '{"y": 1e999}'),
        "tool/invalid-arguments",
        "the arguments are not JSON: 1e999 is too large a number",
    ),
    "too deep": (
        ("c1", "run", "[" * 100_000),
        "tool/invalid-arguments",
        "the arguments are not JSON: nested too deep",
    ),
    "not an object": (("c1", "run", "[]"), "tool/invalid-arguments", "the arguments are not a JSON object"),
    "against the schema": (("c1", "run", '{"x": 1}'), "tool/invalid-arguments", "at /x: not a string"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_call_that_cannot_run_fails_at_once_and_the_turn_goes_on(name: str) -> None:
    call, kind, message = FAULTS[name]
    world = proposed(call)
    done = world.drive()
    assert came(done) == Came(["call-finished", "tool-results"], ["end advanced after 1"], "userTurn")
    assert done.records[0].data == j.CallFinished(
        call_id="c1", outcome="failed", output=f"{kind}: {message}", error=kind
    )


def test_an_empty_arguments_text_is_an_empty_object() -> None:
    world = proposed(("c1", "run", ""))
    world.drive()
    assert world.take(RunTool).arguments == {}


def test_an_empty_id_gets_one_of_ours_and_a_failed_result() -> None:
    world = proposed(("", "run", "{}"), ("c2", "run", "{}"))
    ours, second = states(world)
    done = world.drive()
    assert came(done).wrote == ["call-finished", "call-decided", "call-started"]
    assert (len(ours), second) == (26, "c2")
    assert done.records[0].data == j.CallFinished(
        call_id=ours,
        outcome="failed",
        output="tool/invalid-call-id: the call's id is empty or repeated; ask again with a new one",
        error="tool/invalid-call-id",
    )


def test_a_repeated_id_fails_the_later_call_under_an_id_of_ours() -> None:
    world = proposed(("c1", "run", "{}"), ("c1", "run", "{}"))
    world.drive()
    first, second = find(world, "c1"), list(states(world).items())[1]
    assert (first.state, second[1], len(second[0])) == ("running", "failed", 26)
    assert find(world, second[0]).finished.error == "tool/duplicate-call-id"


def test_an_id_that_an_earlier_answer_used_is_renamed_and_runs() -> None:
    world = dispatched("run")
    world.tool_ends()
    world.drive()
    world.model_says(answer(("c1", "run", "{}")))
    world.drive()
    ids = list(states(world))
    assert (ids[0], len(ids[1]), list(states(world).values())) == ("c1", 26, ["completed", "running"])
