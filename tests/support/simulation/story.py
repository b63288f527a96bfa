"""What may happen in a simulation, as values: a story is what models and tools do, one after the other, and steps."""

from dataclasses import dataclass
from random import Random
from typing import Any

CODES = ("auth", "transient", "rate-limited", "invalid-request", "content-policy", "context-length", "invalid-output")
TOOLS = ("run", "run", "bg", "bg", "ask", "ask", "ext", "no", "safe", "alone", "soon", "kid", "gone")
ARGUMENTS = ("{}", "{}", '{"x":"1"}', '{"x":1}', "not json", "[]", "")
IDS = ("c1", "c2", "c3", "")
"""Of calls: they are used again and again, and one is empty."""

HOOKS = (
    "nothing",
    "nothing",
    "denies",
    "denies",
    "asks",
    "asks",
    "asks",
    "opens",
    "opens",
    "trips",
    "trips all",
    "raises",
)

Asked = tuple[str, str, str]
"""A call: id, tool, arguments."""


@dataclass(frozen=True, slots=True)
class ModelDoes:
    """`seconds` pass, then the model answers with `calls`, or fails with `code`. One that is `deaf` is not aborted: its
    answer comes in any case."""

    calls: tuple[Asked, ...] = ()
    seconds: float = 0.0
    code: str | None = None
    deaf: bool = False
    text: str = "done"

    def __str__(self) -> str:
        after = f"after {self.seconds:g} s " if self.seconds else ""
        deaf = ", whatever is aborted" if self.deaf else ""
        if self.code:
            return f"{after}fails: {self.code}{deaf}"
        asked = ", ".join(f"{tool}({arguments})#{id}" for id, tool, arguments in self.calls)
        return f"{after}answers {asked or repr(self.text)}{deaf}"


@dataclass(frozen=True, slots=True)
class ToolDoes:
    """`seconds` pass, then the tool returns; `how` is `ok`, `failed`, `raises`, `asks` (a person, first), `prints`."""

    seconds: float = 0.0
    how: str = "ok"
    deaf: bool = False

    def __str__(self) -> str:
        return f"{self.how} after {self.seconds:g} s{', whatever is aborted' if self.deaf else ''}"


@dataclass(frozen=True, slots=True)
class HookDoes:
    """`seconds` pass, then the hook of an extension does something, `before` the model is asked or after that: `denies`
    or `asks` about a call, `trips` or `trips all`, `raises`, `opens` what it keeps open, or nothing."""

    how: str = "nothing"
    seconds: float = 0.0
    before: bool = False
    deaf: bool = False

    def __str__(self) -> str:
        when = "before" if self.before else "after"
        return f"{self.how} {self.seconds:g} s {when} the model{', whatever is aborted' if self.deaf else ''}"


@dataclass(frozen=True, slots=True)
class Step:
    """After `wait` seconds client `who` does `what`; `one` and `two` choose among what there is then."""

    wait: float
    what: str
    who: int = 0
    one: int = 0
    two: int = 0
    keyed: bool = False

    def __str__(self) -> str:
        after = f"after {self.wait:g} s " if self.wait else ""
        keyed = ", with a key" if self.keyed else ""
        return f"{after}client {self.who}: {self.what} ({self.one}, {self.two}){keyed}"


RESTS = (60.0, 2.0, 0.05, 0.0005)


@dataclass(frozen=True, slots=True)
class Story:
    """`typed`: the agent wants JSON for an answer; `rests`: so many seconds after its last use a session has left
    memory, if it can."""

    seed: int
    models: tuple[ModelDoes, ...]
    tools: tuple[ToolDoes, ...]
    steps: tuple[Step, ...]
    slow_disk: bool = False
    hooks: tuple[HookDoes, ...] = (HookDoes(),)
    typed: bool = False
    rests: float = RESTS[0]


CLIENTS = 3
WAITS = (0.0, 0.0, 0.0, 0.0, 0.001, 0.001, 0.01, 0.01, 0.05, 0.05, 0.5, 0.5, 3.0, 3.0, 3.0, 30.0, 120.0)
ACTS: dict[str, int] = {
    "start": 7,
    "send": 12,
    "step": 8,
    "run": 9,
    "resume": 4,
    "pause": 2,
    "complete": 16,
    "cancel": 7,
    "stop": 1,
    "attach": 6,
    "detach": 1,
    "events": 2,
    "get": 2,
    "transcript": 1,
    "sessions": 1,
    "pending": 2,
    "withdraw": 2,
    "continue": 3,
    "fork": 2,
    "rewind": 2,
    "seed": 1,
    "record": 1,
    "rules": 2,
    "delete": 1,
    "restore": 1,
    "reopen": 3,
    "update": 1,
    "status": 1,
    "isolate": 1,
    "again": 4,
    "nonsense": 1,
    "leave": 2,
    "cancel request": 2,
    "save agent": 2,
    "shutdown": 1,
    "close": 1,
    "kill": 2,
    "power loss": 2,
    "die in a write": 2,
    "disk fails": 3,
    "clock jumps": 1,
}
"""What happens, and how often."""


def story_of(seed: int) -> Story:
    chance = Random(seed)
    deaf = chance.choice((0.0, 0.1, 0.6))
    models = tuple(_model(chance, deaf) for _ in range(chance.randint(4, 12)))
    tools = tuple(_tool(chance, deaf) for _ in range(chance.randint(2, 8)))
    # each story is of some of what may happen: what needs one thing and the absence of another is met, too
    weights = [often * chance.choice((0, 1, 4)) for often in ACTS.values()]
    whats = chance.choices(list(ACTS), weights, k=chance.randint(8, 40))
    steps = [Step(0.0, "start", chance.randrange(CLIENTS), chance.randrange(1000), chance.randrange(1000))]
    steps += [_step(chance, what) for what in whats]
    slow = chance.random() < 0.1
    hooks = tuple(_hook(chance, deaf) for _ in range(chance.randint(2, 6))) if chance.random() < 0.4 else (HookDoes(),)
    typed = chance.random() < 0.15
    return Story(seed, models, tools, tuple(steps), slow, hooks, typed, rests=chance.choice(RESTS))


def _step(chance: Random, what: str) -> Step:
    numbers = chance.randrange(1000), chance.randrange(1000)
    return Step(chance.choice(WAITS), what, chance.randrange(CLIENTS), *numbers, keyed=chance.random() < 0.4)


def _model(chance: Random, deafness: float) -> ModelDoes:
    roll = chance.random()
    seconds = chance.choice((0.0, 0.0, 0.01, 0.5, 6.0, 25.0))
    deaf = chance.random() < deafness
    if roll < 0.15:
        return ModelDoes(seconds=seconds, code=chance.choice(CODES), deaf=deaf)
    if roll < 0.4:
        return ModelDoes(seconds=seconds, deaf=deaf, text=chance.choice(("done", "é 😀 \u2028", "x" * 5000)))
    return ModelDoes(tuple(_call(chance) for _ in range(chance.choice((1, 1, 2, 3)))), seconds, deaf=deaf)


def _call(chance: Random) -> Asked:
    return chance.choice(IDS), chance.choice(TOOLS), chance.choice(ARGUMENTS)


def _tool(chance: Random, deafness: float) -> ToolDoes:
    how = chance.choice(("ok", "ok", "ok", "failed", "raises", "asks", "prints"))
    return ToolDoes(chance.choice((0.0, 0.0, 0.01, 0.5, 4.0, 25.0, 200.0)), how, chance.random() < deafness)


def _hook(chance: Random, deafness: float) -> HookDoes:
    how = chance.choice(HOOKS)
    before = how in ("trips", "trips all", "raises", "opens", "nothing") and chance.random() < 0.5
    return HookDoes(how, chance.choice((0.0, 0.0, 0.01, 0.5, 8.0)), before, chance.random() < deafness)


def shown(story: Story, found: Any) -> str:
    """The story, in lines, and what came of it."""
    lines = [f"seed {story.seed}: {found}"]
    lines += ["the models, one try after the other, again and again:", *(f"  {one}" for one in story.models)]
    lines += ["the tools, one call after the other, again and again:", *(f"  {one}" for one in story.tools)]
    if story.hooks != (HookDoes(),):
        lines += ["the hooks, one model call after the other, again and again:", *(f"  {one}" for one in story.hooks)]
    lines += ["an answer has to be JSON"] if story.typed else []
    lines += ["what happens:", *(f"  {at}. {step}" for at, step in enumerate(story.steps, 1))]
    lines += [f"a session rests after {story.rests:g} s"]
    return "\n".join([*lines, "the disk is slow"] if story.slow_disk else lines)
