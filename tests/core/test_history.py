"""What a model is told: every call closed once, in its place, in every state (machine.md, After a crash)."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.stories import asked, complete, crashed, dispatched, find, proposed
from support.world import CLIENT, World, answer, text_parts

from abey.core import events as e
from abey.core.call import FINAL_STATES, Call
from abey.core.conversation import AssistantMessage, CallMessage, Message, ResultMessage, UserMessage
from abey.core.effects import AskModel
from abey.core.history import history, request_hash, result_of, turn_digest, turn_messages
from abey.core.invariants import legal_history
from abey.core.session import AnswerEntry, Entry, InputEntry, NoteEntry
from abey.core.transition import transition
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.base import canonical_json, sha256_hex
from abey.protocol.blocks import TextBlock


def user(*texts: str) -> UserMessage:
    return UserMessage(tuple(part for text in texts for part in text_parts(text)))


def said(*calls: tuple[str, str, str], text: str = "") -> AssistantMessage:
    blocks = (TextBlock(text=text),) if text else ()
    return AssistantMessage(blocks, tuple(CallMessage(*call) for call in calls))


def finished(outcome: str, output: object) -> Call:
    data = j.CallFinished.model_validate({"callId": "c1", "outcome": outcome, "output": output})
    return replace(CALL, state=data.outcome, finished=data)


def resolved(outcome: o.AnyOutcome, state: str, *, started: bool = False) -> Call:
    call = replace(CALL, resolution=j.CallResolved(call_id="c1", by="x", outcome=outcome), started=STARTED)
    known = {call_state: call_state for call_state in FINAL_STATES}
    return replace(call, state=known[state], started=STARTED if started else None)


CALL = Call("c1", "run", "{}")
STARTED = j.CallStarted(call_id="c1", invocation_id="i", arguments_hash="h")
TOLD: dict[str, tuple[Call, object, bool]] = {
    "completed by its tool": (finished("completed", {"n": [1, None]}), {"n": [1, None]}, False),
    "failed by its tool": (finished("failed", "exit status 1"), "exit status 1", True),
    "denied by the policy": (finished("denied", "denied by policy"), "denied by policy", True),
    "cancelled with the turn": (
        finished("cancelled", "cancelled by user; not run"),
        "cancelled by user; not run",
        True,
    ),
    "completed from outside": (resolved(o.Result(content=None), "completed"), None, False),
    "failed from outside": (resolved(o.Error(message="bad"), "failed"), "bad", True),
    "denied": (resolved(o.DenyCall(), "denied"), "denied by user", True),
    "denied with a message": (resolved(o.DenyCall(message="no"), "denied"), "denied by user: no", True),
    "cancelled": (resolved(o.CancelCall(), "cancelled"), "cancelled by user; it was not run", True),
    "cancelled after it started": (
        resolved(o.CancelCall(), "cancelled", started=True),
        "cancelled by user; it had started and may have run",
        True,
    ),
    "expired": (replace(CALL, state="expired"), "nobody answered in time; the call was not run", True),
    "ready": (CALL, "interrupted before it had a result; it was not run", True),
    "deferred": (replace(CALL, state="deferred"), "interrupted before it had a result; it was not run", True),
    "approved": (replace(CALL, state="approved"), "interrupted before it had a result; it was not run", True),
    "running": (
        replace(CALL, state="running", started=STARTED),
        "interrupted before it had a result; it had started and may have run",
        True,
    ),
    "uncertain": (
        replace(CALL, state="uncertain", in_doubt=True),
        "interrupted before it had a result; it may have run",
        True,
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_call_has_one_result_in_whatever_state_it_is(name: str) -> None:
    call, content, is_error = TOLD[name]
    assert result_of(call) == ResultMessage("c1", "run", content, is_error)


def test_a_whole_turn_is_told_in_order() -> None:
    world = proposed(*asked("no", "gone"))
    world.drive()
    world.drive()
    world.model_says(answer(text="done"))
    tools = "alone, ask, bg, box, ext, no, run, safe, soon"
    assert history(world.session) == (
        user("hello"),
        said(*asked("no", "gone")),
        ResultMessage("c1", "no", "denied by policy: never", True),
        ResultMessage("c2", "gone", f"tool/unknown: there is no tool named gone; the tools are: {tools}", True),
        said(text="done"),
    )


def test_the_model_is_sent_the_text_of_its_own_arguments_unchanged() -> None:
    arguments = '{ "x":"\\u00e9",  "x" : "2"}'
    world = proposed(("c1", "run", arguments))
    world.drive()
    complete_text = [one.calls[0].arguments for one in history(world.session) if isinstance(one, AssistantMessage)]
    assert complete_text == [arguments]


def test_neighbouring_inputs_are_one_message() -> None:
    world = World()
    world.start("hello")
    world.send(e.Send(e.NewInput(text_parts("more")), None, CLIENT))
    assert history(world.session) == (user("hello", "more"),)


def test_the_input_after_a_turn_without_an_answer_is_merged_with_that_turns() -> None:
    world = World()
    world.start("hello")
    world.send(e.Cancel(None, None, CLIENT))
    world.send(e.Send(e.NewInput(text_parts("again")), None, CLIENT))
    assert history(world.session) == (user("hello", "again"),)


def test_an_interrupt_joins_right_after_the_results() -> None:
    world = dispatched("run")
    world.send(e.Send(e.NewInput(text_parts("stop that"), delivery="interrupt"), None, CLIENT))
    world.tool_ends()
    world.drive()
    assert world.effects[0].request.messages == (
        user("hello"),
        said(*asked("run")),
        ResultMessage("c1", "run", "ok", False),
        user("stop that"),
    )


def test_notes_are_left_out() -> None:
    entries = (
        InputEntry("i", text_parts("a"), 1, "T"),
        NoteEntry("note", 2, "T"),
        InputEntry("k", text_parts("b"), 3, "T"),
    )
    assert turn_messages(entries) == (user("a", "b"),)


STORIES: dict[str, Callable[[], World]] = {
    "undecided": lambda: proposed(*asked("run", "ask")),
    "running": lambda: dispatched("run", "ask", "bg"),
    "deferred": lambda: dispatched("ask", "ext", "box"),
    "denied and failed": lambda: dispatched("no", "gone"),
    "uncertain": lambda: crashed("run", "ask", "safe"),
    "faulty ids": lambda: proposed(("", "run", "{}"), ("c1", "run", "{}"), ("c1", "run", "{}")),
}


@pytest.mark.parametrize("name", STORIES)
def test_the_history_is_legal_in_every_state_and_after_a_cancel_of_it(name: str) -> None:
    world = STORIES[name]()
    assert legal_history(history(world.session))
    world.send(e.Cancel(None, None, CLIENT))
    world.send(e.GraceOver(world.machine.work.generation if world.machine else 0))
    assert world.session.turn.end == "cancelled"
    assert legal_history(history(world.session))


RESULT = ResultMessage("c1", "run", "ok", False)
ILLEGAL: dict[str, list[Message]] = {
    "an open call": [user("a"), said(*asked("run"))],
    "a result of nothing": [user("a"), RESULT],
    "a second result": [said(*asked("run")), RESULT, RESULT],
    "another order": [said(*asked("run", "run")), ResultMessage("c2", "run", "", False), RESULT],
    "something in between": [said(*asked("run")), user("a"), RESULT],
    "one id twice": [said(("c1", "run", ""), ("c1", "run", "")), RESULT, RESULT],
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_a_history_that_no_provider_takes_is_not_legal(name: str) -> None:
    assert not legal_history(ILLEGAL[name])


def test_the_request_hash_is_that_of_the_history_that_was_sent() -> None:
    world = World()
    world.start("hello", e.STEP)
    requested = world.records[-1].data
    assert requested.request_hash == turn_digest("", [put("hello")])[:32]


def test_the_request_hash_changes_with_the_history_and_only_with_it() -> None:
    world = World()
    world.start("hello")
    hashes = [request_hash(world.session)]
    world.send(e.Pause(None, CLIENT))
    hashes.append(request_hash(world.session))
    world.drive()
    hashes.append(request_hash(world.session))
    world.model_says(answer(*asked("run")))
    world.drive()
    hashes.append(request_hash(world.session))
    world.tool_ends()
    hashes.append(request_hash(world.session))
    assert (len(set(hashes[:3])), len(set(hashes[2:]))) == (1, 3)


def test_the_digest_of_a_turn_covers_the_turns_before_it() -> None:
    digests = []
    for first in ("hello", "goodbye"):
        world = World()
        world.start(first, e.STEP)
        world.model_says(answer(text="done"))
        world.send(e.Send(e.NewInput(text_parts("more")), e.STEP, CLIENT))
        world.model_says(answer(text="done"))
        digests.append([turn.digest for turn in world.session.turns])
        assert world.session.turns[1].messages == (user("more"), said(text="done"))
    assert len({digest for both in digests for digest in both}) == 4


def put(*texts: str) -> InputEntry:
    return InputEntry("i", user(*texts).parts, 1, "")


def told(*calls: Call, text: str = "") -> AnswerEntry:
    blocks = (TextBlock(text=text),) if text else ()
    return AnswerEntry("s", blocks, calls, "stop", 2, "", committed_rev=3)


OK = finished("completed", "ok")
RAN = told(OK)


@pytest.mark.parametrize(
    "change",
    [
        [put("b")],
        [put("ab")],
        [put("a", "b")],
        [put("a"), told(text="a")],
        [RAN],
        [told(OK, text="a")],
        [told(replace(OK, arguments="{ }"))],
        [told(replace(OK, tool="ran"))],
        [told(replace(OK, call_id="c2"))],
        [told(finished("completed", "no"))],
        [told(finished("failed", "ok"))],
        [RAN, put("a")],
        [RAN, RAN],
    ],
)
def test_every_word_of_a_message_counts_in_the_digest(change: list[Entry]) -> None:
    assert turn_digest("", change) != turn_digest("", [put("a")])
    others = [[put("b")], [RAN]]
    assert [turn_digest("", change) == turn_digest("", one) for one in others] == [change == one for one in others]


def test_what_makes_the_same_messages_has_the_same_digest() -> None:
    note = NoteEntry("nobody is told", 1, "")
    assert turn_digest("", [put("a", "b")]) == turn_digest("", [put("a"), note, replace(put("b"), input_id="j")])
    assert turn_digest("", [put("a"), RAN, put("b")]) != turn_digest("", [put("a"), put("b"), RAN])


def test_a_model_call_hashes_what_is_new_and_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []

    def counting(value: object) -> str:
        hashed.append(len(canonical_json(value)))
        return sha256_hex(value)

    def so_far() -> int:
        total = sum(hashed)
        hashed.clear()
        return total

    monkeypatch.setattr("abey.core.history.sha256_hex", counting)
    world, size, slack = World(), 100_000, 4_000
    world.start("x" * size, e.STEP)
    costs = [so_far()]
    for _ in range(5):
        world.model_says(answer(*asked("run")))
        world.drive()
        world.tool_ends(content="y" * size)
        world.drive()
        costs.append(so_far())
    assert world.machine is not None
    end = e.ModelAnswered(world.take(AskModel).invocation_id, answer(text="done"))
    done = transition(world.machine, end, world.context())
    assert done.machine.session.turns[0].end == "answered"
    assert all(size < cost < size + slack for cost in costs), costs
    assert so_far() < slack


def test_an_expired_call_and_a_completed_one_are_told_apart() -> None:
    world = dispatched("soon", "ext")
    complete(world, "c2", o.Result(content="found"))
    world.millis += 60_000
    world.send(e.TimePassed())
    told = [result_of(find(world, call_id)).content for call_id in ("c1", "c2")]
    assert told == ["nobody answered in time; the call was not run", "found"]
