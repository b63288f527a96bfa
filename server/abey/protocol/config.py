"""The agent file (agent-file.md): what an author may write, as closed, frozen models."""

from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, StringConstraints, model_validator

from abey.protocol.base import Json, Wire
from abey.protocol.policy import Policy

ModelCode = Literal[
    "auth",
    "rate-limited",
    "overloaded",
    "timeout",
    "transient",
    "context-overflow",
    "content-policy",
    "invalid-request",
    "invalid-output",
]
Text = Annotated[str, StringConstraints(min_length=1)]
Slug = Annotated[str, StringConstraints(pattern=r"^[0-9a-z][0-9a-z_-]{0,63}$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""The name of an environment variable."""

Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=0)]
Positive = Annotated[int, Field(strict=True, gt=0)]
Amount = Annotated[float, Field(strict=True, ge=0)]
Seconds = Annotated[float, Field(strict=True, gt=0)]
Schema = dict[str, Json]
"""A JSON schema, passed through as it came."""


def _joined(value: Any) -> Any:
    lines = isinstance(value, list) and all(isinstance(line, str) for line in value)
    return "\n".join(value) if lines else value


def _new_spelling(value: Any) -> Any:
    return value.lower() if value in ("Synchronous", "Asynchronous") else value


SystemPrompt = Annotated[str, BeforeValidator(_joined, json_schema_input_type=str | list[str])]
ExecutionMode = Annotated[Literal["synchronous", "asynchronous"], BeforeValidator(_new_spelling)]


class ApiKey(Wire):
    """Where a key is found: exactly one of a variable, a 0600 file, a keyring entry, or an `id` in keys.json."""

    env: Variable | None = None
    file: Text | None = None
    keyring: Text | None = None
    id: Text | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.model_fields_set) != 1 or not self.wire():
            raise ValueError("needs exactly one of env, file, keyring, id")
        return self


class Prices(Wire):
    """Per million tokens, in the author's currency; `date` says when they were looked up."""

    input: Amount
    output: Amount
    cached_input: Amount | None = None
    date: str | None = None


class HttpModel(Wire):
    """A model behind an HTTP API."""

    provider: Literal["openai", "openai-responses", "anthropic"]
    name: Text
    base_url: Text | None = None
    api_key: ApiKey | None = None
    parameters: dict[str, Json] = {}
    prices: Prices | None = None


class ScriptedCall(Wire):
    """A call the script makes: `arguments` is any JSON, `rawArguments` a text that is sent as it is."""

    tool: str
    arguments: Json = Field(default_factory=dict)
    raw_arguments: str | None = None
    id: str | None = None

    @model_validator(mode="after")
    def _one_spelling(self) -> Self:
        if self.raw_arguments is not None and "arguments" in self.model_fields_set:
            raise ValueError("a call has arguments or rawArguments, not both")
        return self


class ScriptedUsage(Wire):
    input: Count = 0
    output: Count = 0


class ScriptedError(Wire):
    code: ModelCode
    message: str | None = None
    retry_after_ms: Count | None = None


class ScriptEntry(Wire):
    """One try at a model call, played."""

    text: str | None = None
    thinking: str | None = None
    calls: tuple[ScriptedCall, ...] = ()
    finish_reason: Text | None = None
    usage: ScriptedUsage = ScriptedUsage()
    delay_ms: Count = 0
    chunk_ms: Count = 0
    error: ScriptedError | None = None
    cut_after: Count | None = None
    echo: Flag = False


class ScriptedModel(Wire):
    """The embedded, deterministic model. A script named by its file is read by the loader, which puts it here."""

    provider: Literal["scripted"]
    name: Text | None = None
    script: Annotated[tuple[ScriptEntry, ...], Field(json_schema_extra={"type": ["array", "string"]})]
    loop: Flag = False
    prices: Prices | None = None


Model = Annotated[HttpModel | ScriptedModel, Field(discriminator="provider")]


class AnyTool(Wire):
    """What every kind of tool may say: `shell` names the parameter that a shell parses as a command."""

    destructive: Flag | None = None
    idempotent: Flag = False
    timeout_seconds: Seconds | None = None
    shell: Text | None = None


class CommandTool(AnyTool):
    """Runs an argv; `env` names variables it gets beside the allow-listed ones."""

    kind: Literal["command"]
    name: Text
    description: str = ""
    parameters: Schema = Field(default_factory=lambda: {"type": "object"})
    argv: Annotated[tuple[str, ...], Field(min_length=1)]
    env: tuple[Variable, ...] = ()


class ExecutablesTool(AnyTool):
    """Every program of a directory that answers `describe` and `run`."""

    kind: Literal["executables"]
    directory: Text
    env: tuple[Variable, ...] = ()


class McpTool(AnyTool):
    """An MCP server: a command over stdio, or a URL."""

    kind: Literal["mcp"]
    name: Text
    command: tuple[str, ...] | None = None
    url: Text | None = None
    env: tuple[Variable, ...] = ()

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (not self.command) == (not self.url):
            raise ValueError("needs exactly one of command, url")
        return self


class HttpTool(AnyTool):
    """One HTTP request; placeholders in the URL are percent-encoded."""

    kind: Literal["http"]
    name: Text
    description: str = ""
    parameters: Schema = Field(default_factory=lambda: {"type": "object"})
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    url: Text


class WorkspaceTool(AnyTool):
    """The built-in tools for files under the session's cwd."""

    kind: Literal["workspace"]
    allow: tuple[Literal["read_file", "list_files", "search", "write_file", "edit_file"], ...]


class AgentTool(AnyTool):
    """Another agent as a tool, by its slug or its file. Without a description it has that agent's own."""

    kind: Literal["agent"]
    name: Text
    description: str = ""
    agent: Text
    path: Text | None = None


class ExternalTool(AnyTool):
    """Never run by the daemon: somebody else completes its calls."""

    kind: Literal["external"]
    name: Text
    description: str = ""
    parameters: Schema = Field(default_factory=lambda: {"type": "object"})


AnyToolKind = CommandTool | ExecutablesTool | McpTool | HttpTool | WorkspaceTool | AgentTool | ExternalTool
Tool = Annotated[AnyToolKind, Field(discriminator="kind")]


class Limits(Wire):
    max_concurrency: Positive = 4
    max_steps: Positive = 50
    tool_timeout_seconds: Seconds = 120.0
    stop_grace_seconds: Amount = 10.0
    max_tokens: Positive | None = None
    max_cost: Amount | None = None


class Compaction(Wire):
    at_tokens: Positive
    keep_tokens: Positive


class AgentConfig(Wire):
    """One agent. The older key `toolCallPolicyConfig` is read as `toolCallPolicy`."""

    slug: Slug
    description: str = ""
    system_prompt: SystemPrompt = ""
    model: Model
    execution_mode: ExecutionMode = "asynchronous"
    tool_call_policy: Policy | None = Field(
        default=None, validation_alias=AliasChoices("toolCallPolicy", "toolCallPolicyConfig")
    )
    tools: tuple[Tool, ...] = ()
    limits: Limits = Limits()
    output_schema: Schema | None = None
    compaction: Compaction | None = None
