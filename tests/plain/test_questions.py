"""A tool that asks is answered from the document of its call, by an editor without a plugin."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.raw_peer import RawPeer, connect, until

from abey.core.events import ToolAsked
from abey.daemon.app import App, create
from abey.daemon.settings import read_settings
from abey.protocol.transcript import Question

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Editor:
    """What it was told, and what it was asked."""

    def __init__(self, peer: RawPeer) -> None:
        self.peer = peer
        self.told: list[Any] = []

    async def request(self, method: str, params: Any) -> Any:
        """The answer, whole."""
        self.peer.ask("own", method, params)
        while (message := await self.peer.message()).get("id") != "own":
            self.told.append(message)
        return message

    async def command(self, name: str, argument: Any) -> Any:
        return await self.request("workspace/executeCommand", {"command": name, "arguments": [argument]})

    def send(self, name: str, argument: Any) -> None:
        """Its answer is waited for by nobody: a tool of this version does not end when it is answered."""
        self.peer.ask(name, "workspace/executeCommand", {"command": name, "arguments": [argument]})

    async def session(self, session_id: str) -> Any:
        return (await self.request("agents/get", {"sessionId": session_id}))["result"]["session"]


@asynccontextmanager
async def daemon(root: Path) -> AsyncIterator[tuple[App, Editor]]:
    env = {"HOME": str(root), "PATH": "/usr/bin:/bin", "ABEY_DURABILITY": "process"}
    env |= {f"ABEY_{name}_DIR": str(root / name.lower()) for name in ("STATE", "CONFIG", "RUNTIME")}
    app = create(read_settings([], env))
    link = await connect(app.surface)
    await app.start()
    editor = Editor(link.peer)
    try:
        await link.peer.initialize({"processId": None, "rootUri": None, "capabilities": {}})
        yield app, editor
    finally:
        await app.close()
        link.peer.hang_up()
        await link.end


async def asked(app: App, editor: Editor, root: Path, question: dict[str, Any]) -> tuple[str, Path]:
    """A session with a tool that runs, and has just asked that; its id, and the document of the call."""
    agent = root / "a.json"
    tool = {"kind": "command", "name": "slow", "description": "waits", "argv": ["sleep", "300"]}
    script = [{"calls": [{"tool": "slow"}]}, {"text": "done"}]
    agent.write_text(
        json.dumps(
            {
                "slug": "a",
                "systemPrompt": "test",
                "model": {"provider": "scripted", "script": script},
                "tools": [{**tool, "parameters": {"type": "object"}}],
                "toolCallPolicy": {"default": "runSync"},
            }
        )
    )
    started = await editor.command("abey.start", {"agentFile": str(agent), "prompt": "go", "cwd": str(root)})
    session_id = started["result"]["sessionId"]
    editor.send("abey.run", session_id)
    services = app._services
    live = await services.sessions.get(session_id)
    await until(lambda: any(one.call_id for one in live.machine.work.live))
    [running] = live.machine.work.live
    await services.scheduler.submit(live, ToolAsked(running.invocation_id, Question.model_validate(question)))
    path = root / "state" / "documents" / f"{session_id}.1.args.json"
    await until(path.exists)
    return session_id, path


async def test_a_yes_or_no_is_answered_from_its_document(tmp_path: Path) -> None:
    async with daemon(tmp_path) as (app, editor):
        session_id, path = await asked(app, editor, tmp_path, {"kind": "approval", "prompt": "sure? vim: x"})
        shown = path.with_name(f"{session_id}.abey.md")
        await until(lambda: "sure? vim\\: x" in shown.read_text())
        assert path.read_text() == "false\n"
        answer = {"document": str(path), "decision": "answer"}
        path.write_text('"yes"')
        refused = await editor.command("abey.complete", answer)
        assert refused["error"]["message"] == "the question wants true or false"
        path.write_text("true")
        editor.send("abey.complete", answer)
        await until(lambda: not path.exists())
        assert (await editor.session(session_id))["pending"] == []


async def test_words_are_answered_as_the_question_wants_them(tmp_path: Path) -> None:
    async with daemon(tmp_path) as (app, editor):
        session_id, path = await asked(app, editor, tmp_path, {"kind": "response", "prompt": "who?", "schema": SCHEMA})
        assert path.read_text() == "{}\n"
        answer = {"document": str(path), "decision": "answer"}
        path.write_text('{"name": "n"')
        assert (await editor.command("abey.complete", answer))["error"]["data"]["kind"] == "arguments/invalid"
        refused = await editor.command("abey.complete", {**answer, "decision": "deny"})
        assert refused["error"]["message"] == (
            "deny is nothing to do with a call that asks a question; what can be done: answer"
        )
        path.write_text('{"name": "n"}')
        editor.send("abey.complete", answer)
        await until(lambda: not path.exists())
        assert (await editor.session(session_id))["pending"] == []
