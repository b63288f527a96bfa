"""Calls of tools of extensions: what they have in hand, and what each end of them comes to."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.hooks import hooked
from support.processes import FakeSpool, call_of, until
from support.stories import dispatched

from abey.core.agent import Tool as CoreTool
from abey.core.conversation import ToolOutcome
from abey.extensions import (
    Capability,
    Extension,
    InvalidQuestion,
    Json,
    Question,
    SessionInfo,
    Signal,
    Tool,
    ToolError,
    ToolRun,
)
from abey.extensions.wording import LONGEST
from abey.runtime.capabilities import CapabilityStates
from abey.runtime.clock import ManualClock
from abey.runtime.extending.installed import Installed
from abey.runtime.extending.loading import Extensions
from abey.runtime.extending.runner import ExtensionRunner
from abey.runtime.extending.scoped import Declared
from abey.runtime.ports import Progress, ToolCall
from abey.runtime.tools.mcp.results import MEDIA_BYTES
from abey.runtime.tools.output import MAX_BYTES

SESSION = dispatched("ok").session
INTERNAL = ToolOutcome("tool/failed: internal error; see the daemon's log", "tool/failed")
Run = Callable[[ToolRun], Awaitable[Json]]


async def kept(session: SessionInfo, signal: Signal) -> list[str]:
    return [session.cwd]


async def failing(session: SessionInfo, signal: Signal) -> None:
    raise OSError("no shell here")


class Bench:
    """One tool, `t`, of one extension, and a clock that stands."""

    def __init__(self, run: Run) -> None:
        tool = Tool("t", "", {"type": "object"}, run, timeout_seconds=5)
        capabilities = [Capability("it", kept), Capability("bad", failing)]
        found = hooked("ext", Extension().around, tools=[tool], capabilities=capabilities)
        assert isinstance(found, Installed)
        self.tool: CoreTool = found.tools["t"]
        self.clock = ManualClock()
        states = CapabilityStates(self.clock, lambda _session, _event: None)
        self.late: list[tuple[str, str]] = []
        declared = Declared(Extensions(known=(found,)), states)
        self.runner = ExtensionRunner(declared, self.clock, lambda *came: self.late.append(came))
        self.spool = FakeSpool()

    def call(self, **more: Any) -> ToolCall:
        call = call_of({"x": 1}, Path("/"), spool=lambda: self.spool)
        return replace(call, session=SESSION, **more)

    async def outcome(self, **more: Any) -> ToolOutcome:
        return await self.runner.run(self.tool, self.call(**more))


async def test_a_run_has_its_call_its_session_and_its_own_state_in_hand() -> None:
    told: list[Progress] = []

    async def run(run: ToolRun) -> Json:
        run.tell("begun")
        answer = await run.ask(Question(kind="approval", prompt="Sure?"))
        state = await run.capabilities.get("it")
        return [run.session.id, run.call_id, dict(run.arguments), run.answer, answer, state]

    async def ask(question: Question) -> Json:
        return question.prompt == "Sure?"

    outcome = await Bench(run).outcome(answer="before", ask=ask, tell=told.append)
    assert outcome == ToolOutcome([SESSION.id, "c1", {"x": 1}, "before", True, [SESSION.created.cwd]])
    assert told == [Progress(message="begun")]


async def test_content_is_what_the_journal_will_give_back() -> None:
    async def run(run: ToolRun) -> Json:
        return {1: (2, 3)}  # type: ignore[dict-item] - Python lets it pass for JSON

    assert await Bench(run).outcome() == ToolOutcome({"1": [2, 3]})


CONTENTS: list[Json] = ["text", {"a": [1]}, None, 3, [], {"type": "media", "mimeType": "image/png", "base64Data": "AA"}]


@pytest.mark.parametrize("content", CONTENTS, ids=repr)
async def test_any_json_is_content(content: Json) -> None:
    async def run(run: ToolRun) -> Json:
        return content

    assert await Bench(run).outcome() == ToolOutcome(content)


LONG: dict[str, Json] = {
    "text": "x" * (MAX_BYTES + 1),
    "json": {"x": "x" * MAX_BYTES},
    "typed text": {"type": "text", "content": "x" * (MAX_BYTES + 1)},
    "typed json": {"type": "json", "content": ["x" * MAX_BYTES]},
    "mixed": {"type": "mixed", "parts": [{"type": "text", "content": "x" * (MAX_BYTES // 2 + 1)}] * 2},
    "of no known type": {"type": "text", "content": ["x" * MAX_BYTES]},
}


@pytest.mark.parametrize("long", LONG.values(), ids=LONG)
async def test_what_is_too_long_is_kept_whole_beside_what_is_told(long: Json) -> None:
    async def run(run: ToolRun) -> Json:
        return long

    bench = Bench(run)
    outcome = await bench.outcome()
    assert (len(outcome.content) <= MAX_BYTES, outcome.error, outcome.whole) == (True, None, bench.spool.keep())


async def test_what_a_tool_does_to_what_it_was_answered_happens_to_a_copy() -> None:
    before: dict[str, Json] = {"colours": ["red"]}
    meanwhile: dict[str, Json] = {"colours": ["blue"]}

    async def ask(_: Question) -> Json:
        return meanwhile

    async def run(run: ToolRun) -> Json:
        for answer in (run.answer, await run.ask(Question(kind="response", prompt="p"))):
            assert isinstance(answer, dict)
            answer.clear()
        return "done"

    assert await Bench(run).outcome(answer=before, ask=ask) == ToolOutcome("done")
    assert (before, meanwhile) == ({"colours": ["red"]}, {"colours": ["blue"]})


async def test_media_that_no_provider_takes_is_left_out() -> None:
    async def run(run: ToolRun) -> Json:
        return {"type": "media", "mimeType": "image/png", "base64Data": "A" * (MEDIA_BYTES + 4)}

    told = "[image/png of about 4718595 bytes left out: more than providers take]"
    assert await Bench(run).outcome() == ToolOutcome(told)


async def test_a_question_that_nobody_could_answer_is_not_asked_and_a_long_one_is_cut() -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Json:
        asked.append(question)
        return "yes"

    async def run(run: ToolRun) -> Json:
        try:
            return await run.ask(Question(kind="response", prompt="p", schema={"type": 5}))
        except InvalidQuestion:
            return await run.ask(Question(kind="response", prompt="p" * (LONGEST + 1)))

    assert await Bench(run).outcome(ask=ask) == ToolOutcome("yes")
    assert asked == [Question(kind="response", prompt="p" * LONGEST + "… (1 more characters)")]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ToolError("no such room"), ToolOutcome("tool/failed: no such room", "tool/failed")),
        (ValueError("secret"), INTERNAL),
        (SystemExit("secret"), INTERNAL),
        (KeyboardInterrupt("secret"), INTERNAL),
        (asyncio.CancelledError("secret"), INTERNAL),
        (BaseExceptionGroup("secret", [SystemExit("secret")]), INTERNAL),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_tool_that_raises_has_failed(error: BaseException, outcome: ToolOutcome) -> None:
    async def run(run: ToolRun) -> Json:
        raise error

    assert await Bench(run).outcome() == outcome


@pytest.mark.parametrize("content", [float("nan"), object(), {1: "a", "b": object()}], ids=["nan", "object", "inner"])
async def test_what_is_no_json_is_a_failure(content: Any) -> None:
    async def run(run: ToolRun) -> Json:
        return content  # type: ignore[no-any-return] - it is what the test is about

    assert await Bench(run).outcome() == INTERNAL


async def test_a_capability_that_cannot_be_had_is_a_failure_that_says_so() -> None:
    async def run(run: ToolRun) -> Json:
        await run.capabilities.get(str(run.answer))
        return None

    bench = Bench(run)
    for name, why in (("bad", "ext/bad: no shell here"), ("none", "no capability ext/none is declared")):
        assert await bench.outcome(answer=name) == ToolOutcome(f"tool/failed: {why}", "tool/failed")


async def test_a_tool_has_its_time_which_stands_still_while_a_person_is_asked() -> None:
    asking, hangs = asyncio.Event(), asyncio.Event()
    answered: asyncio.Future[Json] = asyncio.get_running_loop().create_future()

    async def run(run: ToolRun) -> Json:
        await run.ask(Question(kind="approval", prompt="Sure?"))
        hangs.set()
        await asyncio.Event().wait()

    async def ask(question: Question) -> Json:
        asking.set()
        return await answered

    bench = Bench(run)
    work = asyncio.create_task(bench.outcome(ask=ask))
    await asking.wait()
    await until(lambda: all(woken.done() for _, woken in bench.clock._sleepers))
    bench.clock.advance(3600)
    slept = len(bench.clock.slept)
    answered.set_result(True)
    await hangs.wait()
    await until(lambda: len(bench.clock.slept) > slept)
    bench.clock.advance(5)
    assert await work == ToolOutcome("[timed out after 5 s]", "tool/timeout")


async def test_a_call_that_is_cancelled_ends_its_tool_first() -> None:
    ended: list[str] = []
    begun = asyncio.Event()

    async def run(run: ToolRun) -> Json:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.append("tool")

    bench = Bench(run)
    work = asyncio.create_task(bench.outcome())
    await begun.wait()
    work.cancel()
    await asyncio.wait({work})
    assert (work.cancelled(), ended, bench.late) == (True, ["tool"], [])


class Deaf:
    """A tool that comes back only when it is let, however often it is told to end."""

    def __init__(self, end: BaseException | None = None) -> None:
        self.begun, self.let = asyncio.Event(), asyncio.Event()
        self.told = 0
        self.end = end

    async def run(self, run: ToolRun) -> Json:
        self.begun.set()
        while not self.let.is_set():
            try:
                await self.let.wait()
            except asyncio.CancelledError:
                self.told += 1
        if self.end is not None:
            raise self.end
        return "late"


@pytest.mark.parametrize("grace", [0, 60], ids=["left alone", "in its time"])
@pytest.mark.parametrize("end", [None, ToolError("no"), ValueError("no")], ids=repr)
async def test_what_a_tool_comes_back_with_that_was_told_to_end_goes_nowhere_and_is_announced(
    monkeypatch: pytest.MonkeyPatch, grace: float, end: BaseException | None
) -> None:
    monkeypatch.setattr("abey.runtime.extending.foreign.GRACE_SECONDS", grace)
    deaf = Deaf(end)
    bench = Bench(deaf.run)
    work = asyncio.create_task(bench.outcome())
    await deaf.begun.wait()
    work.cancel()
    await until(lambda: deaf.told == 1)
    if grace:
        deaf.let.set()
    await asyncio.wait({work})
    assert work.cancelled()
    deaf.let.set()
    await until(lambda: bench.late == [("s1", "i1")])
    assert deaf.told == 1


async def test_a_tool_that_is_out_of_time_and_comes_back_after_all_is_announced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("abey.runtime.extending.foreign.GRACE_SECONDS", 0)
    deaf = Deaf()
    bench = Bench(deaf.run)
    work = asyncio.create_task(bench.outcome())
    await deaf.begun.wait()
    await until(lambda: bench.clock.slept == [5])
    bench.clock.advance(5)
    assert (await work, bench.late) == (ToolOutcome("[timed out after 5 s]", "tool/timeout"), [])
    deaf.let.set()
    await until(lambda: bench.late == [("s1", "i1")])


async def test_a_call_that_is_cancelled_as_it_begins_leaves_nothing_and_announces_nothing() -> None:
    async def run(run: ToolRun) -> Json:
        await asyncio.Event().wait()

    bench = Bench(run)
    before = asyncio.all_tasks()
    work = asyncio.create_task(bench.outcome())
    await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait({work})
    await until(lambda: asyncio.all_tasks() == before)
    assert (work.cancelled(), bench.late) == (True, [])


async def test_another_tool_than_the_one_that_was_judged_is_not_run() -> None:
    async def run(run: ToolRun) -> Json:
        raise AssertionError("it runs")

    bench = Bench(run)
    gone = ToolOutcome("tool/failed: its extension is another one now, or is gone; nothing was run", "tool/failed")
    assert await bench.runner.run(replace(bench.tool, hash="other"), bench.call()) == gone
    nobody = replace(bench.tool, definition={**bench.tool.definition, "extension": "nobody"})
    assert await bench.runner.run(nobody, bench.call()) == gone
