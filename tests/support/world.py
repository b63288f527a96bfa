"""A small world for the machine: it keeps the journal, plays the shell, and can crash at any record."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import Any

from support.grown import check_grown
from support.snapshots import check_snapshot

from abey.core import events as e
from abey.core.agent import Agent, Limits, Tool
from abey.core.conversation import AskedCall, ModelAnswer, ToolOutcome
from abey.core.effects import AskModel, Effect, EndRun, Remember, RunTool
from abey.core.idempotency import Keyed, keyed_request
from abey.core.invariants import check, check_journal, check_lines, check_moves, check_step
from abey.core.machine import Context, Machine, Work
from abey.core.moves import RESTART, Move, moves
from abey.core.policy import Floor, Laws
from abey.core.previews import Look, no_preview
from abey.core.replay import after_each, apply, fold, recover
from abey.core.session import Session
from abey.core.shell import Command, Script, Word
from abey.core.transition import Transition, begin, transition
from abey.errors import AbeyError
from abey.protocol import journal as j
from abey.protocol.base import sha256_hex
from abey.protocol.blocks import TextBlock
from abey.protocol.policy import Policy, Rule
from abey.protocol.session import Usage
from abey.protocol.transcript import Client, TextPart

CLIENT = Client(id="c1", name="test", kind="cli")
T0 = 1_764_400_000_000


def tool(name: str, **more: Any) -> Tool:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    definition = {"kind": "command", "name": name, **{key: value for key, value in more.items() if key != "hash"}}
    return Tool(name, "a tool", schema, definition, more.pop("hash", sha256_hex(definition)), **more)


TOOLS = (
    tool("run"),
    tool("bg"),
    tool("ask"),
    tool("no"),
    tool("alone"),
    tool("box"),
    tool("safe", idempotent=True),
    tool("ext", runnable=False),
    tool("soon"),
)

KID = replace(tool("kid"), definition={"kind": "agent", "name": "kid"})
"""Another agent; `World.children` says what came of the sessions of its calls."""

POLICY = Policy.model_validate(
    {
        "default": "runSync",
        "rules": [
            {"tool": "bg", "disposition": "runAsync"},
            {"tool": "ask", "disposition": {"tag": "defer", "reason": "approval required"}},
            {"tool": "no", "disposition": {"tag": "deny", "reason": "never"}},
            {"tool": "alone", "disposition": "runSync", "serial": True},
            {"tool": "box", "disposition": "runIsolated"},
            {"tool": "soon", "disposition": {"tag": "defer", "expireSeconds": 60}},
        ],
    }
)


def agent(tools: tuple[Tool, ...] = TOOLS, policy: Policy | None = POLICY, **limits: Any) -> Agent:
    named = {one.name: one for one in tools}
    version = sha256_hex([[one.hash for one in tools], policy.wire() if policy else None])
    return Agent(
        "a", {}, version, sha256_hex(policy.wire() if policy else None), "sys", named, policy, Limits(**limits)
    )


def check_arguments(schema: Any, value: Any, what: str) -> str | None:
    """Of a schema what is required, and that `x` is a string."""
    missing = [name for name in schema.get("required", ()) if not isinstance(value, dict) or name not in value]
    if missing:
        return f"{what}: {missing[0]} is missing"
    is_x = isinstance(value, dict) and "x" in value
    return "at /x: not a string" if is_x and not isinstance(value["x"], str) else None


def plainly(tool: Tool, arguments: Any) -> Script:
    """What the words of a command are, where nothing in it but letters, signs of options and blanks is."""
    text = str(arguments.get(tool.command, "")) if isinstance(arguments, dict) else ""
    if not all(letter.isalnum() or letter in " -./*" for letter in text):
        return Script(text, doubt="not only words")
    return Script(text, (Command(tuple(Word(word) for word in text.split())),), plain=True)


def timestamp(millis: int) -> str:
    return f"T{millis:015d}Z"


def text_parts(text: str) -> tuple[TextPart, ...]:
    return (TextPart(text=text),)


def answer(*calls: tuple[str, str, str], text: str = "") -> ModelAnswer:
    """An answer with calls (id, tool, arguments text)."""
    blocks = (TextBlock(text=text),) if text else ()
    asked = tuple(AskedCall(*call) for call in calls)
    return ModelAnswer(blocks, asked, "tool_calls" if calls else "stop", Usage(input_tokens=1, output_tokens=1))


def keyed(key: str, *, waits: bool = True, method: str = "agents/any") -> Keyed:
    return Keyed(keyed_request(key, method, {}), waits)


@dataclass
class World:
    """`effects` are those that nobody has performed yet; `awaited` are the runs that some request waits for.

    With `keyed` every command comes in a request with a key of its own, two of three of which wait; `asked` counts
    them, and `cut` are the keys of those that a crash has cut off. `moved` is what records and crashes have moved.
    """

    agent: Agent = field(default_factory=agent)
    millis: int = T0
    counter: int = 0
    draining: bool = False
    keyed: bool = False
    asked: int = 0
    cut: set[str] = field(default_factory=set)
    versions: dict[str, Agent] = field(default_factory=dict)
    records: list[j.Record] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    ended: list[EndRun] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    starts: list[tuple[str, str]] = field(default_factory=list)
    awaited: set[int] = field(default_factory=set)
    children: dict[str, ToolOutcome] = field(default_factory=dict)
    machine: Machine | None = None
    schema_fault: str | None = None
    preview: Look = no_preview
    no_sandbox: str | None = "this daemon has no sandbox"
    kept: list[Rule] = field(default_factory=list)
    floors: tuple[Floor, ...] = ()
    moved: set[Move] = field(default_factory=set)

    @property
    def session(self) -> Any:
        assert self.machine is not None
        return self.machine.session

    def context(self) -> Context:
        self.counter += 1
        self.versions[self.agent.config_hash] = self.agent
        chance = hashlib.sha256(str(self.counter).encode()).digest()
        return Context(
            self.millis,
            chance,
            timestamp,
            self.agent,
            self.agent,
            self.versions.get,
            self.check,
            self.draining,
            lawgiver=self.laws,
            preview=self.preview,
            no_sandbox=lambda *_: self.no_sandbox,
            child_outcome=lambda _, call: self.children.get(call.child_id or ""),
        )

    def laws(self) -> Laws:
        of_session = self.session.rules if self.machine is not None else ()
        return Laws(self.floors, (*of_session, *self.kept), read=plainly)

    def check(self, schema: Any, value: Any, what: str) -> str | None:
        return self.schema_fault or check_arguments(schema, value, what)

    def start(self, prompt: str | None = "hello", run: e.Run | None = None) -> Transition:
        created = j.Created(
            session_id="s1",
            agent="a",
            config={},
            config_hash=self.agent.config_hash,
            cwd="/w",
            title="t",
            client=CLIENT,
        )
        new = e.NewInput(text_parts(prompt)) if prompt is not None else None
        event = e.Start(created, new, run)
        return self._took(begin(event, self.context(), self.key_of(event)), None)

    def send(self, event: e.Event, keyed: Keyed | None = None) -> Transition:
        assert self.machine is not None
        before, keyed = self.machine, keyed or self.key_of(event)
        return self._took(transition(before, event, self.context(), keyed), before)

    def key_of(self, event: e.Event) -> Keyed | None:
        if not self.keyed or not isinstance(event, e.Command):
            return None
        self.asked += 1
        return keyed(f"k{self.asked}", waits=self.asked % 3 != 0)

    def try_send(self, event: e.Event) -> AbeyError | None:
        """Sends an event that may be illegal: then nothing may have changed."""
        before = self.machine
        try:
            self.send(event)
        except AbeyError as error:
            assert self.machine is before
            return error
        return None

    def _took(self, done: Transition, before: Machine | None) -> Transition:
        self.machine = done.machine
        self.records += done.records
        if done.records:
            self.units.append(len(self.records))
        if done.generation is not None:
            self.awaited.add(done.generation)
        for effect in done.effects:
            if isinstance(effect, AskModel | RunTool):
                self.effects.append(effect)
            if isinstance(effect, RunTool):
                self.starts.append((effect.call_id, json.dumps(dict(effect.arguments))))
            if isinstance(effect, Remember):
                self.kept.append(effect.rule)
            if isinstance(effect, EndRun):
                self.ended.append(effect)
                self.awaited.discard(effect.generation)
        self._check_runs(done.machine)
        self._check_requests(done.machine)
        session = before.session if before is not None else None
        assert done.sessions == tuple(after_each(session, done.records))
        self.fold(session, done.records)
        check_grown(done.machine.session)
        check(done.machine)
        check_journal(done.machine, self.records)
        if before is not None:
            check_step(before.session, done.machine.session)
        return done

    def fold(self, session: Session | None, records: tuple[j.Record, ...]) -> None:
        """Notes what the records move, and holds it against the diagrams."""
        for record in records:
            after = apply(session, record)
            self._note(session, record.data.type, after)
            session = after

    def _note(self, before: Session | None, cause: str, after: Session) -> None:
        check_moves(before, cause, after)
        self.moved |= moves(before, cause, after)

    def _check_runs(self, machine: Machine) -> None:
        """A request that waits for a run waits for one that goes on, or that will be started."""
        to_come = {one.generation for one in (machine.work.run, *machine.work.promised) if one is not None}
        assert self.awaited <= to_come, f"nobody will ever end the runs {self.awaited - to_come}"

    def _check_requests(self, machine: Machine) -> None:
        """What is remembered has ended, or goes on, or was cut off."""
        open_still = {one.request.key for one in machine.work.requests}
        assert {one.key for one in machine.session.requests.values() if one.outcome is None} <= open_still | self.cut

    def crash(self) -> None:
        """The daemon dies and loads the journal."""
        session = fold(self.records)
        assert session is not None
        self.cut |= {one.key for one in session.requests.values() if one.outcome is None}
        check_snapshot(session, self.records)
        check_lines(Machine(session), self.records)
        self.machine = Machine(recover(session), Work())
        self._note(session, RESTART, self.machine.session)
        self.effects = []
        self.awaited = set()
        check(self.machine)

    def drive(self, run: e.Run = e.STEP, **more: Any) -> Transition:
        return self.send(e.Drive(run, CLIENT, **more))

    def model_says(self, reply: ModelAnswer) -> Transition:
        return self.send(e.ModelAnswered(self.take(AskModel).invocation_id, reply))

    def tool_ends(self, name: str | None = None, content: Any = "ok", error: str | None = None) -> Transition:
        effect = self.take(RunTool, name)
        return self.send(e.ToolEnded(effect.invocation_id, ToolOutcome(content, error)))

    def take(self, kind: type[Any], name: str | None = None) -> Any:
        for effect in self.effects:
            if isinstance(effect, kind) and (name is None or effect.tool.name == name):
                self.effects.remove(effect)
                return effect
        raise AssertionError(f"nothing to take: {kind.__name__} {name}; there is {self.effects}")

    def call(self, name: str) -> Any:
        calls = [call for turn in self.session.turns for entry in turn.entries for call in getattr(entry, "calls", ())]
        return next(call for call in reversed(calls) if call.tool == name)

    def types(self, since: int = 0) -> list[str]:
        return [record.data.type for record in self.records[since:]]
