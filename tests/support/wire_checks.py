"""What the strictest server of each wire form refuses: the first fault of a request body, or None."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Body = dict[str, Any]

_TOOL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SURROGATE = re.compile("[\ud800-\udfff]|\\\\u[dD][89a-fA-F]")


def chat_fault(body: Body, longest: int = 40, ids: str = r"[a-zA-Z0-9_-]+") -> str | None:
    """Chat Completions: as OpenAI, llama.cpp (arguments are objects), Mistral (`ids`, roles in turn)."""
    return next(_chat(body, longest, ids), None)


def messages_fault(body: Body) -> str | None:
    return next(_anthropic(body), None)


def responses_fault(body: Body) -> str | None:
    return next(_responses(body), None)


def _chat(body: Body, longest: int, ids: str) -> Iterator[str]:
    yield from _shared(body)
    yield from _tools([tool["function"] for tool in body.get("tools", [])], "parameters")
    messages = body["messages"]
    if [one for one in messages if one["role"] == "system"] != messages[: int(messages[0]["role"] == "system")]:
        yield "a system message that is not the first"
    messages = [one for one in messages if one["role"] != "system"]
    yield from _pairs(messages, lambda one: [call["id"] for call in one.get("tool_calls", [])])
    for one in messages:
        match one["role"]:
            case "user":
                yield from _content(one["content"])
            case "assistant":
                if not one.get("content") and not one.get("tool_calls"):
                    yield "an assistant message that says nothing"
                for call in one.get("tool_calls", []):
                    yield from _call(call["id"], call["function"]["name"], longest, ids)
                    yield from _object(call["function"]["arguments"])
            case "tool":
                if not isinstance(one["content"], str):
                    yield "a result that is no text"
            case role:
                yield f"role {role}"


def _pairs(messages: list[Body], calls_of: Callable[[Body], list[str]]) -> Iterator[str]:
    """Every call is answered once, in order, by what follows at once; the user and the model take turns."""
    waiting: list[str] = []
    seen: set[str] = set()
    before = ""
    for one in messages:
        if one["role"] == "tool":
            if not waiting or one["tool_call_id"] != waiting.pop(0):
                yield f"a result out of its place: {one['tool_call_id']}"
            before = "tool"
            continue
        if waiting:
            yield f"no result for {waiting}"
        if one["role"] == before or (one["role"] == "assistant" and not before):
            yield f"{one['role']} after {before or 'nothing'}"
        waiting = calls_of(one)
        if len(set(waiting)) != len(waiting) or seen & set(waiting):
            yield f"an id twice: {waiting}"
        seen |= set(waiting)
        before = one["role"]
    if waiting:
        yield f"no result for {waiting}"
    if before == "assistant":
        yield "the last message is the model's"


def _anthropic(body: Body) -> Iterator[str]:
    yield from _shared(body)
    yield from _tools(body.get("tools", []), "input_schema")
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens is missing"
    if "system" in body and not body["system"].strip():
        yield "an empty system prompt"
    messages = body["messages"]
    if [one["role"] for one in messages] != [("user", "assistant")[at % 2] for at in range(len(messages))]:
        yield "roles do not take turns, the user first"
    if messages[-1]["role"] != "user":
        yield "the last message is the model's"
    calls: list[str] = []
    for one in messages:
        answered = [block["tool_use_id"] for block in one["content"] if block["type"] == "tool_result"]
        if one["role"] == "user" and answered != calls:
            yield f"results {answered} for the calls {calls}"
        kinds = [block["type"] for block in one["content"]]
        if one["role"] == "user" and kinds != sorted(kinds, key=lambda kind: kind != "tool_result"):
            yield "a result after something else"
        calls = [block["id"] for block in one["content"] if block["type"] == "tool_use"]
        if calls and not body.get("tools"):
            yield "calls, and no tools"
        yield from _blocks(one)


def _blocks(message: Body) -> Iterator[str]:
    if not message["content"]:
        yield "a message without blocks"
    for block in message["content"]:
        match block["type"]:
            case "text":
                if not block["text"].strip():
                    yield "a blank text"
            case "tool_use":
                yield from _call(block["id"], block["name"], 64, r"[a-zA-Z0-9_-]+")
                if not isinstance(block["input"], dict):
                    yield "an input that is no object"
            case "tool_result":
                yield from _content(block.get("content", [{"type": "text", "text": "-"}]))
            case "thinking":
                if not block["signature"]:
                    yield "a thought without a signature"


def _responses(body: Body) -> Iterator[str]:
    yield from _shared(body)
    yield from _tools(body.get("tools", []), "parameters")
    messages: list[Body] = []
    for item in body["input"]:
        kind = item.get("type", item.get("role"))
        if kind == "function_call":
            yield from _call(item["call_id"], item["name"], 64, r"[a-zA-Z0-9_-]+")
            yield from _object(item["arguments"])
            if messages and messages[-1]["role"] == "assistant":
                messages[-1]["calls"].append(item["call_id"])
            else:
                messages.append({"role": "assistant", "calls": [item["call_id"]]})
        elif kind == "function_call_output":
            messages.append({"role": "tool", "tool_call_id": item["call_id"]})
        elif kind == "reasoning":
            if not item.get("encrypted_content"):
                yield "a thought that is not kept anywhere"
        elif kind == "assistant" and messages and messages[-1]["role"] == "assistant":
            continue
        else:
            yield from _content(item["content"])
            messages.append({"role": kind, "calls": []})
    yield from _pairs(messages, lambda one: one["calls"])


def _shared(body: Body) -> Iterator[str]:
    text = json.dumps(body, ensure_ascii=False)
    if _SURROGATE.search(text):
        yield "half a surrogate pair"
    if not body.get("model"):
        yield "no model"


def _tools(tools: list[Body], schema: str) -> Iterator[str]:
    names = [tool["name"] for tool in tools]
    if len(set(names)) != len(names):
        yield "a tool twice"
    for tool in tools:
        if not _TOOL.fullmatch(tool["name"]):
            yield f"a tool named {tool['name']!r}"
        if tool[schema].get("type") != "object":
            yield "a schema of no object"


def _call(call_id: str, name: str, longest: int, ids: str) -> Iterator[str]:
    if not re.fullmatch(ids, call_id) or len(call_id) > longest:
        yield f"an id {call_id!r}"
    if not _TOOL.fullmatch(name):
        yield f"a call of {name!r}"


def _object(arguments: str) -> Iterator[str]:
    try:
        if not isinstance(json.loads(arguments), dict):
            yield f"arguments that are no object: {arguments}"
    except ValueError:
        yield f"arguments that are no JSON: {arguments}"


def _content(content: Any) -> Iterator[str]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not parts:
        yield "an empty content"
    for part in parts:
        if "text" in part["type"] and not part["text"].strip():
            yield "a blank text"
