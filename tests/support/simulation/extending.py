"""The extension of a simulation: its hook and what it keeps open do what the story says."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from support.simulation.story import HookDoes

from abey.extensions import (
    Capability,
    CapabilityError,
    Extension,
    ModelCall,
    Proceed,
    SessionInfo,
    Signal,
)
from abey.protocol.transcript import Question
from abey.runtime.capabilities import CapabilityStates
from abey.runtime.extending.hooks import ExtensionHooks
from abey.runtime.extending.installed import Found, installed
from abey.runtime.extending.loading import Extensions
from abey.runtime.extending.scoped import Declared

if TYPE_CHECKING:
    from support.simulation.actors import Actors

NAME = "sim"
QUESTION = Question(kind="approval", prompt="may it run?")


class SimulatedExtension(Extension):
    """One that does something else around each model call."""

    def __init__(self, actors: "Actors") -> None:
        self._actors = actors
        self.capabilities: Sequence[Capability] = (Capability("state", self._create, self._dispose),)

    async def around(self, call: ModelCall, proceed: Proceed) -> None:
        actors, does = self._actors, self._actors.next_hook()
        if does != HookDoes():
            actors.told(f"{call.session.id}: a hook {does}")
        if does.before:
            await self._does(does, call)
        await proceed()
        if not does.before:
            await self._does(does, call)

    async def _does(self, does: HookDoes, call: ModelCall) -> None:
        await self._actors.pass_time(does.seconds, deaf=does.deaf)
        match does.how:
            case "denies":
                for one in call.answer.calls[:1]:
                    call.deny(one, "the hook of the simulation says no")
            case "asks":
                for one in call.answer.calls[-1:]:
                    call.ask(one, QUESTION)
            case "trips":
                call.trip("the hook of the simulation has had enough")
            case "trips all":
                call.trip("the hook of the simulation has had enough", "session")
            case "raises":
                raise RuntimeError("a hook of the simulation that raises")
            case "opens":
                try:
                    await call.capabilities.get("state")
                except CapabilityError as error:
                    self._actors.told(f"{call.session.id}: {error.kind}")
            case _:
                pass

    async def _create(self, session: SessionInfo, _: Signal) -> Any:
        does = self._actors.next_hook()
        self._actors.told(f"{session.id}: its state is made; {does}")
        await self._actors.pass_time(does.seconds, deaf=does.deaf)
        if does.how in ("raises", "trips", "trips all", "denies"):
            raise RuntimeError("a capability of the simulation that is not made")
        return does

    async def _dispose(self, does: HookDoes) -> None:
        await self._actors.pass_time(does.seconds, deaf=does.deaf)
        if does.how == "asks":
            raise RuntimeError("a capability of the simulation that does not go")


def hooks_of(actors: "Actors", states: CapabilityStates) -> ExtensionHooks:
    found: tuple[Found, ...] = (installed(NAME, f"{NAME} 1", lambda: SimulatedExtension(actors)),)
    return ExtensionHooks(Declared(Extensions(lambda: found), states), lambda *_: None)
