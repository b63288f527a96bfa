"""What sessions keep open: made once, ended in reverse order, each session in isolation (runtime/capabilities.py)."""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from support.processes import until
from support.stories import dispatched

from abey.core.session import Session
from abey.extensions.capabilities import Capability, CapabilityError, SessionInfo, Signal
from abey.runtime.capabilities import CapabilityStates
from abey.runtime.clock import ManualClock
from abey.runtime.session_capabilities import GRACE_SECONDS, SessionCapabilities


def session(session_id: str = "s1") -> Session:
    bare = dispatched("ok").session
    return replace(bare, created=bare.created.model_copy(update={"session_id": session_id}))


@dataclass(eq=False)
class Maker:
    """Makes what it is called, once `gate` is open; whether it listens to its signal is up to `deaf`."""

    name: str
    diary: list[str]
    gate: asyncio.Event | None = None
    error: BaseException | None = None
    deaf: bool = False
    undisposable: BaseException | None = None
    closing: asyncio.Event | None = None

    @property
    def capability(self) -> Capability:
        return Capability(self.name, self.create, self.dispose)

    async def create(self, info: SessionInfo, signal: Signal) -> str:
        self.diary.append(f"create {self.name}")
        if self.gate is not None:
            opened, fired = asyncio.ensure_future(self.gate.wait()), asyncio.ensure_future(signal.wait())
            await asyncio.wait({opened} if self.deaf else {opened, fired}, return_when=asyncio.FIRST_COMPLETED)
            opened.cancel()
            fired.cancel()
            if signal.aborted and not self.deaf:
                self.diary.append(f"{self.name} hears: {signal.reason}")
                raise RuntimeError("not wanted")
        if self.error is not None:
            raise self.error
        return f"{self.name} of {info.id}"

    async def dispose(self, value: Any) -> None:
        self.diary.append(f"dispose {value}")
        if self.closing is not None:
            await self.closing.wait()
        if self.undisposable is not None:
            raise self.undisposable


GROUP = BaseExceptionGroup("of a library", [asyncio.CancelledError()])


@dataclass
class Kept:
    """The states of one daemon."""

    clock: ManualClock = field(default_factory=ManualClock)
    diary: list[str] = field(default_factory=list)
    notices: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.states = CapabilityStates(self.clock, lambda *notice: self.notices.append(notice))

    def declared(self, *makers: Maker, session_id: str = "s1") -> SessionCapabilities:
        state = self.states.of(session(session_id))
        state.declare(maker.capability for maker in makers)
        return state

    def maker(self, name: str, **more: Any) -> Maker:
        return Maker(name, self.diary, **more)


async def told(work: Any) -> tuple[str, str]:
    with pytest.raises(CapabilityError) as error:
        await work
    return error.value.kind, str(error.value)


async def test_a_capability_is_made_when_it_is_first_needed_and_once_for_all_who_need_it() -> None:
    kept = Kept()
    state = kept.declared(kept.maker("a", gate=asyncio.Event()), kept.maker("b"))
    assert (kept.diary, state.has("a"), state.has("c")) == ([], True, False)
    assert await state.get("b") == "b of s1"
    makers = [asyncio.create_task(state.get("b")) for _ in range(3)]
    assert (await asyncio.gather(*makers), kept.diary) == (["b of s1"] * 3, ["create b"])


async def test_who_asks_at_once_shares_one_making_and_who_stops_waiting_stops_it_for_nobody() -> None:
    kept, gate = Kept(), asyncio.Event()
    state = kept.declared(kept.maker("a", gate=gate))
    first, second = asyncio.create_task(state.get("a")), asyncio.create_task(state.get("a"))
    await until(lambda: kept.diary == ["create a"])
    first.cancel()
    await asyncio.wait({first})
    gate.set()
    assert (await second, await state.get("a"), kept.diary) == ("a of s1", "a of s1", ["create a"])


@pytest.mark.parametrize(
    "error", [ValueError("no\x1bway"), asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt("3"), GROUP]
)
async def test_a_failure_is_remembered_and_told_once(error: BaseException) -> None:
    kept = Kept()
    state = kept.declared(kept.maker("a", error=error))
    whys = {ValueError: r"no\x1bway", asyncio.CancelledError: "CancelledError", SystemExit: "3", KeyboardInterrupt: "3"}
    why = whys.get(type(error), str(error))
    for _ in range(2):
        assert await told(state.get("a")) == ("capability/create-failed", f"a: {why}")
    await kept.states.release("s1")
    notice = {"type": "capability/create-failed", "capabilityId": "a", "message": why}
    assert (kept.diary, kept.notices) == (["create a"], [("s1", notice)])


async def test_a_failure_that_is_forgotten_is_followed_by_another_try() -> None:
    kept = Kept()
    maker = kept.maker("a", error=ValueError("not yet"))
    state = kept.declared(maker)
    await told(state.get("a"))
    maker.error = None
    state.forget_failure("a")
    assert await state.get("a") == "a of s1"
    state.forget_failure("a")
    assert (await state.get("a"), kept.diary) == ("a of s1", ["create a", "create a"])


async def test_what_nobody_declared_is_not_made() -> None:
    assert await told(Kept().declared().get("a")) == ("capability/undeclared", "no capability a is declared")


async def test_all_is_disposed_in_reverse_order_of_declaration_and_not_what_was_never_made() -> None:
    kept = Kept()
    state = kept.declared(*(kept.maker(name) for name in "abc"))
    await state.get("c")
    await state.get("a")
    await asyncio.gather(kept.states.release("s1"), state.shutdown("again"), kept.states.release("s1"))
    assert kept.diary == ["create c", "create a", "dispose c of s1", "dispose a of s1"]


async def test_nothing_is_made_once_the_session_is_being_stopped_and_what_is_made_can_be_used_until_it_ends() -> None:
    kept = Kept()
    state = kept.declared(kept.maker("a"), kept.maker("b"))
    await state.get("a")
    kept.states.abort("s1")
    closed = ("capability/closed", "nothing is made for the session any more: it is being stopped")
    assert (await told(state.get("b")), await state.get("a")) == (closed, "a of s1")
    await kept.states.release("s1")
    assert (await told(state.get("a")), kept.diary) == (closed, ["create a", "dispose a of s1"])


async def test_an_abort_reaches_whoever_makes_and_whoever_waits_at_once() -> None:
    kept = Kept()
    state = kept.declared(kept.maker("a", gate=asyncio.Event()), kept.maker("b", gate=asyncio.Event(), deaf=True))
    waiting = [asyncio.create_task(told(state.get(name))) for name in "ab"]
    await until(lambda: len(kept.diary) == 2)
    kept.states.abort("s1")
    closed = ("capability/closed", "nothing is made for the session any more: it is being stopped")
    assert (await asyncio.gather(*waiting), kept.diary[2:]) == ([closed] * 2, ["a hears: it is being stopped"])
    assert kept.notices == []


async def test_what_comes_of_a_making_after_the_abort_is_disposed_before_the_end() -> None:
    kept, gate = Kept(), asyncio.Event()
    state = kept.declared(kept.maker("a", gate=gate, deaf=True), kept.maker("b"))
    asking = asyncio.create_task(told(state.get("a")))
    await until(lambda: kept.diary == ["create a"])
    await state.get("b")
    releasing = asyncio.create_task(kept.states.release("s1"))
    await asking
    assert not releasing.done()
    gate.set()
    await releasing
    assert kept.diary == ["create a", "create b", "dispose b of s1", "dispose a of s1"]


async def test_a_making_that_ignores_its_signal_holds_up_the_end_for_its_time_and_is_disposed_later() -> None:
    kept, gate = Kept(), asyncio.Event()
    state = kept.declared(kept.maker("a"), kept.maker("b", gate=gate, deaf=True))
    await state.get("a")
    asking = asyncio.create_task(told(state.get("b")))
    await until(lambda: "create b" in kept.diary)
    releasing = asyncio.create_task(kept.states.release("s1"))
    await until(lambda: kept.clock.slept == [GRACE_SECONDS])
    assert not releasing.done()
    kept.clock.advance(GRACE_SECONDS)
    await releasing
    assert kept.diary[2:] == ["dispose a of s1"]
    gate.set()
    await until(lambda: kept.diary[2:] == ["dispose a of s1", "dispose b of s1"])
    assert (await asking)[0] == "capability/closed"


@pytest.mark.parametrize(
    "error", [OSError("held"), asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt("3"), GROUP]
)
async def test_what_cannot_be_disposed_is_told_and_holds_up_no_other(error: BaseException) -> None:
    kept = Kept()
    state = kept.declared(kept.maker("a"), kept.maker("b", undisposable=error), kept.maker("c"))
    for name in "abc":
        await state.get(name)
    await kept.states.release("s1")
    assert kept.diary[3:] == ["dispose c of s1", "dispose b of s1", "dispose a of s1"]
    notice = {"type": "capability/dispose-failed", "capabilityId": "b", "message": str(error) or "CancelledError"}
    assert kept.notices == [("s1", notice)]


async def test_a_disposal_that_does_not_end_holds_up_the_others_for_its_time() -> None:
    kept = Kept()
    state = kept.declared(kept.maker("a"), kept.maker("b", closing=asyncio.Event()))
    await state.get("a")
    await state.get("b")
    releasing = asyncio.create_task(kept.states.release("s1"))
    await until(lambda: kept.diary[2:] == ["dispose b of s1"] and len(kept.clock.slept) == 2)
    kept.clock.advance(GRACE_SECONDS)
    await until(lambda: kept.diary[2:] == ["dispose b of s1", "dispose a of s1"])
    await releasing
    message = f"it does not end within {GRACE_SECONDS:g} s"
    assert kept.notices == [
        ("s1", {"type": "capability/dispose-failed", "capabilityId": "b", "message": message}),
    ]


async def test_what_is_dropped_is_disposed_and_may_be_declared_again() -> None:
    kept, gate = Kept(), asyncio.Event()
    state = kept.declared(kept.maker("a"), kept.maker("b", gate=gate, deaf=True))
    await state.get("a")
    asking = asyncio.create_task(state.get("b"))
    await until(lambda: "create b" in kept.diary)
    for name in ("a", "b", "c"):
        await state.drop(name)
    assert (state.has("a"), kept.diary[2:]) == (False, ["dispose a of s1"])
    kept.declared(kept.maker("a"))
    assert await state.get("a") == "a of s1"
    releasing = asyncio.create_task(kept.states.release("s1"))
    await asyncio.wait({asyncio.ensure_future(told(asking))})
    gate.set()
    await releasing
    assert kept.diary[3:] == ["create a", "dispose b of s1", "dispose a of s1"]


async def test_who_makes_is_told_whose_it_is_and_cannot_change_that() -> None:
    seen: list[SessionInfo] = []

    async def create(info: SessionInfo, _: Signal) -> None:
        seen.append(info)
        info.context["a"] = 2

    kept, seeded = Kept(), replace(session(), user_id="u", context={"a": 1})
    state = kept.states.of(seeded)
    state.declare([Capability("a", create)])
    await state.get("a")
    await kept.states.release("s1")
    assert (seen, seeded.context) == ([SessionInfo("s1", "a", "/w", "u", {"a": 2})], {"a": 1})


async def test_sessions_have_nothing_in_common_and_one_that_comes_again_has_everything_made_afresh() -> None:
    kept = Kept()
    one, other = kept.declared(kept.maker("a")), kept.declared(kept.maker("a"), session_id="s2")
    assert [await one.get("a"), await other.get("a")] == ["a of s1", "a of s2"]
    await kept.states.release("s1")
    again = kept.declared(kept.maker("a"))
    assert [await again.get("a"), await other.get("a")] == ["a of s1", "a of s2"]
    assert kept.diary == ["create a", "create a", "dispose a of s1", "create a"]


async def test_once_all_is_closed_nothing_is_made_for_anybody() -> None:
    kept = Kept()
    await kept.declared(kept.maker("a")).get("a")
    await kept.states.close()
    assert (await told(kept.declared(kept.maker("a"), session_id="s3").get("a")))[0] == "capability/closed"
    assert kept.diary == ["create a", "dispose a of s1"]


@pytest.mark.parametrize("seed", range(60))
async def test_whatever_happens_each_is_made_once_and_disposed_once_in_reverse_order(seed: int) -> None:
    chance = random.Random(seed)
    kept = Kept()
    makers = [
        kept.maker(
            name,
            gate=chance.choice([None, asyncio.Event()]),
            error=chance.choice([None, None, ValueError("no")]),
            deaf=chance.random() < 0.5,
            undisposable=chance.choice([None, None, OSError("held")]),
        )
        for name in "abcdef"
    ]
    state = kept.declared(*makers)
    asking: list[asyncio.Task[Any]] = []
    steps: list[Callable[[], Any]] = [
        lambda: asking.append(asyncio.create_task(state.get(chance.choice("abcdef")))),
        lambda: chance.choice(asking).cancel() if asking else None,
        lambda: chance.choice([maker.gate for maker in makers if maker.gate] or [asyncio.Event()]).set(),
    ]
    for _ in range(chance.randrange(5, 40)):
        chance.choice(steps)()
        for _ in range(chance.randrange(3)):
            await asyncio.sleep(0)
    releasing = asyncio.create_task(kept.states.release("s1"))
    while not releasing.done():
        chance.choice(steps)()
        kept.clock.advance(0.25)
        await asyncio.sleep(0)
    by_then = disposed(kept)
    for maker in makers:
        if maker.gate is not None:
            maker.gate.set()
    made = [line.removeprefix("create ") for line in kept.diary if line.startswith("create")]
    unmade = {maker.name for maker in makers if maker.error or f"{maker.name} hears: it is let go" in kept.diary}
    await until(lambda: len(disposed(kept)) >= len(set(made) - unmade))
    await asyncio.gather(*asking, return_exceptions=True)
    assert (sorted(made), sorted(disposed(kept))) == (sorted(set(made)), sorted(set(made) - unmade))
    assert by_then == sorted(by_then, reverse=True)


def disposed(kept: Kept) -> list[str]:
    return [line.split()[1] for line in kept.diary if line.startswith("dispose")]
