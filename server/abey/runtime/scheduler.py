"""The shell of the machine: decides under the session's lock, writes, shows, then does (machine.md).

Laws
- One event of a session at a time, and nobody sees a revision that is not in the journal.
- What is decided is carried out to its end, whoever asked for it and whether or not they still wait.
- The first write that fails ends the work of that session, and of no other.
"""

import asyncio
import logging
from contextlib import suppress

from abey.core import effects as fx
from abey.core.agent import Agent
from abey.core.events import Event, GraceOver, Start, TimePassed
from abey.core.idempotency import Keyed
from abey.core.inputs import refuse_stale
from abey.core.session_rules import rules_used
from abey.core.transition import Transition
from abey.core.waiting import deadlines
from abey.errors import AbeyError, DaemonDraining, RecordFailed, TooLarge
from abey.runtime.agents.versions import Versions
from abey.runtime.clock import millis_of
from abey.runtime.contexts import LET_RUN, Contexts
from abey.runtime.deciding import Decided, decided
from abey.runtime.in_flight import Undisturbed
from abey.runtime.live import Live
from abey.runtime.oversize import fitting
from abey.runtime.ports import Ports
from abey.runtime.recording import Recording
from abey.runtime.sessions import Sessions
from abey.runtime.work import Workers
from abey.shared.values import dataclass

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Submitted:
    """What an event came to. `run` ends with the run that the request waits for, if there is one. No other request has
    it, so that who gives up waiting may cancel it."""

    live: Live
    transition: Transition
    run: asyncio.Future[fx.EndRun] | None


class Scheduler:
    """Every event of every session goes through here."""

    def __init__(self, ports: Ports, sessions: Sessions, versions: Versions) -> None:
        self._ports = ports
        self._sessions = sessions
        self._contexts = Contexts(ports, versions)
        self._workers = Workers(ports, self._report)
        self._requests = Undisturbed[Submitted]()
        self._recording = Recording(ports.store)
        self.parking = self._recording.parking
        self._closed = False
        sessions.on_load = self._set_alarm
        self.draining = False

    @property
    def busy(self) -> bool:
        """Whether a model or a tool runs for any session. What a child does is in flight in the child."""
        return any(one.child_id is None for live in self._sessions.loaded for one in live.machine.work.live)

    async def start(self, event: Start, agent: Agent, keyed: Keyed | None = None) -> Submitted:
        """A new session, durable when this returns. Raises InvalidState where the id is taken; RecordFailed."""
        return await self._requests.done(self._start(event, agent, keyed))

    async def submit(
        self, live: Live, event: Event, if_revision: int | None = None, keyed: Keyed | None = None
    ) -> Submitted:
        """One event. Raises what the machine says of it, RevisionConflict, RecordFailed."""
        return await self._requests.done(self._submit(live, event, if_revision, keyed))

    async def drain(self, seconds: float) -> None:
        """No step begins any more, and runs that wait end `paused`. Returns when nothing runs, or after so many
        seconds."""
        self.draining = True
        for live in self._sessions.loaded:
            with suppress(AbeyError):  # a session that has failed has no run to end
                await self.submit(live, TimePassed())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.busy:
                    await self._workers.ended.wait()

    async def let_go(self, live: Live) -> None:
        """Returns when nothing that the session kept open is left, or when that has had its time."""
        await self._ports.kept_open.release(live.id)

    async def close(self) -> None:
        """Ends all work in flight without recording an end: what had started may have run."""
        self._closed = True
        await self._workers.close()
        await self._ports.kept_open.close()
        await self._requests.close()
        for live in self._sessions.loaded:
            for timer in live.timers.values():
                timer.cancel()
            async with live.lock:
                live.journal.close()

    async def _start(self, event: Start, agent: Agent, keyed: Keyed | None) -> Submitted:
        self._contexts.refuse_full_disk()
        made = await decided(None, event, await self._contexts.of_nothing(agent), keyed)
        live = await self._sessions.create(event.created.session_id, lambda: self._recording.create(made.done))
        return self._took(live, made)

    async def _submit(
        self, live: Live, event: Event, if_revision: int | None = None, keyed: Keyed | None = None
    ) -> Submitted:
        if type(event) in LET_RUN:
            await self._contexts.prepare(live, event)
        async with live.lock:
            if live.failure is not None:
                raise live.refusal()
            if self._closed:
                raise DaemonDraining("the daemon ends; ask the next one")
            refuse_stale(live.machine.session, if_revision)
            made = await decided(live, event, await self._contexts.of(live, draining=self.draining), keyed)
            for effect in made.done.effects:
                if isinstance(effect, fx.Remember):  # what is kept outside the journal is durable first
                    await asyncio.to_thread(self._ports.rules.remember, effect.rule)
            if made.done.records:
                await self._write(live, made.done)
            submitted = self._took(live, made)
        for effect in made.done.effects:
            if isinstance(effect, fx.Refuse):
                raise effect.error
        return submitted

    async def _write(self, live: Live, done: Transition) -> None:
        try:
            await self._recording.append(live, done)
        except RecordFailed as error:
            self._fail_stop(live, error)
            raise live.refusal() from error

    def _took(self, live: Live, made: Decided) -> Submitted:
        """It is durable: remember it, begin what follows, and show it. Nothing that begins ends before it is shown."""
        done = made.done
        live.machine, live.agent = done.machine, done.agent
        self._sessions.residents.used(live.id, live)
        run = live.end_of_run(done.generation)
        if done.records:
            live.log.take(made.logged)
            self._sessions.committed(live, done.records)
            live.note_calls(done.records)
            self._ports.children.took(live, done.records)
            self._ports.rules.used(rules_used(done.records))
            self._workers.committed(live, done.records)
        live.changed.beat()
        for effect in done.effects:
            self._perform(live, effect)
        self._ports.listener.changed(done.machine)
        self._workers.end_what_is_open(live)
        self._set_alarm(live)
        return Submitted(live, done, run)

    def _perform(self, live: Live, effect: fx.Effect) -> None:
        match effect:
            case fx.EndRun():
                live.run_ended(effect)
            case fx.StartGrace():
                self._wake(live, effect.seconds, GraceOver(effect.generation), "grace")
            case fx.Quarantined():
                notice = {"type": "stale-result", "invocationId": effect.invocation_id}
                self._ports.listener.noticed(live.id, notice)
            case fx.Refuse() | fx.Remember():
                pass  # the request that caused it is answered with it; it was kept before
            case fx.AskModel() | fx.ListTools() | fx.RunTool() | fx.Abort() | fx.EndChild() | fx.AnswerTool():
                self._workers.perform(live, effect)

    async def _report(self, live: Live, event: Event) -> bool:
        """News of work in flight, from a task that nobody cancels; whether they are durable. Nobody asked, so nobody
        can be answered: what goes wrong stops the session."""
        try:
            await self._submit(live, event)
        except TooLarge as error:
            return await self._report(live, fitting(event, error))
        except DaemonDraining:
            return False  # it came too late: for the next daemon this may have run
        except AbeyError as error:
            if live.failure is None:
                self._fail_stop(live, error)
        except Exception as error:
            log.exception("session %s: an event could not be taken", live.id)
            self._fail_stop(live, RecordFailed(f"session {live.id} met an internal error: {type(error).__name__}"))
        else:
            return True
        return False

    def _fail_stop(self, live: Live, error: AbeyError) -> None:
        """The session's work ends here; its last good revision stays visible."""
        log.error("session %s stops taking requests: %s", live.id, error.message)
        live.fail(error)
        self._sessions.residents.used(live.id, live)
        self._workers.abandon(live)
        self._ports.listener.noticed(live.id, {"type": "record-failed", "message": error.message})
        self._ports.listener.changed(live.machine)

    def _set_alarm(self, live: Live) -> None:
        """Wakes the session when the next of its waiting calls expires."""
        waits = deadlines(live.machine.session)
        if not waits:
            return
        now = self._ports.clock.millis()
        left = [millis for millis in (millis_of(one) - now for one in waits) if millis > 0]
        if left:
            self._wake(live, min(left) / 1000, TimePassed(), "alarm")

    def _wake(self, live: Live, seconds: float, event: Event, purpose: str) -> None:
        """Says `event` after so many seconds; a later call for the same purpose replaces it."""

        async def wait() -> None:
            await self._ports.clock.sleep(seconds)
            with suppress(AbeyError):
                await self.submit(live, event)

        old = live.timers.get(purpose)
        if old is not None and old is not asyncio.current_task():
            old.cancel()
        live.timers[purpose] = asyncio.create_task(wait())
