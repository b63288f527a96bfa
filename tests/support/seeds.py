"""Portable transcripts for the tests, and a world that begins with one."""

from typing import Any

from support.world import CLIENT, World

from abey.core import events as e
from abey.core.seed_reading import seed_of
from abey.core.transition import begin
from abey.protocol import journal as j

Value = dict[str, Any]


def said(text: str, turn: str = "t1") -> Value:
    return {"kind": "input", "turnId": turn, "event": {"kind": "user-message", "text": text}}


def answered(*output: Value, turn: str = "t1", step: str = "s1", **more: Any) -> Value:
    return {"kind": "candidate", "turnId": turn, "stepId": step, "candidate": {"output": list(output), **more}}


def results(*told: Value, turn: str = "t1", step: str = "s1") -> Value:
    return {"kind": "tool-results", "turnId": turn, "stepId": step, "results": list(told)}


def final(output: Any, turn: str = "t1", step: str = "s1") -> Value:
    return {"kind": "final", "turnId": turn, "stepId": step, "output": output}


def text(words: str) -> Value:
    return {"type": "text", "text": words}


def call(call_id: str, tool: str = "run", args: Any = None, **more: Any) -> Value:
    return {"type": "tool-call", "id": call_id, "name": tool, "args": {} if args is None else args, **more}


def done(call_id: str, output: Any = "out") -> Value:
    return {"kind": "completed", "callId": call_id, "toolName": "run", "output": output}


def planted(seed: Value, world: World | None = None) -> World:
    """A session that begins with the seed."""
    world = world or World()
    created = j.Created(
        session_id="s1", agent="a", config={}, config_hash=world.agent.config_hash, cwd="/w", title="t", client=CLIENT
    )
    event = e.Start(created, None, None, seed_of(seed))
    world._took(begin(event, world.context(), world.key_of(event)), None)
    return world


def told(*entries: Value, **more: Any) -> World:
    """The same of a transcript alone."""
    return planted({"transcript": list(entries), **more})


NONSENSE: dict[str, tuple[Value, ...]] = {
    "results of a call that was never made": (said("hi"), results(done("c1"))),
    "results twice": (said("hi"), answered(call("c1")), results(done("c1")), results(done("c1"))),
    "results out of order": (said("hi"), answered(call("c1"), call("c2")), results(done("c2"), done("c1"))),
    "one result twice": (said("hi"), answered(call("c1")), results(done("c1"), done("c1"))),
    "a call that nobody answers": (said("hi"), answered(call("c1")), said("and?")),
    "one of two calls that nobody answers": (
        said("hi"),
        answered(call("c1"), call("c2")),
        results(done("c1")),
        said("!"),
    ),
    "a call that an answer follows": (
        said("hi"),
        answered(call("c1")),
        answered(text("ok"), step="s2"),
        said("?", "t2"),
    ),
    "a call that the end follows": (said("hi"), answered(call("c1")), final("ok"), said("?", "t2")),
    "a call id twice": (
        said("hi"),
        answered(call("c1")),
        results(done("c1")),
        answered(call("c1"), step="s2"),
        results(done("c1"), step="s2"),
    ),
    "a call id twice at once": (said("hi"), answered(call("c1"), call("c1")), results(done("c1"), done("c1"))),
    "an answer first": (answered(text("hi")), said("what?", "t2")),
    "the end first": (final("hi"), said("what?", "t2")),
    "two answers": (said("hi"), answered(text("a")), answered(text("b"), step="s2"), said("?", "t2")),
}
"""Transcripts of the right shapes that no provider takes; the user spoke last in them, or results came."""
