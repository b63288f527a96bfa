"""The JSON schema of agent files, for the completion and the validation of editors: `abey schema agent-file`."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from abey.protocol.agent_file_words import FIELDS, FOREIGN_MARKS, FOREIGN_TAG, PARAMETERS, WORDS
from abey.protocol.config import AgentConfig

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_FOREIGN = {
    "anyOf": [
        {
            "properties": {"tag": {"const": FOREIGN_TAG}, "contents": {"type": "object"}},
            "required": ["tag", "contents"],
        },
        {"anyOf": [{"required": [mark]} for mark in FOREIGN_MARKS], "not": {"required": ["model"]}},
    ],
    "type": "object",
}
_EXACTLY_ONE: dict[str, dict[str, Any]] = {
    "McpTool": {
        "oneOf": [
            {"properties": {"command": {"minItems": 1, "type": "array"}}, "required": ["command"]},
            {"properties": {"url": {"type": "string"}}, "required": ["url"]},
        ]
    },
    "ApiKey": {"maxProperties": 1, "minProperties": 1},
    "ScriptedCall": {
        "not": {"properties": {"rawArguments": {"type": "string"}}, "required": ["arguments", "rawArguments"]}
    },
}
"""What the models say in their validators."""


@cache
def agent_file_schema() -> dict[str, Any]:
    """The schema as a document. Callers leave it as it is."""
    drawn = AgentConfig.model_json_schema(by_alias=True, mode="validation", schema_generator=_Drawn)
    defs = {**drawn.pop("$defs"), "AgentConfig": drawn}
    return {
        "$schema": DIALECT,
        "title": "abey agent file",
        "description": "An agent: its model, its tools, and what may happen to their calls.",
        "allowTrailingCommas": True,
        "if": _FOREIGN,
        "then": {"description": "A file of agents-exe, read as it is."},
        "else": {"$ref": "#/$defs/AgentConfig"},
        "$defs": {name: _finished(name, found) for name, found in sorted(defs.items())},
    }


def models() -> Iterator[type[BaseModel]]:
    """Every model of an agent file."""
    seen: list[type[BaseModel]] = []
    left: list[Any] = [AgentConfig]
    while left:
        found = left.pop()
        if isinstance(found, type) and issubclass(found, BaseModel) and found not in seen:
            seen.append(found)
            left += [field.annotation for field in found.model_fields.values()]
        left += get_args(found)
    yield from seen


def field_words(model: type[BaseModel]) -> Mapping[str, str]:
    """What is said of the fields of a model and of those it derives from."""
    said: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        said |= FIELDS.get(kind.__name__, {})
    return said


class _Drawn(GenerateJsonSchema):
    """Without titles made of names, and without defaults that say nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> dict[str, Any]:
        drawn = super().default_schema(schema)
        return {key: value for key, value in drawn.items() if key != "default" or value not in (None, "", [], {})}


def _finished(name: str, drawn: dict[str, Any]) -> dict[str, Any]:
    kind = {model.__name__: model for model in models()}[name]
    said = field_words(kind)
    fields = {key: _described(found, said.get(key)) for key, found in drawn.get("properties", {}).items()}
    tags = {key: found["const"] for key, found in fields.items() if "const" in found}
    required = [*tags, *(key for key in drawn.get("required", ()) if key not in tags)]
    described = {**drawn, "description": WORDS[next(iter(tags.values()))]} if tags else drawn
    whole = {**described, "properties": fields, "required": required, **_EXACTLY_ONE.get(name, {})}
    return _SPECIAL[name](whole) if name in _SPECIAL else whole


def _described(drawn: dict[str, Any], said: str | None) -> dict[str, Any]:
    found: dict[str, Any] = _worded({"description": said, **drawn} if said else drawn)
    return found


def _worded(node: Any) -> Any:
    """With the meaning of each word that may stand there."""
    if isinstance(node, list):
        return [_worded(item) for item in node]
    if not isinstance(node, dict):
        return node
    known = [WORDS.get(word, "") for word in node.get("enum", ())]
    more = {"enumDescriptions": known} if any(known) else {}
    return {key: _worded(value) for key, value in node.items()} | more


def _agent(schema: dict[str, Any]) -> dict[str, Any]:
    """Both spellings of what has two, of the policy one at a time; and what names this schema in the file itself."""
    fields = schema["properties"]
    older = {**fields["toolCallPolicy"], "description": FIELDS["AgentConfig"]["toolCallPolicyConfig"]}
    fields |= {"toolCallPolicyConfig": {**older, "deprecated": True}, "$schema": {"type": "string"}}
    mode = fields["executionMode"]
    older_words = {"deprecated": True, "enum": [word.title() for word in mode["enum"]]}
    fields["executionMode"] = {"anyOf": [mode, older_words], "description": mode.pop("description")}
    return {**schema, "not": {"required": ["toolCallPolicy", "toolCallPolicyConfig"]}}


def _http_model(schema: dict[str, Any]) -> dict[str, Any]:
    """With the usual parameters. A key in clear is a warning of the daemon, so it is no error here."""
    fields = schema["properties"]
    said = {name: words for provider in PARAMETERS.values() for name, words in provider.items()}
    fields["apiKey"]["anyOf"].append({"deprecated": True, "type": "string"})
    fields["parameters"]["properties"] = {name: {"description": words} for name, words in sorted(said.items())}
    return schema


def _rule(schema: dict[str, Any]) -> dict[str, Any]:
    """The keys of a match are JSON pointers."""
    for variant in schema["properties"]["match"]["anyOf"]:
        if variant.get("type") == "object":
            variant["propertyNames"] = {"pattern": "^(/|$)"}
    return schema


def _api_key(schema: dict[str, Any]) -> dict[str, Any]:
    """The one that is there is not null."""
    for name, found in schema["properties"].items():
        (only,) = (one for one in found["anyOf"] if one["type"] != "null")
        schema["properties"][name] = {"description": found["description"], **only}
    return schema


_SPECIAL: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "ApiKey": _api_key,
    "AgentConfig": _agent,
    "HttpModel": _http_model,
    "PolicyRule": _rule,
}
