"""New rules are applied to what waits, and to what comes to wait while they are kept (machine.md, Remembered rules)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from support.shell import CLIENT, Shell, answer

from abey.core import events as e
from abey.core.remembering import made
from abey.core.session import Session
from abey.protocol.policy import AskedRule, Rule
from abey.runtime.applying import Applying
from abey.runtime.remembering import Remembering
from abey.runtime.store.io import FileIO


def rule(tool: str = "ask") -> Rule:
    asked = AskedRule.model_validate({"tool": tool, "disposition": "runSync", "scope": "user"})
    return made(asked, session_id=None, origin="by hand", now="2026-01-01T00:00:00.000Z")


def states(session: Session) -> list[str]:
    return [call.state for call in session.last_answer.calls] if session.last_answer else []


def applying(shell: Shell, folder: Path) -> tuple[Remembering, Applying]:
    kept = Remembering(folder / "config" / "rules.json", FileIO("process"))

    async def waiting(_: Sequence[Rule]) -> Sequence[str]:
        return [live.id for live in shell.sessions.loaded]

    return kept, Applying(kept, shell.sessions, shell.scheduler, waiting)


async def test_a_call_that_is_being_judged_while_a_rule_comes_is_answered_by_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "state", [answer(("c1", "ask", "{}"))])
    kept, applies = applying(shell, tmp_path)
    live = (await shell.start(run=e.STEP)).live
    await shell.until(lambda: live.machine.session.state == "llmTurn" and live.machine.work.run is None)
    shell.tools.instant = False
    async with live.lock:
        step = asyncio.create_task(shell.scheduler.submit(live, e.Drive(e.STEP, CLIENT)))
        await asyncio.sleep(0.01)  # it is the next one to have its turn, and knows of no rule
        kept.remember(rule())
        applied = asyncio.create_task(applies.apply())
    await asyncio.gather(step, applied)
    assert (states(live.machine.session), kept.unapplied()) == (["running"], ())


async def test_one_session_that_takes_no_requests_does_not_keep_the_others_waiting(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "state", [answer(("c1", "ask", "{}")), answer(("c1", "ask", "{}"))])
    kept, applies = applying(shell, tmp_path)
    lives = [(await shell.start(name, run=e.UNTIL_YIELD)).live for name in ("s1", "s2")]
    await shell.until(lambda: all(states(live.machine.session) == ["deferred"] for live in lives))
    await shell.scheduler.submit(lives[0], e.Stop(None, CLIENT))
    kept.remember(rule())
    await applies.apply()
    await shell.until(lambda: states(lives[1].machine.session) == ["completed"])
    assert (lives[0].machine.session.stopped, shell.tools.started, kept.unapplied()) == (True, ["ask"], ())
