"""How a provider is asked for answers that fit a schema: in its own field where that takes the schema, else in words.

What comes back is checked all the same.
"""

import json
from collections.abc import Mapping
from typing import Any

from abey.core.conversation import ModelRequest

NAME = "answer"
_WORDS = ("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf")
_KINDS = ("type", "anyOf")
_TEXTS = ("title", "description")


def is_object_schema(schema: Mapping[str, Any]) -> bool:
    """Whether every value that fits is an object: the fields of providers take nothing else."""
    return schema.get("type") == "object"


def is_strict(schema: Any) -> bool:
    """Whether it keeps to what every provider can hold a model to: objects whose members are all named and required,
    a type for everything, and no word that any of them refuses."""
    if not isinstance(schema, dict) or not schema.keys() <= {*_WORDS, *_TEXTS} or schema.keys().isdisjoint(_KINDS):
        return False
    members = schema.get("properties", {})
    if schema.get("type") == "object":
        closed = schema.get("additionalProperties") is False
        if not closed or {*schema.get("required", ())} != members.keys():
            return False
    inner = [*members.values(), *schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())]
    return all(is_strict(one) for one in inner)


def system_prompt(request: ModelRequest, *, in_words: bool) -> str:
    """The system prompt; `in_words`: with what the answer has to be, where it has to be something."""
    if request.output_schema is None or not in_words:
        return request.system_prompt
    schema = json.dumps(request.output_schema, ensure_ascii=False)
    asked = (
        "Your final answer is one JSON value that fits this JSON schema, with nothing before or after it and no "
        f"Markdown around it: {schema}"
    )
    return f"{request.system_prompt}\n\n{asked}" if request.system_prompt.strip() else asked
