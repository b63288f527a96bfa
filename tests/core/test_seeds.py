"""Sessions that begin with a value of elsewhere, or go on from one (machine.md, Seeds)."""

from dataclasses import replace
from typing import Any

import pytest
from support.seeds import NONSENSE, Value, answered, call, done, final, planted, results, said, text, told
from support.world import CLIENT, World, agent, answer, tool

from abey.core import events as e
from abey.core.agent import ToolSource
from abey.core.call import LEFT_OPEN_REASON
from abey.core.completing import pending_kind
from abey.core.conversation import AssistantMessage, CallMessage, Message, ModelRequest, ResultMessage, UserMessage
from abey.core.effects import AskModel
from abey.core.finding import find_call
from abey.core.history import history
from abey.core.projection import marks_of, render
from abey.core.replay import apply, fold
from abey.core.seed_reading import seed_of
from abey.core.session import InputEntry, open_calls
from abey.core.views import items, session_view
from abey.errors import InvalidState
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.transcript import FilePart, MediaPart, TextPart
from abey.runtime.models.strictness import misfit_of


def user(*texts: str) -> UserMessage:
    return UserMessage(tuple(TextPart(text=one) for one in texts))


def model(words: str = "", *calls: CallMessage) -> AssistantMessage:
    return AssistantMessage((TextBlock(text=words),) if words else (), calls)


def sent(world: World) -> tuple[Message, ...]:
    return history(world.session)


def test_a_seed_is_a_unit_that_starts_after_its_own_revision() -> None:
    world = told(said("hi"), revision=7, turnCount=3, userId="u1", context={"a": [1, None]})
    assert [(record.rev, record.data.type) for record in world.records] == [(8, "created"), (9, "seeded")]
    assert world.units == [2]
    session = world.session
    assert (session.revision, session.first_rev, session.state) == (9, 8, "userTurn")
    assert (session.user_id, session.context, session.turn_count) == ("u1", {"a": [1, None]}, 3)
    assert (session.turn.turn_id, session.turn.n, session.turn.end) == ("t1", 3, None)
    world.crash()
    world.drive()
    assert world.records[-1].rev == 10
    world.model_says(answer(text="yes"))
    assert (world.session.state, world.session.revision, world.session.turn.n) == ("completed", 12, 3)
    world.send(e.Send(e.NewInput((TextPart(text="more"),)), None, CLIENT))
    assert world.session.turn.n == 4


def test_an_empty_transcript_has_no_input_yet_and_goes_on_counting() -> None:
    world = told(turnCount=5)
    assert (world.session.state, world.session.turns, world.session.turn_count) == ("completed", (), 5)
    world.send(e.Send(e.NewInput((TextPart(text="hi"),)), None, CLIENT))
    assert world.session.turn.n == 6


@pytest.mark.parametrize(
    ("entries", "state", "end"),
    [
        ((said("hi"),), "userTurn", None),
        ((said("hi"), answered(call("c1")), results(done("c1"))), "userTurn", None),
        ((said("hi"), answered(text("yes"))), "completed", None),
        ((said("hi"), answered(text("yes")), final("yes")), "completed", "answered"),
        ((said("hi"), answered(text("yes")), final("yes"), said("and?", "t2")), "userTurn", None),
        ((said("hi"), answered(call("c1")), results(), said("no", "t1")), "userTurn", None),
        ((said("hi"), final("yes")), "completed", "answered"),
        ((said("hi"), answered(call("c1")), results(done("c1"), turn="t2")), "userTurn", None),
        ((said("hi"), answered(call("c1"))), "partialUserTurn", None),
        ((said("hi"), answered(call("c1", "no"))), "userTurn", None),
        ((said("hi"), answered(call("c1", "gone"), call("c2", args=3))), "userTurn", None),
    ],
)
def test_the_last_entry_says_what_the_next_step_does(entries: tuple[Value, ...], state: str, end: str | None) -> None:
    world = told(*entries)
    assert (world.session.state, world.session.turn.end) == (state, end)
    world.crash()
    assert world.session.state == state


def test_an_answer_without_its_end_is_closed_by_the_next_record() -> None:
    world = told(said("hi"), answered(text("yes"), step="s7"))
    world.send(e.Send(e.NewInput((TextPart(text="more"),)), None, CLIENT))
    assert world.types(2) == ["final", "input"]
    assert world.records[2].data == j.Final(turn_id="t1", step_id="s7")


def test_every_shape_becomes_what_a_model_is_sent() -> None:
    parts = [{"kind": "text", "text": "a"}, {"kind": "file", "path": "/f"}]
    content = [
        {"type": "text", "text": "b"},
        {"type": "media", "mediaType": "image/png", "reference": {"base64Data": "QQ=="}},
        {"type": "media", "mediaType": "image/png", "reference": {"path": "/p.png"}},
        {"type": "media", "mediaType": "image/png", "reference": {"blob": 7}},
    ]
    world = told(
        {"kind": "input", "turnId": "t1", "event": "plain"},
        {"type": "input", "turnId": "t1", "event": {"type": "interrupt", "content": "second", "metadata": {"x": 1}}},
        {"kind": "input", "turnId": "t1", "event": {"kind": "user-message", "parts": parts}},
        {"kind": "input", "turnId": "t1", "event": {"content": content}},
        answered(
            {"type": "reasoning", "text": "hm", "signature": "sig", "opaque": {"o": 1}},
            {"type": "json", "value": {"j": 1}},
            call("c1", args={"x": "é"}),
            call("c2", args={"x": 1}, raw='{ "x": 1 }'),
            call("c3"),
            call("c4"),
            call("c5"),
            finishReason="tool-calls",
            usage={"inputTokens": 3, "costUsd": 1},
            evidence={"requestId": "r", "warnings": ["w"], "extras": {}},
        ),
        {"kind": "input", "turnId": "t1", "event": {"kind": "approve", "interactionId": "i", "approved": True}},
        results(
            done("c1", {"type": "text", "content": "one"}),
            done("c2", {"type": "json", "content": [2]}),
            {"kind": "denied", "callId": "c3", "reason": "no"},
            {"kind": "failed", "callId": "c4", "code": "tool.cancelled"},
            {"kind": "failed", "callId": "c5", "toolName": "run", "code": "x", "message": "m", "output": {"e": 1}},
        ),
    )
    assert sent(world) == (
        UserMessage(
            (
                TextPart(text="plain"),
                TextPart(text="second"),
                TextPart(text="a"),
                FilePart(path="/f"),
                TextPart(text="b"),
                MediaPart(mime_type="image/png", base64_data="QQ=="),
                MediaPart(mime_type="image/png", path="/p.png"),
                TextPart(text="[image/png, which is not here]"),
            )
        ),
        AssistantMessage(
            (ThinkingBlock(text="hm", signature="sig", opaque={"o": 1}), TextBlock(text='{"j":1}')),
            (
                CallMessage("c1", "run", '{"x":"é"}'),
                CallMessage("c2", "run", '{ "x": 1 }'),
                *(CallMessage(one, "run", "{}") for one in ("c3", "c4", "c5")),
            ),
        ),
        ResultMessage("c1", "run", "one", is_error=False),
        ResultMessage("c2", "run", [2], is_error=False),
        ResultMessage("c3", "run", "no", is_error=True),
        ResultMessage("c4", "run", "tool.cancelled", is_error=True),
        ResultMessage("c5", "run", {"e": 1}, is_error=True),
    )
    states = [item.call.state for item in items(world.session) if item.call is not None]
    assert states == ["completed", "completed", "denied", "cancelled", "failed"]
    assert len({item.item_id for item in items(world.session)}) == len(list(items(world.session)))


def test_what_is_left_open_waits_at_once_and_is_never_approved() -> None:
    asked = ("run", "bg", "ask", "ext", "box", "safe", "no", "gone")
    world = told(said("hi"), answered(*(call(f"c-{one}", one) for one in asked)))
    assert world.units == [len(world.records)]
    assert world.types()[-1] == "waiting"
    kinds = {one.tool: pending_kind(one) for one in open_calls(world.session)}
    waits = dict.fromkeys(("run", "bg", "ask", "safe"), "approval")
    assert kinds == {**waits, "ext": "external", "box": "external"}
    assert {one.tool: one.state for one in (world.call("no"), world.call("gone"))} == {"no": "denied", "gone": "failed"}
    reasons = {one.tool: one.reason for one in session_view(world.machine, world.agent).pending}
    assert reasons == {
        **dict.fromkeys(("run", "bg", "ask", "safe", "ext"), LEFT_OPEN_REASON),
        "box": "isolated runner required",
    }
    for run in (e.STEP, e.UNTIL_YIELD):
        world.drive(run)
    assert (world.starts, world.session.state) == ([], "partialUserTurn")


def test_a_call_that_was_left_open_runs_once_somebody_says_so() -> None:
    world = told(said("hi"), answered(call("c1"), call("c2")))
    (first, second) = session_view(world.machine, world.agent).pending
    world.send(e.Complete(first.token, o.Approve(), first.arguments_hash, CLIENT))
    world.tool_ends("run", "fresh")
    world.send(e.Complete(second.token, o.Result(content="theirs"), None, CLIENT))
    assert world.session.state == "userTurn"
    assert [message.content for message in sent(world) if isinstance(message, ResultMessage)] == ["fresh", "theirs"]


def test_half_a_batch_keeps_the_results_that_it_has() -> None:
    world = told(said("hi"), answered(call("c1"), call("c2"), call("c3")), results(done("c2", "two")))
    assert [one.call_id for one in open_calls(world.session)] == ["c1", "c3"]
    for token in [one.token for one in session_view(world.machine, world.agent).pending]:
        world.send(e.Complete(token, o.Result(content="later"), None, CLIENT))
    told_of = [message.content for message in sent(world) if isinstance(message, ResultMessage)]
    assert (told_of, world.session.state) == (["later", "two", "later"], "userTurn")


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_kept_as_it_came_and_no_provider_would_be_asked(name: str) -> None:
    world = told(*NONSENSE[name])
    assert world.session.state == "userTurn"
    world.drive()
    asked = world.take(AskModel)
    assert misfit_of(asked.request) is not None
    world.send(e.ModelCallFailed(asked.invocation_id, "invalid-request", "no", 1))
    assert (world.session.state, world.session.last_error.kind) == ("userTurn", "model/invalid-request")
    before = sent(world)
    world.crash()
    assert sent(world) == before


def test_ids_that_cannot_be_ours_get_others() -> None:
    world = told(
        said("a", "12"), final("b", "12", "7"), said("c", "x y"), final("d", "x y"), said("e", "12"), final("f", "12")
    )
    turns = [turn.turn_id for turn in world.session.turns]
    assert len(set(turns)) == 3
    assert not {"12", "x y"} & set(turns)
    assert len({item.item_id for item in items(world.session)}) == 6
    inputs = [entry.input_id for turn in world.session.turns for entry in turn.entries if isinstance(entry, InputEntry)]
    assert len(set(inputs)) == 3


def test_a_stopped_session_goes_on_from_a_seed_and_its_old_tokens_stay_dead() -> None:
    world = World()
    world.start("go", e.STEP)
    world.model_says(answer(("c1", "ask", "{}")))
    world.drive()
    (old,) = session_view(world.machine, world.agent).pending
    world.send(e.Stop("over", CLIENT))
    stopped_at = world.session.revision
    world.send(
        e.Reseed(
            seed_of({"revision": 99, "turnCount": 4, "transcript": [said("new"), answered(call("c1", "ask"))]}),
            CLIENT,
            "again",
        )
    )
    assert world.types(stopped_at) == ["seeded", "call-decided", "updated", "waiting"]
    assert (world.session.stopped, world.session.state, world.session.title) == (False, "partialUserTurn", "again")
    assert (world.session.revision, world.session.turn.n) == (stopped_at + 4, 4)
    done_before = world.send(e.Complete(old.token, o.Result(content="late"), None, CLIENT))
    assert (done_before.answer, done_before.records) == ({"applied": False}, ())
    (new,) = session_view(world.machine, world.agent).pending
    assert new.token != old.token
    assert [message.parts for message in sent(world) if isinstance(message, UserMessage)] == [(TextPart(text="new"),)]
    world.crash()
    assert find_call(world.session, old.token)[1].state == "cancelled"
    world.send(e.Complete(new.token, o.Result(content="there"), None, CLIENT))
    assert world.session.state == "userTurn"


def test_a_copy_under_another_id_tells_the_same() -> None:
    world = told(said("a", "12"), answered(call("c1"), turn="12"), revision=3)
    created = world.records[0].data.model_copy(update={"session_id": "other"})
    copy = fold([replace(world.records[0], data=created), *world.records[1:]])
    assert copy is not None
    assert (copy.id, copy.turns) == ("other", world.session.turns)


def test_after_a_rewind_to_the_seed_its_open_calls_wait_again() -> None:
    world = told(said("hi"), answered(call("c1")))
    (old,) = session_view(world.machine, world.agent).pending
    world.send(e.Rewind(2, CLIENT))
    assert world.session.state == "llmTurn"
    world.drive()
    (new,) = session_view(world.machine, world.agent).pending
    assert (new.kind, new.reason, world.starts) == ("approval", LEFT_OPEN_REASON, [])
    assert new.token != old.token


def test_a_session_that_is_not_stopped_takes_no_seed() -> None:
    world = World()
    world.start()
    error = world.try_send(e.Reseed(seed_of({"transcript": []}), CLIENT))
    assert isinstance(error, InvalidState)
    assert error.details == {"sessionId": "s1", "state": "userTurn", "legal": ["stopped"]}


def test_clients_are_told_of_the_seed_and_then_of_what_waits() -> None:
    world = told(said("hi"), answered(call("c1")), revision=7)
    session, events = None, []
    for record in world.records:
        before, session = session, apply(session, record)
        for mark in marks_of(record, before, session, last=record is world.records[-1]):
            events.append(render(mark, record, before, session, world.agent))
    assert [one["type"] for one in events] == ["session/seeded", "item/updated", "pending/added", "session/updated"]
    assert events[0] == {"type": "session/seeded", "revision": 7, "transcriptEntries": 2}
    assert events[2]["pending"]["callId"] == "c1"


def test_a_tool_whose_source_was_not_asked_yet_waits_for_others() -> None:
    source = ToolSource("mcp_x_", {"kind": "mcp", "name": "x"}, "hash-of-x")
    one = replace(agent((tool("run"),)), sources=(source,), unlisted=True)
    world = planted({"transcript": [said("hi"), answered(call("c1", "mcp_x_y"), call("c2", "mcp_z_y"))]}, World(one))
    assert (world.call("mcp_x_y").verdict.tool_hash, world.call("mcp_z_y").state) == ("hash-of-x", "failed")
    assert [(call.kind, call.reason) for call in session_view(world.machine, one).pending] == [
        ("external", LEFT_OPEN_REASON)
    ]


def test_a_lost_transcript_says_so_and_breaks_nothing() -> None:
    world = told(said("hi"))
    head, seeded = world.records
    assert isinstance(seeded.data, j.Seeded)
    lost = seeded.data.model_copy(
        update={"seed": seeded.data.seed.model_copy(update={"transcript": "[missing: blob x]"})}
    )
    session = fold([head, j.Record(seeded.rev, seeded.at, lost)])
    assert session is not None
    assert (session.state, [note.text for note in session.untold]) == (
        "completed",
        ["the transcript of the seed is lost: [missing: blob x]"],
    )


def test_ten_thousand_entries_are_read_in_time() -> None:
    entries: list[Any] = []
    for turn in range(2500):
        name = f"t{turn}"
        ids = f"c{turn}"
        entries += [
            said("hi", name),
            answered(call(ids), turn=name, step=f"a{turn}"),
            results(done(ids), turn=name, step=f"a{turn}"),
            final("ok", name, f"b{turn}"),
        ]
    world = told(*entries)
    assert len(world.session.turns) == 2500
    assert misfit_of(ModelRequest("", (*sent(world), user("next")), (), 0)) is None


def test_a_rewind_to_before_another_beginning_has_what_the_first_one_said_of_the_session() -> None:
    world = told(said("hi"), revision=7, turnCount=3, userId="u1", context={"a": 1})
    world.send(e.Stop(None, CLIENT))
    seed = {"transcript": [said("ho", "t9")], "turnCount": 9, "userId": "u2"}
    world.send(e.Reseed(seed_of(seed), CLIENT))
    reseeded = world.session.revision
    assert whose(world) == ("u2", None, 9)
    world.send(e.Rewind(9, CLIENT))
    assert whose(world) == ("u1", {"a": 1}, 3)
    world.crash()
    assert whose(world) == ("u1", {"a": 1}, 3)
    world.send(e.Rewind(reseeded, CLIENT))
    assert whose(world) == ("u2", None, 9)


def whose(world: World) -> tuple[object, ...]:
    return world.session.user_id, world.session.context, world.session.turn_count
