"""What the schema of agent files says of a place: the fields there may be, the words, and what they mean."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from abey.language.agent_files.tree import Node, Path, Tree
from abey.protocol.agent_file_schema import agent_file_schema
from abey.protocol.agent_file_words import WORDS

Schema = Mapping[str, Any]

_TAGS = ("provider", "kind", "tag")
_TYPES = {"integer": "whole number", "array": "list", "boolean": "true or false"}


@dataclass(frozen=True, slots=True)
class Field:
    """A field that may stand in an object."""

    name: str
    schema: Schema
    required: bool

    @property
    def words(self) -> str:
        return str(self.schema.get("description", ""))

    @property
    def deprecated(self) -> bool:
        return bool(self.schema.get("deprecated"))


@dataclass(frozen=True, slots=True)
class Word:
    """A value out of a few: JSON, and what it means."""

    value: Any
    words: str


def schemas(found: Tree, path: Path) -> list[Schema]:
    """What may stand at `path`: a schema for each kind of thing that it may still become."""
    here = list(variants(_root(), found.root))
    node = found.root
    for step in path:
        node = node.get(step) if node else None
        inner = [sub for schema in here for sub in _inside(schema, step)]
        here = [variant for sub in inner for variant in variants(sub, node)]
    return here


def fields(found: Tree, path: Path) -> list[Field]:
    """The fields of the object at `path`, those that must be there first, else in the order of the schema."""
    known: dict[str, Field] = {}
    here = schemas(found, path)
    for schema in here:
        for name, sub in schema.get("properties", {}).items():
            always = all(name in other.get("required", ()) for other in here if "properties" in other)
            known.setdefault(name, Field(name, sub, always))
    return sorted(known.values(), key=lambda one: not one.required)


def field_at(found: Tree, path: Path) -> Field | None:
    """The field whose value is at `path`."""
    if not path or not isinstance(path[-1], str):
        return None
    return next((one for one in fields(found, path[:-1]) if one.name == path[-1]), None)


def words(found: Tree, path: Path) -> list[Word]:
    """The words that may stand at `path`, without those that are only still understood."""
    tag = path[-1] if path and path[-1] in _TAGS else None
    here = schemas(found, path) if tag is None else list(_of_tag(found, path))
    known: dict[str, Word] = {}
    for schema in here:
        for value in schema.get("enum", [schema["const"]] if "const" in schema else []):
            if not schema.get("deprecated"):
                known.setdefault(str(value), Word(value, WORDS.get(str(value), "")))
        if schema.get("type") == "boolean":
            known |= {"true": Word(True, ""), "false": Word(False, "")}
    return list(known.values())


def type_name(schema: Schema) -> str:
    """What kind of value a schema asks for, in words."""
    kinds = dict.fromkeys(kind for one in variants(schema, None) for kind in _kinds(one) if kind != "null")
    return " or ".join(_TYPES.get(kind, kind) for kind in kinds) or "any value"


def variants(schema: Schema, node: Node | None) -> Iterator[Schema]:
    """The schemas that `schema` stands for; of those told apart by a tag the one that `node` has chosen, if it has."""
    if "$ref" in schema:
        yield from variants(_definition(schema["$ref"]), node)
        return
    choices = [one for key in ("anyOf", "oneOf") for one in schema.get(key, ()) if "required" not in one]
    if not choices:
        yield schema
        return
    found = [one for choice in choices for one in variants(choice, node) if _may_be(one, node)]
    yield from ({**one, "deprecated": True} if schema.get("deprecated") else one for one in found)


def _of_tag(found: Tree, path: Path) -> Iterator[Schema]:
    """What a tag may be, whatever it is now: the word there may be half written, or about to change."""
    inside = found.at(path[:-1])
    bare = Node("object", inside.start, inside.end) if inside else None
    holder = path[:-1]
    outer = schemas(found, holder[:-1]) if holder else []
    subs = [sub for schema in outer for sub in _inside(schema, holder[-1])] if holder else [_root()]
    for sub in subs:
        for variant in variants(sub, bare):
            yield from _inside(variant, path[-1])


def _may_be(schema: Schema, node: Node | None) -> bool:
    """Whether a node can still become what the schema says: by its kind, and by the tag that it has."""
    if node is None:
        return True
    kinds = _kinds(schema)
    if node.kind in ("object", "array") and kinds and node.kind not in kinds:
        return False
    told = [(tag, node.get(tag)) for tag in _TAGS if tag in schema.get("properties", {})]
    return all(value is None or _allows(schema["properties"][tag], value.value) for tag, value in told)


def _allows(tag: Schema, word: Any) -> bool:
    """Whether this is the tag's word, or none of those there are: then everything is still possible."""
    return word in tag.get("enum", [tag.get("const")]) or word not in WORDS


def _inside(schema: Schema, step: str | int) -> Iterator[Schema]:
    if isinstance(step, str) and step in schema.get("properties", {}):
        yield schema["properties"][step]
    elif isinstance(step, int) and isinstance(schema.get("items"), Mapping):
        yield schema["items"]


def _kinds(schema: Schema) -> list[str]:
    kinds = schema.get("type", [])
    if "const" in schema or "enum" in schema:
        return ["string"]
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _root() -> Schema:
    return _definition("#/$defs/AgentConfig")


def _definition(reference: str) -> Schema:
    found: Schema = agent_file_schema()["$defs"][reference.rpartition("/")[2]]
    return found
