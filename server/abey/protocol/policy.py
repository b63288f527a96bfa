"""What a policy may decide for a call, and the rules that decide it (agent-file.md, Policy)."""

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler, PlainSerializer
from pydantic_core import CoreSchema

from abey.protocol.base import Flag, Int, Json, Wire

MOST_SECONDS = 100 * 366 * 24 * 3600
"""A hundred years: a later end has no timestamp that everybody can read."""


class RunSync(Wire):
    """Run in this step; the step waits for it."""

    tag: Literal["runSync"] = "runSync"


class RunAsync(Wire):
    """Start in the background of the daemon and yield a token."""

    tag: Literal["runAsync"] = "runAsync"


class Defer(Wire):
    """Never run by itself; somebody completes, approves or denies it."""

    tag: Literal["defer"] = "defer"
    reason: str | None = None
    expire_seconds: Int | None = Field(default=None, gt=0, le=MOST_SECONDS)


class RunIsolated(Wire):
    """Run in a sandbox; without one the call waits, and nothing may run it outside."""

    tag: Literal["runIsolated"] = "runIsolated"
    network: Flag | None = None
    writable: Flag | None = None


class Deny(Wire):
    """Refused at once; the model is told so."""

    tag: Literal["deny"] = "deny"
    reason: str | None = None


class Timeout(Wire):
    tag: Literal["timeout"] = "timeout"
    seconds: float = Field(gt=0, strict=True)


class Retries(Wire):
    tag: Literal["retries"] = "retries"
    count: Int = Field(ge=0, le=100)


class Cache(Wire):
    tag: Literal["cache"] = "cache"
    key: str


class Label(Wire):
    tag: Literal["label"] = "label"
    label: str


class Truncate(Wire):
    tag: Literal["truncate"] = "truncate"
    max_bytes: Int = Field(gt=0)


AnyDecorator = Timeout | Retries | Cache | Label | Truncate
Decorator = Annotated[AnyDecorator, Field(discriminator="tag")]


class Decorate(Wire):
    """Decorators around the inner disposition, outer first."""

    tag: Literal["decorate"] = "decorate"
    decorators: tuple[Decorator, ...]
    inner: "Disposition"


def _from_shorthand(value: Any) -> Any:
    return {"tag": value} if isinstance(value, str) else value


def _to_shorthand(value: Wire) -> Any:
    if isinstance(value, RunSync | RunAsync):  # most of them, and nothing else can be said of these
        return value.tag
    wire = value.wire()
    return wire["tag"] if len(wire) == 1 else wire


BareTag = Literal["runSync", "runAsync", "defer", "runIsolated", "deny"]
"""A disposition of which nothing else need be said."""


class _OrBareTag:
    """Tells the JSON schema of a disposition that one of these tags may stand alone."""

    def __init__(self, tags: tuple[str, ...]) -> None:
        self._tags = tags

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(self._tags), "type": "string"}, handler(core)]}


AnyDisposition = RunSync | RunAsync | Defer | RunIsolated | Deny | Decorate
Disposition = Annotated[
    Annotated[AnyDisposition, Field(discriminator="tag")],
    BeforeValidator(_from_shorthand),
    PlainSerializer(_to_shorthand),
    _OrBareTag(get_args(BareTag)),
]
"""A string (`"runSync"`) where nothing else is said, else an object with `tag`."""

Decorate.model_rebuild()


def _pointer(key: str) -> str:
    """A JSON pointer; another key would match nothing, and a rule that denies would deny nothing."""
    if key and not key.startswith("/"):
        raise ValueError(f"a match is by JSON pointer: /{key}")
    return key


Pointer = Annotated[str, AfterValidator(_pointer)]


class PolicyRule(Wire):
    """One rule of an agent file or a floor: which calls, and what happens to them."""

    tool: str
    match: dict[Pointer, Json] | None = None
    disposition: Disposition
    serial: Flag | None = None
    expire_seconds: Int | None = Field(default=None, gt=0, le=MOST_SECONDS)


class Policy(Wire):
    """A policy as a file holds it; both parts are optional."""

    default: Disposition | None = None
    rules: tuple[PolicyRule, ...] = ()


Scope = Literal["session", "workspace", "user"]
"""For the calls of which sessions a remembered rule counts."""


class Rule(Wire):
    """A remembered rule (*always*), listed and removable. `workspace` goes with the scope of that name alone, and
    `uses` counts the calls that it has decided."""

    rule_id: str
    tool: str
    match: dict[Pointer, Json] | None = None
    disposition: Disposition
    scope: Scope
    workspace: str | None = None
    origin: str
    created_at: str
    uses: Int


RuledDisposition = Annotated[
    Annotated[RunSync | RunAsync | Deny, Field(discriminator="tag")],
    BeforeValidator(_from_shorthand),
    _OrBareTag(("runSync", "runAsync", "deny")),
]
"""What a remembered rule may decide."""


class AskedRule(Wire):
    """A rule as a client asks for it, in the form of a Rule: what it says in `ruleId`, `origin`, `createdAt` and `uses`
    does not count, for those are the daemon's."""

    tool: str = Field(min_length=1, max_length=256)
    match: dict[Pointer, Json] | None = None
    disposition: RuledDisposition
    scope: Scope
    workspace: str | None = None
    rule_id: str | None = None
    origin: str | None = None
    created_at: str | None = None
    uses: Int | None = None
