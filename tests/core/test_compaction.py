"""Long histories: summed up between entries, with the journal whole (agent-file.md, Long sessions)."""

from dataclasses import replace
from typing import Any

from support import seeds
from support.stories import asked, came
from support.world import CLIENT, World, agent, answer, text_parts

from abey.core import events as e
from abey.core.compaction import REQUEST, due, estimate
from abey.core.conversation import AssistantMessage, Message, ModelRequest, ResultMessage, UserMessage
from abey.core.effects import AskModel
from abey.core.history import SUMMARY, history, request_hash
from abey.protocol import journal as j
from abey.protocol.config import Compaction
from abey.protocol.session import Usage

LONG = "word " * 80
"""About a hundred tokens."""


def world(at: int = 250, keep: int = 120, **limits: Any) -> World:
    return World(replace(agent(**limits), compaction=Compaction(at_tokens=at, keep_tokens=keep)))


def unknown(text: str, *calls: tuple[str, str, str]) -> Any:
    """An answer of a provider that does not say how many tokens it was sent."""
    return replace(answer(*calls, text=text), usage=Usage())


def turn(here: World, prompt: str, text: str) -> None:
    here.send(e.Send(e.NewInput(text_parts(prompt)), e.UNTIL_YIELD, CLIENT))
    here.model_says(unknown(text))


def asks(here: World) -> ModelRequest:
    requests = [one.request for one in here.effects if isinstance(one, AskModel)]
    assert len(requests) == 1
    return requests[0]


def told(messages: tuple[Message, ...]) -> list[str]:
    """What each message says, in a word or so."""
    words = []
    for message in messages:
        match message:
            case UserMessage():
                words.append("user: " + " / ".join(part.text[:7].strip() for part in message.parts))
            case AssistantMessage():
                words.append("model: " + "".join(block.text[:7].strip() for block in message.blocks))
            case ResultMessage():
                words.append(f"result: {message.call_id}")
    return words


def grown() -> World:
    """Two long turns and a third input, about to be answered."""
    here = world()
    here.start(None)
    turn(here, "first " + LONG, "one " + LONG)
    here.send(e.Send(e.NewInput(text_parts("second " + LONG)), e.UNTIL_YIELD, CLIENT))
    return here


def test_a_history_that_is_long_is_summed_up_before_the_model_goes_on() -> None:
    here = grown()
    request = asks(here)
    assert told(request.messages) == ["user: first w", "model: one wor", "user: Sum up"]
    assert request.messages[-1].parts[0].text == REQUEST
    done = here.model_says(unknown("they said much"))
    assert came(done).wrote == ["compacted", "model-requested"]
    assert told(asks(here).messages) == ["user: [The co / second"]
    assert asks(here).messages[0].parts[0].text == f"{SUMMARY}\n\nthey said much"
    assert came(here.model_says(unknown("two"))).wrote == ["candidate", "final"]


def test_a_summary_is_part_of_the_step_that_needed_it() -> None:
    here = world()
    here.start(None)
    turn(here, "first " + LONG, "one " + LONG)
    here.drive(e.STEP, input=e.NewInput(text_parts("second " + LONG)))
    here.model_says(unknown("a summary"))
    here.model_says(unknown("two"))
    assert [(end.outcome, end.steps) for end in here.ended[-1:]] == [("completed", 1)]
    assert here.session.turns[-1].steps == 1


def test_the_journal_and_the_transcript_keep_everything() -> None:
    here = grown()
    here.model_says(unknown("a summary"))
    texts = [part.text for turn in here.session.turns for entry in turn.entries for part in getattr(entry, "parts", ())]
    assert texts == ["first " + LONG, "second " + LONG]
    assert here.session.turns[-1].entries[-1].text == "summed up for the model, up to revision 4: a summary"


def test_a_call_stays_with_its_result() -> None:
    here = world(at=300, keep=60)
    here.start("hello " + LONG, e.UNTIL_YIELD)
    here.model_says(unknown("", *asked("run")))
    here.tool_ends(content=LONG)
    here.model_says(unknown("", ("c2", "run", "{}")))
    here.tool_ends(content=LONG)
    assert told(asks(here).messages) == ["user: hello w", "model: ", "result: c1", "user: Sum up"]
    here.model_says(unknown("a summary"))
    assert told(asks(here).messages) == ["user: [The co", "model: ", "result: c2"]


def test_summing_up_goes_on_from_the_summary_before() -> None:
    here = grown()
    here.model_says(unknown("FIRST"))
    here.model_says(unknown("two " + LONG))
    here.send(e.Send(e.NewInput(text_parts("third " + LONG)), e.UNTIL_YIELD, CLIENT))
    assert told(asks(here).messages) == ["user: [The co / second", "model: two wor", "user: Sum up"]
    here.model_says(unknown("SECOND"))
    assert history(here.session)[0].parts[0].text == f"{SUMMARY}\n\nSECOND"


def test_what_the_model_says_it_was_sent_counts() -> None:
    here = world(at=1000)
    here.start("hello", e.UNTIL_YIELD)
    here.model_says(replace(answer(text="hi"), usage=Usage(input_tokens=900, output_tokens=60)))
    assert estimate(here.session, here.agent) == 960
    here.send(e.Send(e.NewInput(text_parts(LONG)), None, CLIENT))
    assert estimate(here.session, here.agent) == 960 + 8 + 100


def test_without_a_plan_or_below_it_nothing_is_summed_up() -> None:
    here = World()
    here.start(LONG * 100)
    assert due(here.session, here.agent) is None
    planned = replace(here.agent, compaction=Compaction(at_tokens=10**6, keep_tokens=1))
    assert due(here.session, planned) is None


def test_a_single_input_is_not_summed_up_however_long() -> None:
    here = world()
    here.start(LONG * 100, e.UNTIL_YIELD)
    assert told(asks(here).messages) == ["user: word wo"]


def test_a_summary_without_text_is_a_failure_and_leaves_the_history_as_it_is() -> None:
    here = grown()
    done = here.model_says(unknown("", *asked("run")))
    assert came(done).wrote == ["model-failed"]
    assert (here.session.last_error.kind, here.session.compacted) == ("model/invalid-output", None)
    assert here.session.state == "userTurn"


def test_a_crash_while_summing_up_asks_again() -> None:
    here = grown()
    here.crash()
    assert here.session.turns[-1].entries[-1].text == "model call interrupted"
    here.drive()
    assert told(asks(here).messages) == ["user: first w", "model: one wor", "user: Sum up"]


def test_a_cancelled_summary_ends_the_turn() -> None:
    here = grown()
    here.send(e.Cancel(None, None, CLIENT))
    done = here.send(e.Aborted(here.take(AskModel).invocation_id, 1))
    assert came(done).wrote == ["cancelled"]
    assert (here.session.turns[-1].end, here.session.compacted) == ("cancelled", None)


def test_a_summary_costs_and_counts_as_a_try() -> None:
    here = grown()
    before = here.session
    here.model_says(replace(answer(text="a summary"), usage=Usage(input_tokens=7, output_tokens=2), attempts=2))
    assert here.session.usage == Usage(input_tokens=before.usage.input_tokens + 7, output_tokens=2)
    assert here.session.tries == before.tries + 2


def test_the_request_hash_covers_the_summary() -> None:
    hashes = set()
    for summary in ("one", "other"):
        here = grown()
        here.model_says(unknown(summary))
        hashes.add(here.records[-1].data.request_hash)
        assert here.records[-1].data.request_hash == request_hash(here.session)
        assert isinstance(here.records[-2].data, j.Compacted)
    assert len(hashes) == 2


def transcript(turns: int) -> list[seeds.Value]:
    """Turns of elsewhere, each of an input and an answer of a hundred tokens, and an input that nobody has answered."""
    told = (
        (
            seeds.said(f"said{n} {LONG}", f"t{n}"),
            seeds.answered(seeds.text(f"told{n} {LONG}"), turn=f"t{n}", step=f"s{n}"),
            seeds.final("", f"t{n}", f"s{n}"),
        )
        for n in range(turns)
    )
    return [*(entry for turn in told for entry in turn), seeds.said("and now?", "last")]


def test_a_seed_is_summed_up_between_its_own_entries() -> None:
    here = seeds.planted({"transcript": transcript(1)}, world(at=150))
    here.drive()
    assert told(asks(here).messages) == ["user: said0 w / Sum up"]
    here.model_says(unknown("they said much"))
    assert told(asks(here).messages) == ["user: [The co", "model: told0 w", "user: and now"]
    assert came(here.model_says(unknown("this"))).wrote == ["candidate", "final"]


def test_a_seed_that_is_far_too_long_is_summed_up_a_part_at_a_time() -> None:
    here = seeds.planted({"transcript": transcript(3)}, world(at=250, keep=120))
    here.drive()
    asked_for = []
    while here.session.asked is not None and here.session.asked.sums_up is not None:
        asked_for.append(told(asks(here).messages))
        assert here.session.asked.request_hash == request_hash(here.session)
        here.model_says(unknown(f"summary {len(asked_for)}"))
    assert asked_for == [
        ["user: said0 w", "model: told0 w", "user: Sum up"],
        ["user: [The co / said1 w", "model: told1 w", "user: Sum up"],
    ]
    rest = ["user: [The co / said2 w", "model: told2 w", "user: and now"]
    assert told(asks(here).messages) == rest
    compacted = [record.data for record in here.records if isinstance(record.data, j.Compacted)]
    assert {one.up_to for one in compacted} == {2}
    here.crash()
    assert told(history(here.session)) == rest
