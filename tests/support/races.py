"""Two who answer one call in the same moment, inside a daemon: what each is told, and whether the tool ran."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

from support.shell import Shell, answer

from abey.core import events as e
from abey.core.agent import Tool
from abey.core.call import Call
from abey.core.conversation import ModelAnswer, ModelRequest, ResultMessage, ToolOutcome
from abey.core.hashes import proposed_hash
from abey.core.session import AnswerEntry
from abey.core.views import resolution_view
from abey.protocol import outcomes as o
from abey.protocol.transcript import Client
from abey.runtime.live import Live
from abey.runtime.ports import OnDelta, ToolCall

ANN, BOB = Client(id="c1", name="ann", kind="cli"), Client(id="c2", name="bob", kind="vscode")
NOBODY = "nobody"
PAIRS: dict[str, tuple[o.AnyOutcome | None, o.AnyOutcome | None]] = {
    "approve against approve": (o.Approve(), o.Approve()),
    "approve against deny": (o.Approve(), o.DenyCall(message="no")),
    "approve against result": (o.Approve(), o.Result(content="from outside")),
    "approve against cancel": (o.Approve(), None),
}
"""What ann and bob say; None is the end of the turn."""


class AsksOnce:
    """A model that asks for one call that waits for somebody, and then is content."""

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        if isinstance(request.messages[-1], ResultMessage):
            return answer(text="done")
        return answer(("c1", "ask", "{}"))


@dataclass
class Writes:
    """A tool that leaves a line in a file, which is all that anybody could see of it."""

    file: Path

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        with self.file.open("a") as file:
            file.write(f"{call.session_id}\n")
        return ToolOutcome("ran")

    def count(self) -> Counter[str]:
        return Counter(self.file.read_text().splitlines() if self.file.exists() else ())


@dataclass(frozen=True)
class Ended:
    """One race: who was applied, what both were told of it, the end of the call, how often its tool ran."""

    applied: tuple[bool, bool]
    resolved: tuple[str, str]
    by: tuple[str, str]
    state: str
    ran: int


async def race(folder: Path, pair: str, rounds: int, chance: Random) -> list[Ended]:
    """So many races of this kind, each in a session of its own, in a daemon with a real journal."""
    writes = Writes(folder / "effects")
    shell = Shell(folder, [], model=AsksOnce(), tools=writes)
    told = [await _round(shell, f"s{number}", pair, chance) for number in range(rounds)]
    ran = writes.count()
    return [
        Ended(applied, *_shown(seen), state, ran[f"s{number}"]) for number, (applied, seen, state) in enumerate(told)
    ]


def _shown(seen: tuple[tuple[str, str], tuple[str, str]]) -> tuple[tuple[str, str], tuple[str, str]]:
    (one, by_one), (other, by_other) = seen
    return (one, other), (by_one, by_other)


async def _round(
    shell: Shell, session_id: str, pair: str, chance: Random
) -> tuple[tuple[bool, bool], tuple[tuple[str, str], tuple[str, str]], str]:
    live = (await shell.start(session_id, run=e.UNTIL_YIELD)).live
    await shell.until(lambda: the_call(live) is not None and live.machine.work.run is None)
    call = the_call(live)
    assert call is not None
    assert call.verdict is not None
    shown = proposed_hash(live.machine.session, call)
    events = [
        e.Cancel(None, None, client) if outcome is None else e.Complete(call.verdict.token, outcome, shown, client)
        for outcome, client in zip(PAIRS[pair], (ANN, BOB), strict=True)
    ]
    delays = [chance.randrange(4) for _ in events]
    both = [_say(shell, live, event, delay) for event, delay in zip(events, delays, strict=True)]
    if chance.random() < 0.5:
        told = tuple(reversed(await asyncio.gather(*reversed(both))))
    else:
        told = tuple(await asyncio.gather(*both))
    await shell.until(lambda: not live.machine.work.live)
    ended = the_call(live)
    assert ended is not None
    return (told[0][0], told[1][0]), (told[0][1], told[1][1]), ended.state


async def _say(shell: Shell, live: Live, event: e.Event, delay: int) -> tuple[bool, tuple[str, str]]:
    for _ in range(delay):
        await asyncio.sleep(0)
    done = await shell.scheduler.submit(live, event)
    call = the_call(live)
    assert call is not None
    resolution = resolution_view(call)
    return bool(done.transition.answer["applied"]), (resolution.kind, resolution.by)


def the_call(live: Live) -> Call | None:
    """The one call of the session."""
    turns = live.machine.session.turns
    answers = [one for turn in turns for one in turn.entries if isinstance(one, AnswerEntry)]
    return next((call for one in answers for call in one.calls if call.verdict is not None), None)


def unfair(pair: str, one: Ended) -> bool:
    """Whether something came of a race that may not: two winners or none, another answer told than the one recorded,
    a tool that ran though nobody had let it, or that ran twice."""
    approved = one.by[0] == "ann" and one.applied[0]
    if pair == "approve against cancel":
        told = one.resolved[0] == ("approve" if one.applied[0] else "cancelled")
        # A cancel that comes later ends the call before or after its tool has begun.
        return not told or not any(one.applied) or one.ran > int(one.applied[0])
    if pair == "approve against approve":
        winner = ("ann", "bob")[one.applied.index(True)] if sum(one.applied) == 1 else NOBODY
        return one.by != (winner, winner) or one.resolved != ("approve", "approve") or one.ran != 1
    answers = tuple(said.kind for said in PAIRS[pair] if said is not None)
    kind = answers[0] if one.applied[0] else answers[1]
    states = {"approve": "completed", "deny": "denied", "result": "completed"}
    return (
        sum(one.applied) != 1
        or one.resolved != (kind, kind)
        or one.state != states[kind]
        or one.ran != (1 if approved else 0)
    )
