"""What every client is told of every session, whatever it is attached to (protocol.md, Notifications)."""

from collections.abc import Callable

import pytest
from support.stories import batch, complete, crashed, dispatched
from support.world import CLIENT, World, answer, text_parts

from abey.core import events as e
from abey.core.views import damaged_summary, summary_view
from abey.protocol import outcomes as o
from abey.protocol.transcript import Question


def empty() -> World:
    world = World()
    world.start(None)
    return world


def asked() -> World:
    world = World()
    world.start("hello")
    return world


def thinking() -> World:
    world = World()
    world.start("hello", e.STEP)
    return world


def failed() -> World:
    world = thinking()
    world.send(e.ModelCallFailed(world.effects[0].invocation_id, "auth", "no key", 1))
    return world


def answered() -> World:
    world = thinking()
    world.model_says(answer(text="done"))
    return world


def questioned() -> World:
    world = dispatched("run")
    world.send(e.ToolAsked(world.effects[0].invocation_id, Question(kind="approval", prompt="sure?")))
    return world


def everything() -> World:
    """A call of each kind that a batch can have at once, the most urgent one last."""
    world = dispatched("ext", "ask", "run", "bg")
    world.send(e.ToolAsked(world.effects[0].invocation_id, Question(kind="approval", prompt="sure?")))
    return world


def approved() -> World:
    world = dispatched("ask", "ext")
    complete(world, "c1", o.Approve())
    return world


def paused() -> World:
    world = dispatched("ask")
    world.send(e.Pause("lunch", CLIENT))
    return world


def cancelled() -> World:
    world = dispatched("ask")
    world.send(e.Cancel(None, None, CLIENT))
    return world


def stopped(world: World) -> World:
    world.send(e.Stop("over", CLIENT))
    return world


def queued() -> World:
    world = dispatched("ask")
    world.send(e.Send(e.NewInput(text_parts("more"), "i1", "queue"), None, CLIENT))
    return world


STORIES: dict[str, tuple[Callable[[], World], tuple[str, str, int, str]]] = {
    "no input yet": (empty, ("completed", "idle", 0, "none")),
    "input": (asked, ("userTurn", "idle", 0, "none")),
    "a model call": (thinking, ("userTurn", "model", 0, "none")),
    "a model call that failed": (failed, ("userTurn", "idle", 0, "error")),
    "stopped after that": (lambda: stopped(failed()), ("stopped", "idle", 0, "none")),
    "an answer": (answered, ("completed", "idle", 0, "none")),
    "calls nobody has judged": (lambda: batch("ask"), ("llmTurn", "idle", 0, "none")),
    "a tool": (lambda: dispatched("run"), ("partialUserTurn", "tools", 0, "none")),
    "a tool in the background": (lambda: dispatched("bg"), ("partialUserTurn", "idle", 0, "none")),
    "an approval": (lambda: dispatched("ask"), ("partialUserTurn", "idle", 1, "approval")),
    "an approval, and it runs": (approved, ("partialUserTurn", "idle", 1, "external")),
    "a result from outside": (lambda: dispatched("ext"), ("partialUserTurn", "idle", 1, "external")),
    "a question": (questioned, ("partialUserTurn", "idle", 1, "question")),
    "a call that may have run": (lambda: crashed("run"), ("partialUserTurn", "idle", 1, "uncertain")),
    "several, of which one is the most urgent": (everything, ("partialUserTurn", "idle", 3, "question")),
    "a pause": (paused, ("partialUserTurn", "idle", 1, "approval")),
    "a cancel": (cancelled, ("completed", "idle", 0, "none")),
    "a stop": (lambda: stopped(dispatched("ask")), ("stopped", "idle", 0, "none")),
    "a queued input": (queued, ("partialUserTurn", "idle", 1, "approval")),
}


@pytest.mark.parametrize("name", STORIES)
def test_the_summary_says_how_many_calls_wait_and_what_is_wanted_first(name: str) -> None:
    story, (state, activity, pending, attention) = STORIES[name]
    world = story()
    assert world.machine is not None
    assert summary_view(world.machine).wire() == {
        "sessionId": "s1",
        "title": "t",
        "cwd": "/w",
        "state": state,
        "activity": activity,
        "revision": world.session.revision,
        "pendingCount": pending,
        "attention": attention,
    }


def test_a_call_of_a_damaged_session_waits_for_nobody_and_the_session_for_somebody() -> None:
    machine = dispatched("ask").machine
    assert machine is not None
    whole, damaged = summary_view(machine), damaged_summary(machine)
    assert damaged == whole.model_copy(update={"pending_count": 0, "attention": "error"})
