"""What the models say of a value that is no agent file: facts in our words, at JSON pointers of the file."""

import re
import typing
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic_core import ErrorDetails

from abey.protocol.config import AgentConfig
from abey.runtime.agents.findings import Fact, quoted
from abey.runtime.agents.jsonc import child
from abey.runtime.agents.naming import nearest

Location = tuple[str | int, ...]
Shape = TypeVar("Shape", bound=BaseModel)

_TYPES = {
    "string_type": "a string",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "int_from_float": "a whole number",
}
_TAGS = ("tag", "kind", "provider")
_PATTERNS = {
    "slug": ("invalid-slug", "a slug is 1 to 64 of 0-9 a-z _ -, the first no sign"),
    "env": ("invalid-value", "the name of an environment variable is expected, not its value"),
}


def shape_facts(value: Any) -> tuple[AgentConfig | None, tuple[Fact, ...]]:
    """The agent that `value` is, or every reason why it is none."""
    return shaped(AgentConfig, value)


def shaped(model: type[Shape], value: Any) -> tuple[Shape | None, tuple[Fact, ...]]:
    """The value as that model has it, or every reason why it is none."""
    try:
        return model.model_validate(value, by_alias=True, by_name=False), ()
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        return None, tuple(_fact(model, value, detail) for detail in details)


def _fact(model: type[BaseModel], value: Any, detail: ErrorDetails) -> Fact:
    pointer, found = _resolve(value, detail["loc"])
    name, kind = str(detail["loc"][-1]) if detail["loc"] else "the file", detail["type"]
    context = detail.get("ctx", {})
    match kind:
        case "missing":
            return Fact(pointer, "error", "missing-field", f"{quoted(name)} is missing", on_key=True)
        case "extra_forbidden":
            return _unknown_field(model, pointer, detail["loc"])
        case "union_tag_invalid" | "union_tag_not_found" | "literal_error":
            return _bad_tag(pointer, found, kind, context)
        case "string_pattern_mismatch":
            field = next(part for part in reversed(detail["loc"]) if isinstance(part, str))
            code, message = _PATTERNS[field]
            return Fact(pointer, "error", code, message)
        case "string_type" if pointer == "/systemPrompt":
            return Fact(pointer, "error", "wrong-type", "expected a string or a list of strings")
        case _ if kind in _TYPES:
            return Fact(pointer, "error", "wrong-type", f"expected {_TYPES[kind]}, not {_type_name(found)}")
        case "string_too_short" | "too_short":
            return Fact(pointer, "error", "invalid-value", f"{quoted(name)} may not be empty")
        case _:
            message = detail["msg"].removeprefix("Value error, ").replace("Input should", "the value should")
            return Fact(pointer, "error", "invalid-value", message[:1].lower() + message[1:])


def _bad_tag(pointer: str, found: Any, kind: str, context: dict[str, Any]) -> Fact:
    """A word that is none of the few that are allowed there."""
    key = str(context.get("discriminator", "''")).strip("'")
    if kind == "union_tag_not_found":
        return Fact(pointer, "error", "missing-field", f"{quoted(key)} is missing", on_key=True)
    known = re.findall("'([^']+)'", str(context.get("expected_tags", context.get("expected"))))
    word = found.get(key) if isinstance(found, dict) else found
    at = child(pointer, key) if isinstance(found, dict) else pointer
    field = pointer.rpartition("/")[2]
    what = {"tag": "disposition or decorator", "kind": "kind of tool", "provider": "provider"}.get(key, field)
    code = "unknown-disposition" if key == "tag" else "invalid-value"
    shown = quoted(word) if isinstance(word, str) else _type_name(word)
    near = nearest(word, known) if isinstance(word, str) else None
    message = f"unknown {what} {shown}; known: {', '.join(known)}{_guess(near)}"
    return Fact(at, "error", code, message, replacement=near)


def _unknown_field(root: type[BaseModel], pointer: str, loc: Location) -> Fact:
    name = str(loc[-1])
    model = _model_at(root, loc[:-1])
    known = sorted(_fields(model)) if model else []
    near = nearest(name, known)
    if name in known:
        message, near = f"{quoted(name)} is there under another name, too; keep one of them", None
    else:
        message = f"unknown field {quoted(name)}{_guess(near)}"
    return Fact(pointer, "error", "unknown-field", message, on_key=True, replacement=near)


def _guess(near: str | None) -> str:
    return f"; did you mean `{near}`" if near else ""


def _type_name(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return str(value)[:20]
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"


def _resolve(value: Any, loc: Location) -> tuple[str, Any]:
    """The pointer that pydantic's location means, and what stands there: its union tags are in no file."""
    pointer, found, skipped = "", value, False
    for part in loc:
        if isinstance(found, dict) and not skipped and part in [found.get(tag) for tag in _TAGS]:
            skipped = True
            continue
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and isinstance(part, int) and part < len(found):
            found = found[part]
        else:
            continue
        pointer, skipped = child(pointer, part), False
    return pointer, found


def _model_at(root: type[BaseModel], loc: Location) -> type[BaseModel] | None:
    """The model that judges what is at `loc`, by the annotations on the way."""
    models: list[type[BaseModel]] = [root]
    for part in loc:
        if isinstance(part, int):
            continue
        tagged = [model for model in models if len(models) > 1 and part in _tags(model)]
        fields = [field for model in models for name, field in _fields(model).items() if name == part]
        models = tagged or [model for field in fields for model in _models_in(field)]
    return models[0] if len(models) == 1 else None


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    return {
        str(name): field.annotation
        for field in model.model_fields.values()
        for name in (
            field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else [field.alias]
        )
    }


def _tags(model: type[BaseModel]) -> list[Any]:
    return [
        word
        for tag in _TAGS
        if tag in model.model_fields
        for word in typing.get_args(model.model_fields[tag].annotation)
    ]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _models_in(inner)
