"""What a person does in an editor with a session of abey, and what is recorded of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.e2e import Place, calls, command, deferred, says, until
from support.editors import Editor
from support.pages import plain

SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
SCRIPT = (calls(("sh", {"command": "echo 20"})), says("It is 21 degrees."))
PROMPT = "How warm is it?"


def weather(machine: Place, script: Any = SCRIPT, folder: Path | None = None) -> Path:
    """The file of the agent `weather`, which asks before it runs a shell command; by default it is the user's own."""
    config = {
        "slug": "weather",
        "description": "knows the weather",
        "systemPrompt": "Be brief.",
        "model": {"provider": "scripted", "script": list(script)},
        "toolCallPolicy": {"default": "runSync", "rules": [deferred("sh")]},
        "tools": [
            command("sh", SHELL, ["sh", "-c", "{command}"]),
            command("slow", {"type": "object"}, ["sh", "-c", _SLOW.format(count=machine.count, go=go_of(machine))]),
        ],
    }
    path = (folder or machine.agents) / "weather.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(config, indent=2) + "\n")
    return path


_SLOW = "echo line >> {count}; until test -e {go}; do sleep 0.02; done; echo done"


def go_of(machine: Place) -> Path:
    """The tool `slow` ends when this file is there."""
    return machine.work / "go"


def start(editor: Editor, machine: Place) -> str:
    """The id of a session that was started from the editor, in the buffer of the agent's file."""
    before = set(ids(machine))
    editor.visit(machine.agents / "weather.json")
    editor.order("command", "abey.start", [{"agent": "weather", "prompt": PROMPT, "cwd": str(machine.work)}])
    [session] = until(lambda: set(ids(machine)) - before, "for a session")
    editor.visit(until_there(document(machine, session)))
    return str(session)


def ids(machine: Place) -> list[str]:
    return [one["sessionId"] for one in machine.rpc("agents/sessions")["items"]]


def document(machine: Place, session: str, call: int | None = None) -> Path:
    """Where the document of a session is, or of one of its calls."""
    name = f"{session}.abey.md" if call is None else f"{session}.{call}.args.json"
    return machine.state / "documents" / name


def until_there(path: Path) -> Path:
    until(path.exists, f"for {path}")
    return path


def reached(machine: Place, session: str, state: str) -> Any:
    """The session, once it is idle in that state."""

    def found() -> Any:
        now = machine.session(session)
        return now if (now["state"], now["activity"]) == (state, "idle") else None

    return until(found, f"for {state}")


def act(editor: Editor, title: str) -> None:
    """Chooses a code action of the buffer, as soon as it is offered."""

    def offered() -> bool:
        editor.order("act", title)
        return bool(editor.until("asked", bool)[0]["choices"].count(title))

    until(offered, f"for {title} in {editor.kind.name}")


def at(text: str, part: str) -> tuple[int, int]:
    """The line and column where `part` begins."""
    before = text[: text.index(part)]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def events(machine: Place, session: str) -> list[Any]:
    """The durable events of a session, without what no two runs share: ids, times, folders, who the client is."""
    found = machine.rpc("agents/events", sessionId=session)["events"]
    text = json.dumps(found).replace(str(machine.root), "<root>")
    for client in clients(machine, session):
        text = text.replace(json.dumps(client), '"<client>"')
        text = text.replace(f"{client['name']} ({client['kind']})", "<client>").replace(client["name"], "<client>")
    return list(json.loads(plain(text)))


def clients(machine: Place, session: str) -> Iterator[Any]:
    """Who decided the calls of a session."""
    for item in machine.rpc("agents/transcript", sessionId=session)["items"]:
        decision = item.get("call", {}).get("decision")
        if decision:
            yield decision["client"]
