"""Sessions of ours go out as session files of agents-exe, and what came from one goes back."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.foreign import OURS, brought, ours
from support.world import CLIENT, World, answer, text_parts

from abey.core import events as e
from abey.core.agent import Agent
from abey.core.effects import AskModel
from abey.core.hashes import shown_hash
from abey.core.replay import fold
from abey.core.session import AnswerEntry, InputEntry, Session, open_calls
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.blocks import ThinkingBlock
from abey.protocol.transcript import FilePart, MediaPart, Part, TextPart
from abey.runtime.transfer.agents_exe_export import export_text
from abey.runtime.transfer.agents_exe_turns import uuid_of

GOOD = ["no-version", "version-1", "version-2-partial", "legacy-partial", "unanswered", "empty"]


def exported(world: World) -> Any:
    return export_of(stamped(world), world.agent)


def stamped(world: World) -> list[j.Record]:
    """The records of the world under times that a journal would have."""
    return [j.Record(record.rev, "2026-01-01T00:00:00.000Z", record.data) for record in world.records]


def export_of(records: list[j.Record], agent: Agent) -> Any:
    session = fold(records)
    assert session is not None
    return json.loads(export_text(session, records, agent))


def continued(records: tuple[j.Record, ...], *data: j.RecordData) -> list[j.Record]:
    """The same records with more after them."""
    last = records[-1].rev
    return [*records, *(j.Record(last + n, "2026-02-02T00:00:00.000Z", one) for n, one in enumerate(data, 1))]


@pytest.mark.parametrize("name", GOOD)
def test_a_file_that_was_not_continued_goes_back_byte_for_byte(name: str) -> None:
    came = ours(name)
    assert export_text(came.session, came.records, came.agent) == (OURS / f"{name}.json").read_text()


def test_another_title_or_a_pause_continues_nothing() -> None:
    came = ours("version-2-partial")
    records = continued(came.records, j.Updated(title="mine"), j.Paused(by="me"), j.Imported(format="jsonl", source=""))
    assert export_of(records[:-1], came.agent) == json.loads(came.text)


def test_a_file_whose_original_is_lost_goes_out_from_what_we_kept() -> None:
    came = ours("version-1")
    mark = came.records[1]
    lost = j.Record(mark.rev, mark.at, came.data[1].model_copy(update={"original": "[missing: blob 00, 9 bytes]"}))
    again = export_of([came.records[0], lost, *came.records[2:]], came.agent)
    assert (again["sessionVersion"], [turn["tag"] for turn in again["turns"]]) == (
        2,
        ["LlmTurn", "UserTurn", "LlmTurn", "UserTurn"],
    )


def test_what_came_after_stands_on_top_of_the_original_turns() -> None:
    came = ours("no-version")
    original = json.loads(came.text)
    more = continued(came.records, j.Input(turn_id="t", input_id="i", parts=text_parts("More?")))
    again = export_of(more, came.agent)
    assert again["turns"][1:] == original["turns"]
    assert again["turns"][0]["contents"]["userQuery"] == "More?"
    kept = ("sessionId", "forkedFromSessionId", "note")
    assert {name: again[name] for name in kept} == {name: original[name] for name in kept}
    assert (again["sessionVersion"], again["sessionExecutionMode"]) == (2, "asynchronous")


def test_a_turn_that_became_whole_takes_the_place_of_the_one_that_was_not() -> None:
    came = ours("legacy-partial")
    turn = came.session.turns[-1]
    step_id = next(entry.step_id for entry in turn.entries if isinstance(entry, AnswerEntry))
    more = continued(
        came.records,
        j.CallResolved(call_id="ls:1", by="me", outcome=o.Result(content="done")),
        j.ToolResults(turn_id=turn.turn_id, step_id=step_id, call_ids=("ls:0", "ls:1")),
    )
    again = export_of(more, came.agent)
    assert [turn["tag"] for turn in again["turns"]] == ["UserTurn", "LlmTurn", "UserTurn"]
    assert again["turns"][1:] == json.loads(came.text)["turns"][1:]
    assert [pair[1] for pair in again["turns"][0]["contents"]["userToolResponses"]] == [
        {"type": "text", "content": "a.txt"},
        {"type": "text", "content": "done"},
    ]


def test_an_answer_to_calls_that_nobody_had_answered_stands_on_top_of_them() -> None:
    came = ours("unanswered")
    more = continued(came.records, j.CallResolved(call_id="ls:0", by="me", outcome=o.Result(content=[1])))
    again = export_of(more, came.agent)
    assert again["turns"][1:] == json.loads(came.text)["turns"]
    assert again["turns"][0]["contents"]["userToolResponses"][0][1] == {"type": "json", "content": [1]}


def waiting() -> World:
    """A session with a call of every kind: run, denied, for others, for approval."""
    world = World()
    world.start("hello", e.STEP)
    world.model_says(answer(("a", "run", '{"x":"1"}'), ("b", "no", "{}"), ("c", "ext", "{}"), ("d", "ask", "{}")))
    world.drive()
    world.tool_ends("run", {"n": 1})
    return world


def test_a_session_of_ours_goes_out_whole_with_what_waits() -> None:
    world = waiting()
    file = exported(world)
    assert [turn["tag"] for turn in file["turns"]] == ["PartialUserTurn", "LlmTurn", "UserTurn"]
    tracked = file["turns"][0]["contents"]["trackedToolCalls"]
    assert [(one["call"]["id"], one["state"], one.get("result"), one["policy"]["disposition"]) for one in tracked] == [
        ("a", "Completed", {"type": "json", "content": {"n": 1}}, {"tag": "runSync"}),
        ("b", "Failed", {"type": "text", "content": "denied by policy: never"}, {"tag": "defer", "reason": "never"}),
        ("c", "Deferred", None, {"tag": "defer", "reason": tracked[2]["policy"]["disposition"]["reason"]}),
        ("d", "Deferred", None, {"tag": "defer", "reason": "approval required"}),
    ]
    assert tracked[2]["continuation"] == uuid_of(world.call("ext").verdict.token)
    users = [turn["contents"] for turn in file["turns"] if "userTools" in turn["contents"]]
    assert {(one["userPrompt"], len(one["userTools"])) for one in users} == {("sys", len(world.agent.tools))}


def test_what_goes_out_waiting_comes_back_waiting_and_nothing_of_it_may_run_by_itself() -> None:
    session = brought(json.dumps(exported(waiting()))).session
    assert [(call.call_id, call.state) for call in open_calls(session)] == [("c", "deferred"), ("d", "deferred")]
    assert all(call.verdict is not None and not call.verdict.runnable for call in open_calls(session))


def test_a_call_that_was_approved_or_runs_is_not_let_run_again_there() -> None:
    world = waiting()
    call = world.call("ask")
    world.send(e.Complete(call.verdict.token, o.Approve(), shown_hash(world.session, call), CLIENT))
    states = [one["state"] for one in exported(world)["turns"][0]["contents"]["trackedToolCalls"]]
    assert states == ["Completed", "Failed", "Deferred", "Running"]


def test_inputs_that_stand_together_are_turns_of_their_own_and_files_are_named() -> None:
    parts: tuple[Part, ...] = (
        TextPart(text="see"),
        FilePart(path="/w/a.txt"),
        MediaPart(mime_type="image/png", path="/w/a.png"),
        MediaPart(mime_type="image/png", base64_data="QQ=="),
    )
    world = World()
    world.start("one", e.STEP)
    invocation = world.take(AskModel).invocation_id
    world.send(e.Cancel(None, None, CLIENT))
    world.send(e.Aborted(invocation))
    world.send(e.Send(e.NewInput(parts), None, CLIENT))
    queries = [turn["contents"]["userQuery"] for turn in exported(world)["turns"]]
    assert queries == [
        {
            "text": "see\n[file: /w/a.txt]\n[file: /w/a.png]",
            "media": [{"mimeType": "image/png", "base64Data": "QQ=="}],
        },
        "one",
    ]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("758b534c-de45-4441-80c0-74fedaee0b0b", "758b534c-de45-4441-80c0-74fedaee0b0b"),
        ("00000000000000000000000001", "00000000-0000-0000-0000-000000000001"),
        ("7zzzzzzzzzzzzzzzzzzzzzzzzz", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
        ("mine", uuid_of("mine")),
        ("8zzzzzzzzzzzzzzzzzzzzzzzzz", uuid_of("8zzzzzzzzzzzzzzzzzzzzzzzzz")),
    ],
)
def test_every_id_is_a_uuid_there(ours: str, theirs: str) -> None:
    assert uuid_of(ours) == theirs
    assert len(theirs) == 36


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
ASKED = st.tuples(
    st.sampled_from(["run", "safe", "no", "ext", "gone"]), st.sampled_from(["{}", '{"x":"1"}', "odd", ""])
)
STEPS = st.lists(
    st.tuples(WORDS, WORDS, st.lists(ASKED, max_size=3), st.lists(CONTENT, min_size=3, max_size=3)), max_size=4
)


@settings(max_examples=40, deadline=None)
@given(STEPS, WORDS)
def test_a_session_that_goes_out_and_comes_in_says_the_same(steps: list[Any], prompt: str) -> None:
    world = World()
    world.start(prompt or "x")
    for number, (text, thinking, asked, contents) in enumerate(steps):
        if world.session.state == "completed":
            world.send(e.Send(e.NewInput(text_parts(text or "more")), None, CLIENT))
        if world.session.state != "userTurn":
            break
        world.drive()
        calls = tuple((f"{number}-{at}", tool, arguments) for at, (tool, arguments) in enumerate(asked))
        reply = answer(*calls, text=text)
        thoughts = (ThinkingBlock(text=thinking),) if thinking else ()
        world.model_says(type(reply)(thoughts + reply.blocks, reply.calls, reply.finish_reason, reply.usage))
        if calls:
            world.drive()
        for content in contents:
            if world.effects:
                world.tool_ends(None, content)
    came = brought(json.dumps(exported(world)))
    assert meaning(came.session) == meaning(world.session)


def meaning(session: Session) -> list[Any]:
    """What was said, in one spelling for contents that mean the same."""
    told: list[Any] = []
    for turn in session.turns:
        for entry in turn.entries:
            match entry:
                case InputEntry():
                    told.append([part.text for part in entry.parts if isinstance(part, TextPart)])
                case AnswerEntry():
                    told += [(type(block), block.text) for block in entry.blocks]
                    told += [(call.call_id, call.tool, call.arguments, plain(call)) for call in entry.calls]
    return told


def plain(call: Any) -> Any:
    if call.finished is None:
        return None
    output = call.finished.output
    typed = isinstance(output, dict) and set(output) == {"type", "content"} and output["type"] in ("text", "json")
    return output["content"] if typed else output
