"""What the file itself, or its asker, offers for a place: names of tools, parameters, variables, pointers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from abey.core.globs import fits
from abey.language.agent_files.tree import Node, Path, Tree
from abey.language.agent_files.view import POLICIES
from abey.protocol.agent_file_words import PARAMETERS
from abey.runtime.agents.jsonc import child

MOST = 500
_DEEPEST = 3
_KEY_MARKS = ("KEY", "TOKEN", "SECRET")


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that could be written: JSON, what it is in a word, and what it means; `said` is text of the file."""

    value: Any
    detail: str = ""
    words: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    """A path in a file, and the environment of who asks."""

    tree: Tree
    path: Path
    env: Mapping[str, str] = field(repr=False, default_factory=dict)

    @property
    def tool(self) -> Node | None:
        return self.tree.at(self.path[:2])


def values(spot: Spot) -> list[Offer]:
    """What could be the value there."""
    for shape, offers in _VALUES:
        if _is(spot.path, shape):
            return list(offers(spot))[:MOST]
    return []


def keys(found: Tree, path: Path) -> list[Offer]:
    """What could be a key in the object at `path`, where that is no field of ours."""
    if path == ("model", "parameters"):
        return list(_parameters(found))
    if path[:1] and path[0] in POLICIES and path[1:2] == ("rules",) and path[3:] == ("match",):
        return list(_pointers(found, path))[:MOST]
    return []


def tool_names(found: Tree) -> Iterator[Offer]:
    """The names that the model would see; of those that nobody has listed yet, a pattern for all of them."""
    for tool in _tools(found):
        kind, name, said = _text(tool, "kind"), _text(tool, "name"), _text(tool, "description")
        if kind == "mcp" and name:
            yield Offer(f"mcp_{name}_*", "the tools of an MCP server")
        elif kind == "executables":
            yield Offer("bash_*", "the programs of a folder")
        elif kind == "workspace":
            allowed = tool.get("allow")
            yield from (Offer(one.value.value, kind) for one in (allowed.entries if allowed else ()) if one.value)
        elif name:
            yield Offer(name, kind, said=said)


def _patterns(spot: Spot) -> Iterator[Offer]:
    yield from _named(spot)
    yield Offer("*", "every tool")


def _named(spot: Spot) -> Iterator[Offer]:
    yield from {str(offer.value): offer for offer in tool_names(spot.tree)}.values()


def _variables(spot: Spot) -> Iterator[Offer]:
    """Names alone: no value of the environment is ever shown."""
    keys_first = sorted(spot.env, key=lambda name: (not any(mark in name.upper() for mark in _KEY_MARKS), name))
    yield from (Offer(name, "a variable of your environment") for name in keys_first)


def _parameter_names(spot: Spot) -> Iterator[Offer]:
    yield from (Offer(name, "a parameter", said=said) for name, said in _properties(spot.tool))


def _placeholders(spot: Spot) -> Iterator[Offer]:
    yield from (Offer(f"{{{name}}}", "a parameter", said=said) for name, said in _properties(spot.tool))


def _wanted(spot: Spot) -> Iterator[Offer]:
    """The values that a tool's schema lets an argument have, or a pattern."""
    steps = str(spot.path[-1]).split("/")[1:]
    for tool in _fitting(spot.tree, spot.path):
        schema = tool.get("parameters")
        plain: Any = schema.plain() if schema else {}
        for step in steps:
            plain = _sub(plain, "properties").get(step)
        choices = plain.get("enum") if isinstance(plain, dict) else None
        yield from (Offer(choice, "a value of the parameter") for choice in choices or () if choice is not None)
    yield Offer({"glob": "*"}, "a pattern")


def _pointers(found: Tree, path: Path) -> Iterator[Offer]:
    """Pointers to all that the tools of this rule name in their schemas."""
    known: dict[str, Offer] = {}
    for tool in _fitting(found, path):
        schema = tool.get("parameters")
        for pointer, said in _within(schema.plain() if schema else None, ""):
            known.setdefault(pointer, Offer(pointer, "an argument", said=said))
    yield from known.values()


def _within(schema: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if pointer.count("/") >= _DEEPEST or not isinstance(schema, dict):
        return
    for name, sub in _sub(schema, "properties").items():
        described = sub.get("description") if isinstance(sub, dict) else None
        yield child(pointer, name), described if isinstance(described, str) else ""
        yield from _within(sub, child(pointer, name))
    if isinstance(schema.get("items"), dict) and pointer:
        yield child(pointer, 0), ""


def _parameters(found: Tree) -> Iterator[Offer]:
    provider = found.string("model", "provider")
    known = PARAMETERS.get(provider or "")
    of_all = {name: words for one in PARAMETERS.values() for name, words in one.items()}
    yield from (Offer(name, "a parameter", words) for name, words in (of_all if known is None else known).items())


def _fitting(found: Tree, path: Path) -> Iterator[Node]:
    """The tools that the rule around `path` fits."""
    pattern = found.string(*path[:3], "tool")
    yield from (tool for tool in _tools(found) if pattern and fits(pattern, _text(tool, "name")))


def _tools(found: Tree) -> Iterator[Node]:
    tools = found.at(("tools",))
    yield from (entry.value for entry in (tools.entries if tools else ()) if entry.value)


def _properties(tool: Node | None) -> Iterator[tuple[str, str]]:
    schema = tool.get("parameters") if tool else None
    for name, sub in _sub(schema.plain() if schema else None, "properties").items():
        described = sub.get("description") if isinstance(sub, dict) else None
        yield name, described if isinstance(described, str) else ""


def _sub(schema: Any, name: str) -> dict[str, Any]:
    found = schema.get(name) if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _text(node: Node, name: str) -> str:
    found = node.get(name)
    return found.value if found and isinstance(found.value, str) else ""


def _is(path: Path, shape: tuple[Any, ...]) -> bool:
    """`int` and `str` in a shape stand for any index and any name, a tuple for one of its names."""
    return len(path) == len(shape) and all(
        isinstance(step, like) if isinstance(like, type) else step in like if isinstance(like, tuple) else step == like
        for step, like in zip(path, shape, strict=True)
    )


_VALUES: tuple[tuple[Any, Callable[[Spot], Iterator[Offer]]], ...] = (
    ((POLICIES, "rules", int, "tool"), _patterns),
    ((POLICIES, "rules", int, "match", str), _wanted),
    (("model", "script", int, "calls", int, "tool"), _named),
    (("model", "apiKey", "env"), _variables),
    (("tools", int, "env", int), _variables),
    (("tools", int, "shell"), _parameter_names),
    (("tools", int, "argv", int), _placeholders),
)
