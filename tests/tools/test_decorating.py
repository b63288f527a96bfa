"""What decorators do around a tool: each by itself, and every stack of them against a plain model."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.processes import FakeSpool, call_of, command_tool, until

from abey.core.conversation import ToolOutcome
from abey.protocol.diffs import FileChange
from abey.protocol.journal import BlobRef
from abey.protocol.policy import AnyDecorator, Cache, Label, Retries, Timeout, Truncate
from abey.protocol.transcript import Question
from abey.runtime.clock import ManualClock
from abey.runtime.ports import Progress, ToolCall
from abey.runtime.tools import decorating
from abey.runtime.tools.decorating import Decorated, Decorating

FAILED = ToolOutcome("no", "tool/failed")


class Clock(ManualClock):
    """Goes on to the next sleeper as soon as nothing else is to be done."""

    async def run(self, work: "asyncio.Future[ToolOutcome]") -> ToolOutcome:
        while not work.done():
            for _ in range(20):
                await asyncio.sleep(0)
            waiting = [at for at, woken in self._sleepers if not woken.done()]
            if not work.done() and waiting:
                self.advance(min(waiting) - self.seconds)
        return work.result()


@dataclass(slots=True)
class Fake:
    """A tool whose n-th run takes so long and gives this; the last one again and again. `begun`, `ended` count."""

    clock: ManualClock
    script: Sequence[tuple[float, ToolOutcome]]
    begun: int = 0
    cut: int = 0

    async def run(self, _: ToolCall) -> ToolOutcome:
        seconds, outcome = self.script[min(self.begun, len(self.script) - 1)]
        self.begun += 1
        try:
            await self.clock.sleep(seconds)
        except asyncio.CancelledError:
            self.cut += 1
            raise
        return outcome


class Bench:
    """One tool and what it is decorated by; `said` is the progress, `spools` are those that were opened."""

    def __init__(self, script: Sequence[tuple[float, ToolOutcome]], fails: str = "") -> None:
        self.clock = Clock()
        self.said: list[Progress] = []
        self.spools: list[FakeSpool] = []
        self.fails = fails
        self.fake = Fake(self.clock, script)
        self.decorating = Decorating(self.clock)

    def call(self, session_id: str = "s1", **arguments: Any) -> ToolCall:
        plain = call_of(arguments, Path("/"), spool=self._spool)
        return replace(plain, session_id=session_id, tell=self.said.append)

    async def run(self, *decorators: AnyDecorator, call: ToolCall | None = None, name: str = "tool") -> ToolOutcome:
        tool = replace(command_tool(["true"]), name=name)
        decorated = Decorated(tool, call or self.call(), self.fake.run)
        return await self.clock.run(asyncio.ensure_future(self.decorating.outcome(decorated, decorators)))

    def _spool(self) -> FakeSpool:
        self.spools.append(FakeSpool(self.fails))
        return self.spools[-1]


def says(text: str, seconds: float = 0.0) -> tuple[float, ToolOutcome]:
    return seconds, ToolOutcome(text)


async def test_without_decorators_a_tool_just_runs() -> None:
    assert await Bench([says("x")]).run() == ToolOutcome("x")


@pytest.mark.parametrize(("seconds", "told"), [(2.0, "2s"), (0.5, "0.5s")])
async def test_a_timeout_ends_the_run_first(seconds: float, told: str) -> None:
    bench = Bench([says("late", 9)])
    outcome = await bench.run(Timeout(seconds=seconds))
    assert (outcome, bench.fake.cut, bench.clock.seconds) == (
        ToolOutcome(f"tool call timed out after {told}", "tool/timeout"),
        1,
        seconds,
    )


@pytest.mark.parametrize(("after", "told"), [(1, "said: True"), (3, "tool call timed out after 4s")])
async def test_the_time_stands_still_while_a_person_is_asked(after: float, told: str) -> None:
    """Of the four seconds two are over when somebody is asked, who takes a day."""
    bench = Bench([])

    async def asked(_: Question) -> bool:
        await bench.clock.sleep(86_400)
        return True

    async def run(call: ToolCall) -> ToolOutcome:
        await bench.clock.sleep(2)
        value = await call.ask(Question(kind="approval", prompt="?"))
        await bench.clock.sleep(after)
        return ToolOutcome(f"said: {value}")

    decorated = Decorated(command_tool(["true"]), replace(bench.call(), ask=asked), run)
    limits = [Timeout(seconds=40), Timeout(seconds=4)]
    outcome = await bench.clock.run(asyncio.ensure_future(bench.decorating.outcome(decorated, limits)))
    assert outcome.content == told


async def test_a_run_that_is_in_time_is_left_alone() -> None:
    bench = Bench([says("x", 1)])
    assert (await bench.run(Timeout(seconds=2)), bench.fake.cut) == (ToolOutcome("x"), 0)


async def test_a_failed_run_is_tried_again_and_people_see_it() -> None:
    bench = Bench([(0, FAILED), (0, FAILED), says("x")])
    assert (await bench.run(Retries(count=5)), bench.fake.begun, bench.said) == (
        ToolOutcome("x"),
        3,
        [
            Progress(message="it failed; this is try 2 of 6"),
            Progress(message="it failed; this is try 3 of 6"),
        ],
    )


async def test_after_the_last_try_its_failure_is_the_result() -> None:
    bench = Bench([(0, FAILED)])
    assert (await bench.run(Retries(count=2)), bench.fake.begun) == (FAILED, 3)


async def test_no_retry_follows_a_cancel() -> None:
    bench = Bench([(9, FAILED)])
    decorated = Decorated(command_tool(["true"]), bench.call(), bench.fake.run)
    running = asyncio.ensure_future(bench.decorating.outcome(decorated, [Retries(count=3), Timeout(seconds=20)]))
    await until(lambda: bench.fake.begun == 1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert (running.cancelled(), bench.fake.begun, bench.fake.cut) == (True, 1, 1)


async def test_a_cached_result_is_used_again_for_the_same_arguments_only() -> None:
    bench = Bench([says("1"), says("2"), says("3"), says("4"), says("5")])
    outcomes = [
        (await bench.run(Cache(key=key), call=bench.call(session, **arguments), name=name)).content
        for key, session, name, arguments in (
            ("k", "s1", "tool", {"a": 1, "b": 2}),
            ("k", "s1", "tool", {"b": 2, "a": 1}),
            ("k", "s1", "tool", {"a": 2}),
            ("other", "s1", "tool", {"a": 2}),
            ("k", "s2", "tool", {"a": 2}),
            ("k", "s1", "another", {"a": 2}),
            ("k", "s1", "tool", {"a": 2}),
        )
    ]
    again = Progress(message="the result of an earlier call with the same arguments")
    assert (outcomes, bench.said) == (["1", "1", "2", "3", "4", "5", "2"], [again, again])


async def test_a_failure_and_a_large_result_are_not_remembered() -> None:
    large = "x" * (decorating.CACHED_BYTES + 1)
    bench = Bench([(0, FAILED), says(large), says("x")])
    assert [(await bench.run(Cache(key="k"))).content for _ in range(4)] == ["no", large, "x", "x"]


async def test_what_changed_files_is_done_each_time() -> None:
    """A result that said again what was changed would show a change that nobody made."""
    wrote = [
        ToolOutcome(f"wrote {number}", changes=(FileChange(path="a", kind="created", patch=str(number)),))
        for number in range(2)
    ]
    bench = Bench([(0, outcome) for outcome in wrote])
    assert ([await bench.run(Cache(key="k")) for _ in range(2)], bench.said) == (wrote, [])


async def test_another_session_of_the_same_id_knows_nothing_of_one_that_was_deleted() -> None:
    bench = Bench([says("1"), says("2")])
    tool, told = command_tool(["true"]), []
    for since in ("2026-01-01", "2026-01-02", "2026-01-01"):
        decorated = Decorated(tool, bench.call(), bench.fake.run, since)
        told.append(await bench.clock.run(asyncio.ensure_future(bench.decorating.outcome(decorated, [Cache(key="k")]))))
    assert told == [ToolOutcome("1"), ToolOutcome("2"), ToolOutcome("1")]


async def test_of_many_results_those_that_were_used_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decorating, "CACHED", 2)
    bench = Bench([says(str(number)) for number in range(9)])
    asked = [bench.call(a=number) for number in (1, 2, 1, 3, 1, 2)]
    assert [(await bench.run(Cache(key="k"), call=call)).content for call in asked] == ["0", "1", "0", "2", "0", "3"]


@pytest.mark.parametrize(
    ("content", "most", "told", "kept"),
    [
        ("abcdef", 6, "abcdef", None),
        ("abcdefg", 6, "abcdef\n[truncated: result exceeded 6 bytes]", b"abcdefg"),
        ("é😀é", 5, "é\n[truncated: result exceeded 5 bytes]", "é😀é".encode()),
        ("😀", 1, "[truncated: result exceeded 1 bytes]", "😀".encode()),
        ({"a": "bcd"}, 4, '{"a"\n[truncated: result exceeded 4 bytes]', b'{"a":"bcd"}'),
    ],
)
async def test_a_long_result_is_cut_between_characters_and_kept_whole(
    content: Any, most: int, told: str, kept: bytes | None
) -> None:
    bench = Bench([(0, ToolOutcome(content))])
    outcome = await bench.run(Truncate(max_bytes=most))
    spooled = [(bytes(spool.data), spool.done) for spool in bench.spools]
    assert (outcome.content, outcome.whole and outcome.whole.bytes, spooled) == (
        told,
        kept and len(kept),
        [(kept, ["write", "keep", "drop"])] if kept else [],
    )


async def test_what_is_kept_already_stays() -> None:
    kept = await Bench([says("abc")]).run(Truncate(max_bytes=2))
    outcome = await Bench([(0, replace(kept, content="more", error="tool/failed"))]).run(Truncate(max_bytes=1))
    assert outcome == replace(kept, content="m\n[truncated: result exceeded 1 bytes]", error="tool/failed")


async def test_a_result_that_cannot_be_kept_is_cut_and_says_so() -> None:
    outcome = await Bench([says("abc")], fails="keep").run(Truncate(max_bytes=1))
    assert outcome == ToolOutcome(
        "a\n[truncated: result exceeded 1 bytes]\n[the whole output could not be kept: No space left on device]"
    )


# The model: the same words as agent-file.md has, in virtual time.


class Cut(Exception):
    pass


@dataclass(slots=True)
class Model:
    script: Sequence[tuple[float, ToolOutcome]]
    now: float = 0.0
    begun: int = 0
    cached: dict[str, ToolOutcome] = field(default_factory=dict)

    def run(self, decorators: Sequence[AnyDecorator], until: float = math.inf) -> ToolOutcome:
        if not decorators:
            return self._tool(until)
        first, rest = decorators[0], decorators[1:]
        match first:
            case Timeout():
                mine = self.now + first.seconds
                try:
                    return self.run(rest, min(mine, until))
                except Cut:
                    if until < mine:
                        raise
                    return ToolOutcome(f"tool call timed out after {first.seconds:g}s", "tool/timeout")
            case Retries():
                outcomes = (self.run(rest, until) for _ in range(first.count + 1))
                outcome = next(outcomes)
                while outcome.failed and (another := next(outcomes, None)) is not None:
                    outcome = another
                return outcome
            case Cache():
                if first.key not in self.cached:
                    outcome = self.run(rest, until)
                    if outcome.failed:
                        return outcome
                    self.cached[first.key] = outcome
                return self.cached[first.key]
            case Truncate():
                outcome = self.run(rest, until)
                text = outcome.content
                if len(text) <= first.max_bytes:
                    return outcome
                cut = text[: first.max_bytes].removesuffix("\n")
                return replace(outcome, content=f"{cut}\n[truncated: result exceeded {first.max_bytes} bytes]")
            case Label():
                return self.run(rest, until)

    def _tool(self, until: float) -> ToolOutcome:
        seconds, outcome = self.script[min(self.begun, len(self.script) - 1)]
        self.begun += 1
        if self.now + seconds > until:
            self.now = until
            raise Cut
        self.now += seconds
        return outcome


OFFSETS = (0.0011, 0.0173, 0.0317, 0.0571)
"""No two ends fall together."""


def stack(kinds: list[tuple[str, int]]) -> list[AnyDecorator]:
    made: dict[str, Any] = {
        "timeout": lambda at, n: Timeout(seconds=n + OFFSETS[at]),
        "retries": lambda _, n: Retries(count=n % 3),
        "cache": lambda _, n: Cache(key=str(n % 2)),
        "label": lambda _, n: Label(label=str(n)),
        "truncate": lambda _, n: Truncate(max_bytes=40 + n),
    }
    return [made[kind](at, n) for at, (kind, n) in enumerate(kinds)]


KINDS = st.tuples(st.sampled_from(["timeout", "retries", "cache", "label", "truncate"]), st.integers(1, 5))
WHOLE = BlobRef(sha256="0" * 64, bytes=99)
"""All of an output, which is kept already: no thread takes time of its own."""

RUNS = st.tuples(
    st.sampled_from([0.31, 1.31, 2.31, 4.31]),
    st.sampled_from([("x", None), ("x" * 60, None), ("no", "tool/failed"), ("no\n" * 20, "tool/failed")]).map(
        lambda told: ToolOutcome(*told, WHOLE)
    ),
)


@settings(max_examples=150, deadline=None)
@given(kinds=st.lists(KINDS, max_size=4), script=st.lists(RUNS, min_size=1, max_size=6))
def test_any_stack_of_decorators_does_what_the_model_says(
    kinds: list[tuple[str, int]], script: list[tuple[float, ToolOutcome]]
) -> None:
    decorators = stack(kinds)

    async def twice() -> tuple[list[ToolOutcome], int]:
        bench = Bench(script)
        return [await bench.run(*decorators) for _ in range(2)], bench.fake.begun

    model = Model(script)
    expected = [model.run(decorators), model.run(decorators)]
    assert asyncio.run(twice()) == (expected, model.begun)
