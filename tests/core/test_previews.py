"""A write is approved with the file that it changes: another file since then, and somebody must look again."""

from collections.abc import Mapping
from typing import Any

import pytest
from support.world import CLIENT, World, answer

from abey.core import events as e
from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.core.dispatch import MOVED_REASON
from abey.core.effects import Refuse, RunTool
from abey.core.hashes import proposed_hash
from abey.core.pending_views import bare_pending
from abey.core.previews import Preview
from abey.core.transition import Transition
from abey.errors import ArgumentsMismatch, InvalidArguments
from abey.protocol.diffs import FileChange
from abey.protocol.outcomes import Approve, Rerun


class Files:
    """One for each value of `x`; `bad` cannot be written."""

    def __init__(self) -> None:
        self.content = {"a": "1", "b": "1"}

    def look(self, _cwd: str, tool: Tool, arguments: Mapping[str, Any]) -> Preview | None:
        name = arguments.get("x", "")
        if tool.name not in ("ask", "run"):
            return None
        if name == "bad":
            return Preview("0", "[nothing would be written: no]", "bad cannot be written")
        return Preview(f"{name}={self.content[name]}", f"-{self.content[name]}\n+new\n")


@pytest.fixture
def files() -> Files:
    return Files()


@pytest.fixture
def world(files: Files) -> World:
    world = World(preview=files.look)
    world.start(run=e.STEP)
    world.model_says(answer(("c1", "ask", '{"x": "a"}')))
    world.drive()
    return world


def approve(world: World, **more: Any) -> Transition:
    call = world.call("ask")
    outcome = Approve(kind="approve", **more)
    return world.send(e.Complete(call.verdict.token, outcome, proposed_hash(world.session, call), CLIENT))


def refusal(done: Transition) -> ArgumentsMismatch:
    error = next(effect.error for effect in done.effects if isinstance(effect, Refuse))
    assert isinstance(error, ArgumentsMismatch)
    return error


def test_a_write_that_waits_is_shown_with_its_diff(world: World) -> None:
    verdict = world.call("ask").verdict
    assert (verdict.preimage, [one.diff for one in bare_pending(world.session)]) == ("a=1", ["-1\n+new\n"])


def test_an_approved_write_runs_on_the_file_that_was_shown(world: World) -> None:
    approve(world)
    run = world.take(RunTool)
    assert (run.arguments, run.preimage) == ({"x": "a"}, "a=1")


def test_a_file_that_changed_since_it_was_shown_has_to_be_looked_at_again(world: World, files: Files) -> None:
    token = world.call("ask").verdict.token
    files.content["a"] = "2"
    error = refusal(approve(world))
    call = world.call("ask")
    assert (call.state, call.verdict.token, call.verdict.preimage) == ("deferred", token, "a=2")
    assert call.verdict.reason == f"approval required; {MOVED_REASON}"
    assert error.details == {"argumentsHash": proposed_hash(world.session, call), "diff": "-2\n+new\n"}
    approve(world)
    assert world.take(RunTool).preimage == "a=2"


def test_a_hash_of_before_is_a_mismatch_with_the_new_diff(world: World, files: Files) -> None:
    call = world.call("ask")
    old = proposed_hash(world.session, call)
    files.content["a"] = "2"
    approve(world)
    with pytest.raises(ArgumentsMismatch) as refused:
        world.send(e.Complete(call.verdict.token, Approve(kind="approve"), old, CLIENT))
    assert refused.value.details["diff"] == "-2\n+new\n"


def test_edited_arguments_are_bound_to_the_file_that_they_name(world: World, files: Files) -> None:
    approve(world, arguments={"x": "b"})
    run = world.take(RunTool)
    assert (run.arguments, run.preimage) == ({"x": "b"}, "b=1")


def test_edited_arguments_that_write_nothing_are_refused_and_the_call_still_waits(world: World) -> None:
    with pytest.raises(InvalidArguments, match="bad cannot be written"):
        approve(world, arguments={"x": "bad"})
    assert world.call("ask").state == "deferred"


def test_a_file_that_changes_between_the_approval_and_the_start_stops_it(world: World, files: Files) -> None:
    world.send(e.Pause("later", CLIENT))
    approve(world, arguments={"x": "b"})
    files.content["b"] = "2"
    world.drive(resume=True)
    call = world.call("ask")
    assert (call.state, call.verdict.preimage, call.resolution) == ("deferred", "a=1", None)
    assert not [one for one in world.effects if isinstance(one, RunTool)]


def test_what_a_call_has_changed_is_kept_with_it(world: World) -> None:
    approve(world)
    changes = (FileChange(path="a", kind="modified", patch="-1\n+new\n"),)
    world.send(e.ToolEnded(world.take(RunTool).invocation_id, ToolOutcome("done", changes=changes)))
    world.crash()
    assert world.call("ask").finished.changes == changes


def test_what_would_write_nothing_fails_at_once_and_nobody_is_asked(files: Files) -> None:
    world = World(preview=files.look)
    world.start(run=e.STEP)
    world.model_says(answer(("c1", "ask", '{"x": "bad"}'), ("c2", "run", '{"x": "a"}')))
    world.drive()
    call = world.call("ask")
    assert (call.state, call.finished.error, call.finished.output, call.verdict) == (
        "failed",
        "tool/failed",
        "tool/failed: bad cannot be written",
        None,
    )
    assert world.take(RunTool).preimage is None


def test_a_write_that_was_cut_off_is_run_again_only_on_the_file_as_it_is_now(world: World, files: Files) -> None:
    approve(world)
    files.content["a"] = "new"
    world.crash()
    call = world.call("ask")
    assert call.state == "uncertain"
    shown = bare_pending(world.session)[0].arguments_hash
    done = world.send(e.Complete(call.verdict.token, Rerun(kind="rerun"), shown, CLIENT))
    assert refusal(done).details["diff"] == "-new\n+new\n"
