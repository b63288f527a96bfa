"""The hooks of several extensions around one model call: who is outside, what goes wrong, what counts then."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from support.hooks import Around, asked, given, hooked, request, user
from support.processes import until
from support.stories import dispatched
from support.world import agent as an_agent
from support.world import tool

from abey.core.agent import Agent
from abey.core.conversation import CallRuling, ModelAnswer, ModelRequest
from abey.core.rows import Row
from abey.core.session import Session
from abey.errors import ModelFailed
from abey.extensions import (
    Capability,
    LateMutation,
    ModelCall,
    Proceed,
    Question,
    SessionInfo,
    Signal,
    TextBlock,
    Tool,
    Tripped,
)
from abey.protocol.rulings import Tripwire
from abey.runtime.around import TripwireTripped
from abey.runtime.capabilities import CapabilityStates
from abey.runtime.clock import ManualClock
from abey.runtime.extending.hooks import NOT_OFFERED, ExtensionHooks
from abey.runtime.extending.installed import Broken, Found
from abey.runtime.extending.loading import Extensions
from abey.runtime.extending.scoped import Declared
from abey.runtime.extending.toolbox import Extended
from abey.runtime.ports import NoToolbox

MAY = Question(kind="approval", prompt="May it?")
SESSION = dispatched("ok").session
BEGUN = replace(SESSION, turns=Row.of([replace(turn, entries=turn.entries[:1]) for turn in SESSION.turns]))
"""Before the first answer of its turn."""


class Played:
    """A model that says what it is given, or fails, and keeps what it was asked."""

    def __init__(self, *replies: ModelAnswer | BaseException | asyncio.Event) -> None:
        self.replies = list(replies)
        self.asked: list[ModelRequest] = []

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        self.asked.append(request)
        match self.replies.pop(0):
            case asyncio.Event() as gate:
                await gate.wait()
                return await self.ask(request)
            case BaseException() as failure:
                raise failure
            case answer:
                return answer


class World:
    """Extensions, what they announce, and the agent with their tools."""

    def __init__(self, *found: Found, agent: Agent | None = None) -> None:
        self.extensions = Extensions(load=lambda: sorted(found, key=lambda one: one.name))
        self.states = CapabilityStates(ManualClock(), lambda _session, _event: None)
        self.told: list[tuple[str, str, str]] = []
        self.hooks = ExtensionHooks(Declared(self.extensions, self.states), lambda *news: self.told.append(news))
        self.agent = agent or an_agent()

    async def around(self, model: Played, session: Session = SESSION) -> ModelAnswer:
        await self.extensions.all()
        agent = Extended(NoToolbox(), self.extensions).equip(self.agent, session)
        return await self.hooks.around(session, agent, request(), model.ask)


async def come_to(model: Played, *found: Found, **more: Any) -> ModelAnswer:
    return await World(*found, **more).around(model)


async def tripped(model: Played, *found: Found) -> tuple[Tripwire, str, bool]:
    """The tripwire, its message, and whether the answer's cost is told."""
    with pytest.raises(TripwireTripped) as caught:
        await come_to(model, *found)
    return caught.value.tripwire, caught.value.message, caught.value.usage is not None


def step(extension: str) -> Tripwire:
    return Tripwire(extension=extension, scope="step")


async def through(call: ModelCall, proceed: Proceed) -> None:
    await proceed()


def adding(name: str, diary: list[str]) -> Found:
    async def around(call: ModelCall, proceed: Proceed) -> None:
        diary.append(f"{name} sees {call.system_prompt.split()} {call.session.id == SESSION.id}")
        call.add_instructions(name)
        await proceed()
        diary.append(f"{name} hears {call.answer.text}")
        call.replace(blocks=[TextBlock(text=f"{call.answer.text} {name}")])

    return hooked(name, around)


async def test_without_extensions_the_model_is_asked_as_it_is() -> None:
    model = Played(given("t"))
    assert (await come_to(model), model.asked) == (given("t"), [request()])


async def test_the_first_by_name_is_the_outermost_and_sees_what_the_others_made_of_the_answer() -> None:
    diary: list[str] = []
    model = Played(given())
    answer = await come_to(model, adding("c", diary), adding("a", diary), adding("b", diary))
    assert model.asked == [request(system="sys\n\na\n\nb\n\nc")]
    assert answer == given(text="hi c b a")
    assert diary == [
        "a sees ['sys'] True",
        "b sees ['sys', 'a'] True",
        "c sees ['sys', 'a', 'b'] True",
        "c hears hi",
        "b hears hi c",
        "a hears hi c b",
    ]


async def test_context_is_sent_and_rulings_come_with_the_answer() -> None:
    async def around(call: ModelCall, proceed: Proceed) -> None:
        call.add_context("it rains")
        await proceed()
        _, second, third = call.answer.calls
        call.replace(keep=[second, third])
        call.ask(second, MAY)
        call.deny(third, "no")

    model = Played(replace(given("run", "run", "ask"), attempts=3))
    answer = await come_to(model, hooked("one", around))
    assert model.asked == [request(messages=[user("q", "it rains")])]
    rulings = (CallRuling(0, "one", None, MAY), CallRuling(1, "one", "no"))
    calls = (asked("run", 1), asked("ask", 2))
    assert answer == replace(given("run", "run", "ask"), calls=calls, rulings=rulings, attempts=3)


def trips(before: bool = False, scope: Any = "step") -> Around:
    async def around(call: ModelCall, proceed: Proceed) -> None:
        if before:
            call.trip("enough", scope)
        await proceed()
        call.trip("enough", scope)

    return around


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("scope", ["step", "session"])
async def test_a_tripwire_ends_it_whenever_it_is_tripped(before: bool, scope: Any) -> None:
    model = Played(given())
    found = hooked("outer", through), hooked("wire", trips(before, scope))
    assert await tripped(model, *found) == (Tripwire(extension="wire", scope=scope), "enough", not before)
    assert len(model.asked) == (not before)


async def test_nobody_takes_a_tripwire_back() -> None:
    async def keeping(call: ModelCall, proceed: Proceed) -> None:
        try:
            await proceed()
        except Exception as error:
            raise ValueError("something else") from error

    async def swallowing(call: ModelCall, proceed: Proceed) -> None:
        try:
            await proceed()
        except Tripped as error:
            call.trip(f"mine: {error}", "session")

    for outer in (keeping, swallowing):
        assert await tripped(Played(given()), hooked("a", outer), hooked("b", trips())) == (step("b"), "enough", True)


async def test_a_hook_that_raises_is_a_tripwire_that_names_it_and_tells_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for error in (
        ValueError("secret"),
        SystemExit("secret"),
        KeyboardInterrupt("secret"),
        asyncio.CancelledError("secret"),
        ModelFailed("auth", "x"),
    ):

        async def around(call: ModelCall, proceed: Proceed, error: BaseException = error) -> None:
            await proceed()
            raise error

        told = "the extension bad failed; see the daemon's log"
        assert await tripped(Played(given()), hooked("a", through), hooked("bad", around)) == (step("bad"), told, True)
    assert "secret" in caplog.text


async def test_a_hook_that_does_what_it_may_not_is_told_so_and_so_are_people() -> None:
    async def late(call: ModelCall, proceed: Proceed) -> None:
        await proceed()
        call.add_instructions("too late")

    async def twice(call: ModelCall, proceed: Proceed) -> None:
        await proceed()
        await proceed()

    async def early(call: ModelCall, proceed: Proceed) -> None:
        call.replace()

    async def lets_nobody(call: ModelCall, proceed: Proceed) -> None:
        pass

    cases: list[tuple[Around, str, bool]] = [
        (late, "failed: instructions are added before `proceed`: the request has gone out", True),
        (twice, "failed: `proceed` is awaited once, before the hook returns", True),
        (early, "failed: the model has not answered yet: that is after `proceed`", False),
        (lets_nobody, "did not let the model be asked", False),
    ]
    for around, what, answered in cases:
        assert await tripped(Played(given()), hooked("it", around)) == (
            step("it"),
            f"the extension it {what}",
            answered,
        )


async def test_what_the_model_failed_with_counts_whatever_hooks_make_of_it() -> None:
    async def swallows(call: ModelCall, proceed: Proceed) -> None:
        try:
            await proceed()
        except ModelFailed:
            return

    async def wraps(call: ModelCall, proceed: Proceed) -> None:
        try:
            await proceed()
        except ModelFailed as failure:
            raise ValueError("mine") from failure

    for around in (through, swallows, wraps):
        failure = ModelFailed("rate-limited", "slow down", attempts=3)
        with pytest.raises(ModelFailed) as caught:
            await come_to(Played(failure), hooked("a", around), hooked("b", around))
        assert caught.value is failure


async def test_a_cancelled_model_call_ends_its_hooks_from_the_inside() -> None:
    diary: list[str] = []

    def noting(name: str) -> Around:
        async def around(call: ModelCall, proceed: Proceed) -> None:
            try:
                await proceed()
            finally:
                diary.append(name)

        return around

    model = Played(asyncio.Event())
    work = asyncio.create_task(come_to(model, hooked("a", noting("a")), hooked("b", noting("b"))))
    await until(lambda: model.asked)
    work.cancel()
    await asyncio.wait({work})
    assert (work.cancelled(), diary) == (True, ["b", "a"])


async def test_a_hook_that_hangs_is_cancelled_with_its_call() -> None:
    begun = asyncio.Event()

    async def hangs(call: ModelCall, proceed: Proceed) -> None:
        begun.set()
        await asyncio.Event().wait()

    work = asyncio.create_task(come_to(Played(given()), hooked("a", hangs)))
    await begun.wait()
    work.cancel()
    await asyncio.wait({work})
    assert work.cancelled()


async def test_a_hook_that_ignores_its_end_is_left_alone_and_asks_nothing_any_more() -> None:
    begun, heard, go = asyncio.Event(), asyncio.Event(), asyncio.Event()
    ended: list[str] = []

    async def stubborn(call: ModelCall, proceed: Proceed) -> None:
        try:
            begun.set()
            await go.wait()
        except asyncio.CancelledError:
            heard.set()
        await go.wait()
        try:
            await proceed()
        except LateMutation as error:
            ended.append(str(error))

    model = Played(given())
    work = asyncio.create_task(come_to(model, hooked("a", stubborn)))
    await begun.wait()
    work.cancel()
    await heard.wait()
    work.cancel()
    await asyncio.wait({work})
    go.set()
    await until(lambda: bool(ended))
    assert (work.cancelled(), ended, model.asked) == (True, ["the model call is over"], [])


async def test_a_hook_that_does_not_wait_for_the_model_has_it_given_up() -> None:
    model, ended = Played(asyncio.Event()), []

    async def leaves(call: ModelCall, proceed: Proceed) -> None:
        work = asyncio.ensure_future(proceed())
        work.add_done_callback(lambda done: ended.append(done.cancelled()))
        await until(lambda: model.asked)

    told = "the extension it did not let the model be asked"
    assert await tripped(model, hooked("it", leaves)) == (step("it"), told, False)
    await until(lambda: ended)
    assert ended == [True]


async def test_what_a_hook_has_left_running_changes_nothing_any_more() -> None:
    errors: list[str] = []
    go = asyncio.Event()

    async def leaves(call: ModelCall, proceed: Proceed) -> None:
        await proceed()

        async def later() -> None:
            await go.wait()
            for act in (lambda: call.replace(keep=[]), lambda: call.trip("late"), lambda: call.add_context("late")):
                try:
                    act()
                except LateMutation as error:
                    errors.append(type(error).__name__)

        left.append(asyncio.ensure_future(later()))

    left: list[asyncio.Future[None]] = []
    assert await come_to(Played(given("t")), hooked("it", leaves)) == given("t")
    go.set()
    await asyncio.gather(*left)
    assert errors == ["LateMutation"] * 3


async def run_nothing(_: Any) -> None:
    raise AssertionError("nothing runs here")


def adds(*names: str) -> Around:
    async def around(call: ModelCall, proceed: Proceed) -> None:
        for name in names:
            call.add_tool(name)
        await proceed()

    return around


def a_tool(name: str) -> Tool:
    return Tool(name, f"does {name}", {"type": "object"}, run_nothing)


async def test_a_tool_is_offered_by_the_hook_alone_and_what_was_not_offered_is_denied() -> None:
    tools = [a_tool("x_one"), a_tool("x_two")]
    model = Played(given("x_one", "x_two", "run"))
    answer = await come_to(model, hooked("ext", adds("x_one"), tools=tools))
    assert [one.name for one in model.asked[0].tools] == ["x_one"]
    assert answer.rulings == (CallRuling(1, "ext", NOT_OFFERED),)


async def test_a_tool_whose_name_the_agent_has_is_not_offered_and_people_are_told() -> None:
    world = World(
        hooked("ext", adds("run"), tools=[a_tool("run")]), hooked("later", adds("own"), tools=[a_tool("own")])
    )
    model = Played(given("run"), given())
    assert await world.around(model, BEGUN) == given("run")
    assert [one.name for one in model.asked[0].tools] == ["own"]
    await world.around(model)  # later in the turn they know
    assert world.told == [(SESSION.id, "run", "another tool has its name, and comes before it")]


async def test_of_two_extensions_the_first_has_the_name() -> None:
    first, second = hooked("a", adds("own"), tools=[a_tool("own")]), hooked("b", adds("own"), tools=[a_tool("own")])
    model = Played(given("own"))
    answer = await come_to(model, first, second, agent=an_agent((tool("run"),)))
    assert ([one.name for one in model.asked[0].tools], answer.rulings) == (["own"], ())


async def test_every_model_call_is_refused_where_an_extension_cannot_be_used() -> None:
    model = Played(given())
    with pytest.raises(ModelFailed) as caught:
        await come_to(model, hooked("good", through), Broken("guard", "it 1.0", "no module named it"))
    message = "the extension guard cannot be used (no module named it); mend or uninstall it, then restart the daemon"
    assert (caught.value.model_code, caught.value.message, model.asked) == ("invalid-request", message, [])


async def test_an_extension_has_its_own_capabilities_and_no_others() -> None:
    made: list[Any] = []

    async def create(session: SessionInfo, signal: Signal) -> str:
        return f"{session.id}'s"

    async def fails(session: SessionInfo, signal: Signal) -> str:
        raise ValueError("out of order")

    async def uses(call: ModelCall, proceed: Proceed) -> None:
        made.append((call.capabilities.has("it"), call.capabilities.has("bad"), await call.capabilities.get("it")))
        await proceed()

    async def uses_bad(call: ModelCall, proceed: Proceed) -> None:
        await proceed()
        await call.capabilities.get("bad")

    one = hooked("one", uses, capabilities=[Capability("it", create)])
    bad = hooked("bad", uses_bad, capabilities=[Capability("bad", fails)])
    told = "the extension bad failed: bad/bad: out of order"
    assert await tripped(Played(given()), one, bad) == (step("bad"), told, True)
    assert made == [(True, False, f"{SESSION.id}'s")]


def test_the_api_is_light() -> None:
    """No event loop, no client, no parser comes with it."""
    script = "import sys, abey.extensions; print([m for m in ('asyncio', 'httpx', 'pygls') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
