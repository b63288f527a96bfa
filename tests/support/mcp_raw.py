"""A server that does what servers should not, byte by byte; its words are the behaviours: `mcp_raw.py WORD…`.

garbage: lines that are no messages stand between the messages
mute: nothing is ever answered
fickle: it says that its tools changed whenever it is asked for them
senseless: it has tools that are answered with what is no answer
slow: it answers with what its own pattern takes ages to check
forever: its list of tools has no end
odd: its tools have hostile names and schemas
large: its first tool has more to say than anybody wants to hear
turncoat: once its tools are known it has others of the same names, and says so
quits: it ends in the middle of a call
growing: every listing has a tool more
"""

import json
import os
import sys
import time
from typing import Any

WORDS = frozenset(sys.argv[1:])
state = {"listed": 0, "calls": 0}
hanging: dict[Any, str] = {}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def write(path: str, text: str) -> None:
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"the tool {name}", "inputSchema": {"type": "object"}, **more}


def tools() -> list[dict[str, Any]]:
    state["listed"] += 1
    if "odd" in WORDS:
        names = ["a b", "a\tb", "a/b", "x" * 300, "x" * 301, "\u202eevil", ""]
        return [*map(tool, names), tool("bad", inputSchema={"type": "object", "properties": {"a": {"type": 5}}})]
    if "large" in WORDS:
        return [tool("chatty", description="x" * (2 << 20)), tool(f"say_{state['listed']}")]
    if "turncoat" in WORDS:
        return [tool("say", description=f"the list {state['listed']}")]
    more = [tool(f"more_{number}") for number in range(state["listed"])] if "growing" in WORDS else []
    names = ["say", "die", "big", "ask", "calls", "link", "noise", "fields", "half", "hang"]
    names += ["list", "deep"] if "senseless" in WORDS else []
    slow = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    more += [tool("slow", outputSchema=slow)] if "slow" in WORDS else []
    return [*(tool(name, annotations={"readOnlyHint": True}) for name in names), tool("act"), *more]


def content(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"content": list(parts), **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    state["calls"] += 1
    match name:
        case "say" | "act" | "more_1":
            return content(text(str(arguments.get("text", "said"))))
        case "calls":
            return content(text(str(state["calls"])))
        case "big":
            return content(text("x" * int(arguments["size"]) + "end"))
        case "noise":
            sys.stderr.write("noise\n" * 100_000)
            sys.stderr.flush()
            return content(text("quiet"))
        case "half":
            return content(text("half \ud800 a character"), structuredContent={"a": 1})
        case "slow":
            return content(structuredContent={"a": "a" * 40 + "!"})
        case "link":
            return content(
                {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
                {"type": "resource", "resource": {"uri": "file:///b", "text": "inside"}},
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                structuredContent={"a": [1]},
            )
        case "die":
            os.kill(os.getpid(), 9)
    return content(text("no such tool"), isError=True)


def ask(request_id: Any, name: str) -> None:
    """The answer of a person is the result; `fields` wants a form that nobody fills in, and a page to be opened."""
    schema = {"type": "object", "properties": {"a": {"type": 5}} if "riddles" in WORDS else {}}
    form = {"mode": "form", "message": "who?\u202e", "requestedSchema": schema}
    page = {"mode": "url", "message": "open it", "url": "https://example.org/\u202ex", "elicitationId": "1"}
    send({"id": f"question {request_id}", "method": "elicitation/create", "params": form if name == "ask" else page})


def answer(message: dict[str, Any]) -> None:
    match message:
        case {"method": "initialize", "id": request_id}:
            capabilities = {"tools": {"listChanged": True}}
            about = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "raw", "version": "1"}}
            send({"id": request_id, "result": {**about, "capabilities": capabilities}})
        case {"method": "tools/list", "id": request_id}:
            more = {"nextCursor": f"page {state['listed']}"} if "forever" in WORDS else {}
            send({"id": request_id, "result": {"tools": tools(), **more}})
            if "fickle" in WORDS or ("turncoat" in WORDS and state["listed"] == 1):
                send({"method": "notifications/tools/list_changed"})
        case {"method": "tools/call", "id": request_id, "params": params} if params["name"] in ("ask", "fields"):
            ask(request_id, params["name"])
        case {"method": "tools/call", "id": request_id, "params": {"name": "hang", "arguments": {"mark": mark}}}:
            hanging[request_id] = mark
            write(mark, "begun")
        case {"method": "notifications/cancelled", "params": {"requestId": request_id}} if request_id in hanging:
            write(hanging[request_id], "stopped")
        case {"method": "tools/call", "id": request_id, "params": params}:
            if "quits" in WORDS:
                sys.exit("it had enough")
            if params["name"] in ("list", "deep"):
                result = "[]" if params["name"] == "list" else "[" * 20_000 + "]" * 20_000
                sys.stdout.write(f'{{"jsonrpc": "2.0", "result": {result}, "id": {request_id}}}\n')
                sys.stdout.flush()
                return
            send({"id": request_id, "result": call(params["name"], params.get("arguments") or {})})
        case {"id": str() as question, "result": result}:
            send({"id": int(question.split()[1]), "result": content(text(json.dumps(result)))})
        case {"method": _, "id": request_id}:
            send({"id": request_id, "error": {"code": -32601, "message": "no such method"}})


def main() -> None:
    for line in sys.stdin:
        if "mute" in WORDS:
            continue
        if "garbage" in WORDS:
            sys.stdout.write('what a nice day\n{"jsonrpc": "2.0"}\n[]\n\n\x00\xff\n')
        answer(json.loads(line))
    while "stays" in WORDS:
        time.sleep(1)


if __name__ == "__main__":
    main()
