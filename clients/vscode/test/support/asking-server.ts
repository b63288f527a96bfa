// An MCP server with one tool, which asks a person for a name and more, and answers with what it was told.
export const askingServer = `
import sys, json

SCHEMA = {
    "type": "object",
    "properties": {
        "version": {"type": "string", "title": "Version", "description": "As in 1.2.3"},
        "channel": {"type": "string", "enum": ["stable", "beta"], "title": "Channel"},
        "notify": {"type": "boolean", "title": "Tell everybody"},
        "copies": {"type": "integer", "title": "Copies"},
    },
    "required": ["version"],
}

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    match message:
        case {"method": "initialize", "id": number}:
            about = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "desk", "version": "1"}}
            send({"id": number, "result": {**about, "capabilities": {"tools": {}}}})
        case {"method": "tools/list", "id": number}:
            tool = {"name": "ask", "description": "Asks", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
            send({"id": number, "result": {"tools": [tool]}})
        case {"method": "tools/call", "id": number}:
            params = {"mode": "form", "message": "Which version is released?", "requestedSchema": SCHEMA}
            send({"id": f"question {number}", "method": "elicitation/create", "params": params})
        case {"id": str(asked), "result": result}:
            text = json.dumps(result.get("content"), sort_keys=True)
            send({"id": int(asked.removeprefix("question ")), "result": {"content": [{"type": "text", "text": text}]}})
`;
