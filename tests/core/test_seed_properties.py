"""Any transcript of the right shapes: it is taken, kept, and either makes sense or is refused before the network."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.seeds import Value, answered, call, done, final, planted, results, said, text, told
from support.world import CLIENT, answer

from abey.core import events as e
from abey.core.completing import LEGAL, pending_kind
from abey.core.conversation import Message
from abey.core.effects import AskModel
from abey.core.history import history
from abey.core.records import record_of
from abey.core.seed_reading import seed_of
from abey.core.session import open_calls
from abey.core.views import items, session_view
from abey.protocol import outcomes as o
from abey.runtime.models.strictness import misfit_of

TURNS = st.sampled_from(["t1", "t1", "t2", "7", "a b"])
STEPS = st.sampled_from(["s1", "s2", "3"])
IDS = st.sampled_from(["c1", "c2", "c3"])
TOOLS = st.sampled_from(["run", "ask", "no", "ext", "box", "gone"])
CALLS = st.builds(call, IDS, TOOLS, st.sampled_from([{}, {"x": 1}, [], "text"]))
TEXTS = st.builds(text, st.sampled_from(["", "a", "é\ud83d"]))
REASONING = st.just({"type": "reasoning", "text": "hm", "opaque": {"o": [None]}})
OUTPUT = st.lists(st.one_of(CALLS, TEXTS, REASONING), max_size=3)
RESULT = st.one_of(
    st.builds(
        done, IDS, st.sampled_from(["out", {"type": "text", "content": "t"}, {"type": "json", "content": [1]}, None])
    ),
    st.builds(lambda one: {"kind": "denied", "callId": one, "reason": "no"}, IDS),
    st.builds(
        lambda one, code: {"kind": "failed", "callId": one, "code": code}, IDS, st.sampled_from(["tool.cancelled", "x"])
    ),
)
ANSWERED_BEFORE = {"kind": "input", "event": {"kind": "approve", "interactionId": "i", "approved": True}}
ENTRY = st.one_of(
    st.builds(said, st.sampled_from(["hi", ""]), TURNS),
    st.builds(lambda turn: {**ANSWERED_BEFORE, "turnId": turn}, TURNS),
    st.builds(lambda output, turn, step: answered(*output, turn=turn, step=step), OUTPUT, TURNS, STEPS),
    st.builds(
        lambda found, turn, step: results(*found, turn=turn, step=step), st.lists(RESULT, max_size=3), TURNS, STEPS
    ),
    st.builds(final, st.sampled_from(["done", {"a": 1}]), TURNS, STEPS),
)


@st.composite
def sensible(draw: Any) -> list[Value]:
    """A transcript as a session leaves one, cut off anywhere."""
    entries: list[Value] = []
    for turn in range(draw(st.integers(0, 3))):
        name = f"t{turn}"
        entries.append(said("hi", name))
        for step in range(draw(st.integers(0, 2))):
            ids = [f"c{turn}{step}{index}" for index in range(draw(st.integers(1, 3)))]
            step_id = f"s{turn}{step}"
            entries.append(answered(text("so"), *(call(one, draw(TOOLS)) for one in ids), turn=name, step=step_id))
            entries.append(results(*(done(one) for one in ids), turn=name, step=step_id))
        entries += [answered(text("ok"), turn=name, step=f"f{turn}"), final("ok", name, f"f{turn}")]
    return entries[: draw(st.integers(0, len(entries)))]


TRANSCRIPTS = st.one_of(sensible(), st.lists(ENTRY, max_size=8))


@settings(max_examples=300)
@given(TRANSCRIPTS, st.integers(0, 9), st.integers(0, 9))
def test_every_seed_is_taken_and_is_the_same_after_a_restart(entries: list[Value], revision: int, turns: int) -> None:
    world = told(*entries, revision=revision, turnCount=turns)
    before, shown, was = history(world.session), list(items(world.session)), world.session
    assert (world.records[0].rev, len(world.units)) == (revision + 1, 1)
    assert len({item.item_id for item in shown}) == len(shown)
    assert was.turn_count >= turns
    assert (world.starts, world.effects) == ([], [])
    world.crash()
    assert (history(world.session), list(items(world.session)), world.session) == (before, shown, was)


@settings(max_examples=300)
@given(TRANSCRIPTS)
def test_a_step_asks_with_a_history_that_makes_sense_or_is_refused(entries: list[Value]) -> None:
    world = told(*entries)
    while world.session.state == "partialUserTurn":
        one = open_calls(world.session)[0]
        assert "result" in LEGAL[pending_kind(one) or "running"]
        world.send(e.Complete(one.verdict.token, o.Result(content="late"), None, CLIENT))
    if world.session.state == "completed":
        world.send(e.Send(e.NewInput(()), None, CLIENT))
    world.drive()
    asked = world.take(AskModel)
    if misfit_of(asked.request) is None:
        world.send(e.ModelAnswered(asked.invocation_id, answer(text="yes")))
        assert world.session.state == "completed"
        return
    kept = world.session.turns
    world.send(e.ModelCallFailed(asked.invocation_id, "invalid-request", "no", 1))
    assert world.session.state == "userTurn"
    assert [turn.entries for turn in world.session.turns] == [turn.entries for turn in kept]


@settings(max_examples=100)
@given(sensible())
def test_what_makes_sense_is_not_refused(entries: list[Value]) -> None:
    world = told(*entries)
    if world.session.state == "userTurn":
        world.drive()
        assert misfit_of(world.take(AskModel).request) is None


TURN_TOLD_TWICE = [
    said("hi", "t1"),
    {**ANSWERED_BEFORE, "turnId": "t2"},
    answered(call("c1", "run", {}), turn="t1", step="s1"),
    {**ANSWERED_BEFORE, "turnId": "t1"},
]
"""What comes of the second half of `t1` is a turn of its own, under another id."""


@settings(max_examples=200)
@given(TRANSCRIPTS)
@example(TURN_TOLD_TWICE)
def test_a_record_of_a_session_is_a_seed_of_the_same_history(entries: list[Value]) -> None:
    world = told(*entries)
    batch = world.session.batch
    if batch is not None and any(call.final for call in batch.calls):
        return  # a record has no results of half a batch
    again = planted({"transcript": list(record_of(world.session).transcript)})
    assert texts(history(again.session)) == texts(history(world.session))
    assert again.session.state == world.session.state
    pending = session_view(world.machine, world.agent).pending
    assert [one.call_id for one in session_view(again.machine, again.agent).pending] == [one.call_id for one in pending]


@settings(max_examples=100)
@given(TRANSCRIPTS, TRANSCRIPTS)
def test_a_stopped_session_goes_on_from_any_seed(first: list[Value], second: list[Value]) -> None:
    world = told(*first)
    tokens = [one.verdict.token for one in open_calls(world.session)]
    world.send(e.Stop("over", CLIENT))
    world.send(e.Reseed(seed_of({"transcript": second}), CLIENT))
    fresh = told(*second)
    assert (texts(history(world.session)), world.session.state) == (texts(history(fresh.session)), fresh.session.state)
    for token in tokens:
        assert world.send(e.Complete(token, o.Result(content="late"), None, CLIENT)).answer == {"applied": False}
    world.crash()
    assert texts(history(world.session)) == texts(history(fresh.session))


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [repr(message) for message in messages]
