"""Agent files of agents-exe, read as ours: what each field came to, and where it stood."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from abey.protocol.agent_file_words import FOREIGN_MARKS, FOREIGN_TAG
from abey.runtime.agents.findings import Fact, quoted
from abey.runtime.agents.jsonc import child

_PROVIDERS = {
    "openaiv1": "openai",
    "openai-v1": "openai",
    "mistralv1": "openai",
    "mistral-v1": "openai",
    "kimiv1": "openai",
    "kimi-v1": "openai",
    "claudev1": "anthropic",
    "claude-v1": "anthropic",
}
_RENAMED = {"slug": "slug", "announce": "description", "systemPrompt": "systemPrompt", "executionMode": "executionMode"}
_MODEL = {"modelName": "name", "modelUrl": "baseUrl"}
_POLICIES = ("toolCallPolicy", "toolCallPolicyConfig")
_LISTS = ("bashToolboxes", "mcpServers", "extraAgents")


@dataclass(slots=True)
class Translation:
    """Our form of a file while it is made; `sources` leads from our pointers to the file's."""

    value: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)

    def put(self, name: str, found: Any, source: str) -> None:
        self.value[name] = found
        self.sources[child("", name)] = source

    def add_tool(self, tool: dict[str, Any], source: str) -> None:
        tools = self.value.setdefault("tools", [])
        self.sources[child("/tools", len(tools))] = source
        tools.append(tool)

    def unsupported(self, source: str, what: str) -> None:
        message = f"{quoted(what)} of agents-exe is not supported and is left out"
        self.facts.append(Fact(source, "warning", "unsupported", message, on_key=True))


def translate(value: Any) -> Translation | None:
    """Our form of an agents-exe file, wrapped or not; None for what is no such file."""
    if not isinstance(value, dict):
        return None
    contents, at = value, ""
    if value.get("tag") == FOREIGN_TAG and isinstance(value.get("contents"), dict):
        contents, at = value["contents"], "/contents"
    if "model" in contents or not (at or any(mark in contents for mark in FOREIGN_MARKS)):
        return _unwrapped(contents, at) if at else None
    made = Translation(sources={"": at})
    for name, found in contents.items():
        if found is not None and not name.startswith("--"):
            _field(made, name, found, child(at, name))
    _model(made, contents, at)
    return made


def _unwrapped(contents: dict[str, Any], at: str) -> Translation:
    """A file of ours inside the wrapper."""
    return Translation(dict(contents), {"": at, **{child("", name): child(at, name) for name in contents}})


def _field(made: Translation, name: str, found: Any, source: str) -> None:
    if name in _RENAMED:
        made.put(_RENAMED[name], found, source)
    elif name in _POLICIES:
        made.put("toolCallPolicy", _policy(made, found, source), source)
    elif name == "maxConcurrency":
        made.put("limits", {"maxConcurrency": found}, source)
        made.sources["/limits/maxConcurrency"] = source
    elif name == "toolDirectory":
        made.add_tool({"kind": "executables", "directory": found}, source)
    elif name in _LISTS and isinstance(found, list):
        for at, item in enumerate(found):
            _boxed(made, name, item, child(source, at))
    elif name not in (*_MODEL, "flavor", "apiKeyId") and found != []:
        made.unsupported(source, name)


def _model(made: Translation, contents: dict[str, Any], at: str) -> None:
    """The model out of flavor, modelName, modelUrl and apiKeyId."""
    model: dict[str, Any] = {}
    if contents.get("flavor") is not None:
        flavor = contents["flavor"]
        model["provider"] = _PROVIDERS.get(flavor.lower(), flavor) if isinstance(flavor, str) else flavor
        made.sources["/model/provider"] = child(at, "flavor")
    for theirs, ours in _MODEL.items():
        if contents.get(theirs) is not None:
            model[ours] = contents[theirs]
            made.sources[f"/model/{ours}"] = child(at, theirs)
    if contents.get("apiKeyId") is not None:
        model["apiKey"] = {"id": contents["apiKeyId"]}
        made.sources["/model/apiKey"] = child(at, "apiKeyId")
    made.put("model", model, at)


def _boxed(made: Translation, name: str, item: Any, source: str) -> None:
    """One entry of bashToolboxes, mcpServers or extraAgents."""
    tag = item.get("tag") if isinstance(item, dict) else None
    contents = item.get("contents", item) if isinstance(item, dict) else {}
    found = _either_case(contents)
    match name, tag:
        case "bashToolboxes", "FileSystemDirectory" | "SingleTool" if "path" in found:
            made.add_tool({"kind": "executables", "directory": found["path"]}, source)
            _left_over(made, contents, ("path",), child(source, "contents"))
        case "mcpServers", "McpSimpleBinary" if {"name", "executable"} <= set(found):
            arguments = found.get("args") or []
            command = [found["executable"], *arguments] if isinstance(arguments, list) else arguments
            made.add_tool({"kind": "mcp", "name": found["name"], "command": command}, source)
            _left_over(made, contents, ("name", "executable", "args"), child(source, "contents"))
        case "extraAgents", None if isinstance(found.get("slug"), str):
            slug = found["slug"]
            path = {"path": found["path"]} if "path" in found else {}
            made.add_tool({"kind": "agent", "name": f"io_prompt_agent_{slug}", "agent": slug, **path}, source)
            _left_over(made, contents, ("slug", "path"), source)
        case _:
            made.unsupported(source, f"{name}: {tag}" if isinstance(tag, str) else name)


def _either_case(contents: Any) -> dict[str, Any]:
    """The members that are not null, under keys whose first letter is small."""
    members = contents.items() if isinstance(contents, dict) else ()
    return {_small(key): found for key, found in members if found is not None}


def _left_over(made: Translation, contents: dict[str, Any], known: Iterable[str], source: str) -> None:
    for key, found in contents.items():
        if _small(key) not in known and not key.startswith("--") and found is not None:
            made.unsupported(child(source, key), key)


def _small(key: str) -> str:
    return re.sub("^[A-Z]", lambda first: first[0].lower(), key)


def _policy(made: Translation, policy: Any, source: str) -> Any:
    """The policy without the members of dispositions that only agents-exe has."""
    if isinstance(policy, list):
        return [_policy(made, item, child(source, at)) for at, item in enumerate(policy)]
    if not isinstance(policy, dict):
        return policy
    extra = {"runIsolated": "spec", "runAsync": "attachSeconds"}.get(str(policy.get("tag")))
    if extra in policy:
        made.unsupported(child(source, str(extra)), str(extra))
    return {key: _policy(made, item, child(source, key)) for key, item in policy.items() if key != extra}
