"""Final answers that have to fit a schema: one repair in a turn, then the model has failed (agent-file.md)."""

from dataclasses import replace

import pytest
from core.test_projection import events, types
from support.stories import Came, asked, came
from support.world import CLIENT, World, agent, answer, text_parts

from abey.core import events as e
from abey.core.effects import AskModel
from abey.core.titles import titled
from abey.core.views import output, turn_items
from abey.protocol import journal as j
from abey.protocol.config import Compaction
from abey.protocol.session import Usage

SCHEMA = {"type": "object", "required": ["x"]}
FITS = '{"x": "1"}'
TOLD = (
    "This cannot be read by the program that asked: the answer: x is missing. Answer again with the JSON value alone, "
    "with nothing before or after it and no Markdown around it. It has to fit this JSON schema: "
    '{"type": "object", "required": ["x"]}'
)


def fitting(run: e.Run = e.THIS_TURN) -> World:
    """The model of an agent with a schema is being asked."""
    world = World(replace(agent(), output_schema=SCHEMA))
    world.start("hello", run)
    return world


@pytest.mark.parametrize("text", [FITS, f"\n {FITS}\t\n"])
def test_an_answer_that_fits_ends_the_turn(text: str) -> None:
    world = fitting()
    assert came(world.model_says(answer(text=text))).wrote == ["candidate", "final"]
    assert output(world.session) == text


def test_the_model_is_told_the_schema_with_every_question_but_not_when_it_sums_up() -> None:
    world = fitting()
    assert world.take(AskModel).request.output_schema == SCHEMA
    world = World(replace(agent(), output_schema=SCHEMA, compaction=Compaction(at_tokens=2, keep_tokens=1)))
    world.start("hello", e.UNTIL_YIELD)
    world.model_says(answer(*asked("run")))
    world.tool_ends()
    assert world.session.asked.sums_up is not None
    assert world.take(AskModel).request.output_schema is None


def test_an_answer_that_does_not_fit_is_kept_and_the_model_is_asked_once_more() -> None:
    world = fitting(e.STEP)
    done = world.model_says(answer(text="{}"))
    assert came(done) == Came(["candidate", "input"], ["end advanced after 1"], "userTurn")
    repair = done.records[1].data
    turn = world.session.turn
    assert repair == j.Input(turn_id=turn.turn_id, input_id=repair.input_id, parts=text_parts(TOLD), repairs=True)
    world.drive()
    assert world.take(AskModel).request.messages[-1].parts == text_parts(TOLD)


def test_a_run_goes_on_with_the_repair_by_itself() -> None:
    world = fitting()
    assert came(world.model_says(answer(text="{}"))).did == ["ask model"]
    done = world.model_says(answer(text=FITS))
    assert came(done) == Came(["candidate", "final"], ["end completed after 2"], "completed")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "the answer is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("Sure!", "the answer is not JSON: Expecting value: line 1 column 1 (char 0)"),
        (f"```json\n{FITS}\n```", "the answer is not JSON: Expecting value: line 1 column 1 (char 0)"),
        (f"{FITS} {FITS}", "the answer is not JSON: Extra data: line 1 column 12 (char 11)"),
        ('{"x": NaN}', "the answer is not JSON: NaN is not JSON"),
        ('{"x": "a", "x": "b"}', "the answer is not JSON: an object has the same name twice"),
        ('{"x": 1}', "at /x: not a string"),
    ],
)
def test_a_second_answer_that_does_not_fit_is_a_failure_of_the_model(text: str, wrong: str) -> None:
    world = fitting()
    world.model_says(answer(text="{}"))
    done = world.model_says(replace(answer(text=text), attempts=2))
    assert came(done) == Came(["model-failed"], ["end failed after 2"], "userTurn")
    failed, (end,) = done.records[0].data, world.ended
    message = f"the answer is not what outputSchema asks for: {wrong}"
    assert (failed.code, failed.message, failed.attempts, failed.usage) == (
        "invalid-output",
        message,
        2,
        Usage(input_tokens=1, output_tokens=1),
    )
    assert (end.error.kind, end.error.message) == ("model/invalid-output", message)
    assert world.session.last_error.kind == "model/invalid-output"
    assert world.session.usage == Usage(input_tokens=2, output_tokens=2)


def test_a_later_step_may_try_again_and_gets_no_second_repair() -> None:
    world = fitting()
    for _ in range(2):
        world.model_says(answer(text="{}"))
    world.drive()
    assert came(world.model_says(answer(text="{}"))).wrote == ["model-failed"]
    world.drive()
    assert came(world.model_says(answer(text=FITS))) == Came(
        ["candidate", "final"], ["end completed after 1"], "completed"
    )


def test_every_turn_has_a_repair_of_its_own() -> None:
    world = fitting()
    for text in ("{}", FITS):
        world.model_says(answer(text=text))
    world.send(e.Send(e.NewInput(text_parts("more")), e.THIS_TURN, CLIENT))
    assert came(world.model_says(answer(text="{}"))).wrote == ["candidate", "input", "model-requested"]


def test_answers_with_calls_are_not_looked_at() -> None:
    world = fitting()
    assert came(world.model_says(answer(*asked("run"), text="let me see"))).did == ["run run"]


def test_the_repair_is_a_note_to_people_and_no_input() -> None:
    world = fitting(e.STEP)
    since = world.session.revision
    world.model_says(answer(text="{}"))
    assert types(world, since) == [
        "4 item/completed",
        "4 usage",
        "5 item/completed",
        "5 session/updated",
    ]
    note = [event["item"] for revision, event in events(world) if event["type"] == "item/completed"][-1]
    assert (note["kind"], note["text"]) == ("note", f"the model was asked again: {TOLD}")
    assert [item.kind for item in turn_items(world.session.turn)] == ["input", "answer", "note"]


def test_what_a_useless_answer_used_is_told() -> None:
    world = fitting()
    world.model_says(answer(text="{}"))
    since = world.session.revision
    world.model_says(answer(text="{}"))
    assert types(world, since) == [f"{since + 1} note", f"{since + 1} usage", f"{since + 1} session/updated"]


def test_a_repair_gives_no_title() -> None:
    untitled = replace(fitting().session, title="a", titled=False)
    said = j.Input(turn_id="t", input_id="i", parts=text_parts("answer again"))
    assert titled(untitled, said).title == "answer again"
    assert titled(untitled, said.model_copy(update={"repairs": True})) == untitled
