"""Editors are served from the first one on; what comes while all is loaded is taken in its order."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.raw_peer import AGENTS, RawPeer, Stage, connect, greeted

from abey.daemon.app import create
from abey.daemon.editors.late import FEATURES, NOTICES, LateEditors
from abey.daemon.editors.making import Made
from abey.daemon.settings import read_settings
from abey.rpc.dispatch import Surface
from abey.rpc.faults import InvalidParams
from bench import work

HOVER, OPEN, CHANGE = "textDocument/hover", "textDocument/didOpen", "textDocument/didChange"


class Loaded:
    """What stands for all that is loaded: `heard` is what it was told, in order."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.loads = 0
        self.failing = False
        self.heard: list[Any] = []
        self.late = LateEditors(self.load)

    async def load(self) -> Made:
        self.loads += 1
        await self.gate.wait()
        if self.failing:
            raise OSError("no room")
        following: Any = SimpleNamespace(changed=self._hear("changed"), gone=self._hear("gone"))
        plain: Any = SimpleNamespace(
            joined=self._hear("joined"), left=self._hear("left"), close=self._close, **vars(following)
        )
        editors: Any = SimpleNamespace(
            features={name: self._feature(name) for name in FEATURES},
            notices={name: self._notice(name) for name in NOTICES},
            desk=SimpleNamespace(left=self._hear("left the desk")),
        )
        return Made(editors, plain, following)

    async def is_loaded(self) -> None:
        self.gate.set()
        for _ in range(5):
            await asyncio.sleep(0)

    def _hear(self, what: str) -> Callable[[Any], None]:
        return lambda whom: self.heard.append((what, getattr(whom, "id", whom)))

    def _feature(self, name: str) -> Callable[[Any, Any], Coroutine[Any, Any, Any]]:
        async def answer(params: Any) -> Any:
            return {"answered": params}

        def asked(peer: Any, params: Any) -> Coroutine[Any, Any, Any]:
            self.heard.append((name, params))
            if params == "wrong":
                raise InvalidParams("these are wrong", errors=[])
            return answer(params)

        return asked

    def _notice(self, name: str) -> Callable[[Any, Any], None]:
        def taken(peer: Any, params: Any) -> None:
            self.heard.append((name, params))
            if params == "wrong":
                raise ValueError("secret in /home/somebody")

        return taken

    async def _close(self) -> None:
        self.heard.append("closed")


def client(name: str, *, plain: bool) -> Any:
    return SimpleNamespace(id=name, plain=plain)


def served(loaded: Loaded, stage: Stage) -> Surface:
    late, of_test = loaded.late, stage.surface
    return Surface(of_test.bindings, of_test.capabilities, of_test.joined, late.left, late.features, late.notices)


async def test_what_is_said_before_all_is_loaded_is_taken_in_its_order_and_what_comes_later_at_once() -> None:
    loaded = Loaded()
    late, editor = loaded.late, client("c1", plain=True)
    late.joined(editor)
    late.notices[OPEN](editor, 1)
    first = late.features[HOVER](editor, 2)
    late.changed("a session")  # type: ignore[arg-type]
    late.notices[CHANGE](editor, 3)
    second = late.features[HOVER](editor, 4)
    late.gone("a session")  # type: ignore[arg-type]
    late.left(editor)
    assert loaded.heard == []
    await loaded.is_loaded()
    before = [
        ("joined", "c1"),
        (OPEN, 1),
        (HOVER, 2),
        *[("changed", "a session")] * 2,
        (CHANGE, 3),
        (HOVER, 4),
        *[("gone", "a session")] * 2,
        ("left the desk", "c1"),
        ("left", "c1"),
    ]
    assert loaded.heard == before
    assert [await one for one in (first, second)] == [{"answered": 2}, {"answered": 4}]
    late.notices[OPEN](editor, 5)
    third = late.features[HOVER](editor, 6)
    assert loaded.heard == [*before, (OPEN, 5), (HOVER, 6)]
    assert (await third, loaded.loads) == ({"answered": 6}, 1)


async def test_nothing_is_loaded_for_who_says_nothing_of_lsp() -> None:
    loaded = Loaded()
    late, one = loaded.late, client("c1", plain=False)
    late.joined(one)
    late.notices["initialized"](one, {})
    late.changed("a session")  # type: ignore[arg-type]
    late.gone("a session")  # type: ignore[arg-type]
    late.left(one)
    await loaded.is_loaded()
    await late.close()
    assert (loaded.loads, loaded.heard) == (0, [])


async def test_others_are_answered_while_all_is_loaded() -> None:
    loaded, stage = Loaded(), Stage()
    editor = await connect(served(loaded, stage))
    async with greeted(stage) as other:
        await editor.peer.initialize()
        editor.peer.ask("waits", HOVER, 1)
        assert (await other.peer.reply("agents/echo", {"value": 7}))["result"] == {"value": 7}
        assert (await editor.peer.reply("agents/echo", {"value": 8}))["result"] == {"value": 8}
        loaded.gate.set()
        assert await editor.peer.message() == {"jsonrpc": "2.0", "id": "waits", "result": {"answered": 1}}
    editor.peer.hang_up()
    await editor.end


async def test_what_is_wrong_is_told_to_who_asked_and_harms_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    loaded = Loaded()
    late, editor = loaded.late, client("c1", plain=True)
    wrong, right = late.features[HOVER](editor, "wrong"), late.features[HOVER](editor, "right")
    late.notices[OPEN](editor, "wrong")
    late.notices[OPEN](editor, "right")
    await loaded.is_loaded()
    with pytest.raises(InvalidParams, match="these are wrong"):
        await wrong
    assert await right == {"answered": "right"}
    assert loaded.heard[-1] == (OPEN, "right")
    assert f"c1 sent {OPEN}, which failed" in caplog.text


async def test_who_gives_up_before_all_is_loaded_gets_no_answer() -> None:
    loaded = Loaded()
    late, editor = loaded.late, client("c1", plain=True)

    early, other, last = (late.features[HOVER](editor, params) for params in ("early", "other", "last"))
    early.close()
    await loaded.is_loaded()
    last.close()
    assert await other == {"answered": "other"}
    assert loaded.heard == [(HOVER, "other"), (HOVER, "last")]


async def test_what_cannot_be_loaded_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    loaded = Loaded()
    loaded.failing = True
    editor = client("c1", plain=True)
    asked = loaded.late.features[HOVER](editor, 1)
    await loaded.is_loaded()
    with pytest.raises(RuntimeError, match="editors cannot be served"):
        await asked
    assert "no room" in caplog.text
    loaded.failing = False
    assert (await loaded.late.features[HOVER](editor, 2), loaded.loads) == ({"answered": 2}, 2)


async def test_a_daemon_that_ends_while_all_is_loaded_loads_no_more() -> None:
    loaded = Loaded()
    loaded.late.joined(client("c1", plain=True))
    await asyncio.sleep(0)
    await loaded.late.close()
    await loaded.is_loaded()
    assert loaded.heard == []


@asynccontextmanager
async def daemon(root: Path) -> AsyncIterator[tuple[Any, RawPeer]]:
    env = {"HOME": str(root), "PATH": "/usr/bin:/bin", "ABEY_DURABILITY": "process"}
    env |= {f"ABEY_{name}_DIR": str(root / name.lower()) for name in ("STATE", "CONFIG", "RUNTIME")}
    app = create(read_settings([], env))
    await app.start()
    try:
        async with connected_to(app) as peer:
            yield app, peer
    finally:
        await app.close()


@asynccontextmanager
async def connected_to(app: Any) -> AsyncIterator[RawPeer]:
    link = await connect(app.surface)
    try:
        yield link.peer
    finally:
        link.peer.hang_up()
        await link.end


async def answered(peer: RawPeer, method: str, params: Any) -> Any:
    """The result; what else is heard before it is passed over."""
    peer.ask("own", method, params)
    while (message := await peer.message()).get("id") != "own":
        pass
    return message["result"]


async def test_what_is_named_before_all_is_loaded_is_what_there_is(tmp_path: Path) -> None:
    async with daemon(tmp_path) as (app, peer):
        answer = await peer.initialize({"processId": None, "rootUri": None, "capabilities": {}})
        refused = (await peer.reply("workspace/executeCommand", {"command": "abey.none"}))["error"]["message"]
        made = app._editors._made
    assert {*made.editors.features} == {*FEATURES}
    assert {*made.editors.notices} == {*NOTICES}
    offered = answer["result"]["capabilities"]["executeCommandProvider"]["commands"]
    assert offered == re.findall(r"abey\.\w+", refused.partition("there are:")[2])


async def test_an_editor_that_comes_later_hears_that_a_call_of_before_waits_no_more(tmp_path: Path) -> None:
    agent = tmp_path / "config" / "agents" / "a.json"
    agent.parent.mkdir(parents=True)
    agent.write_text(json.dumps(work.config() | {"slug": "a"}))
    async with daemon(tmp_path) as (app, terminal):
        await terminal.initialize({"capabilities": {"experimental": {"agents": AGENTS}}})
        start = {"agentFile": str(agent), "cwd": str(tmp_path), "prompt": work.PROMPT, "run": "turn"}
        session = await answered(terminal, "agents/start", start)
        assert session["state"] == "partialUserTurn"
        [pending] = (await answered(terminal, "agents/pending", {"sessionId": session["sessionId"]}))["items"]
        async with connected_to(app) as editor:
            refreshing = {"workspace": {"codeLens": {"refreshSupport": True}}}
            await editor.initialize({"processId": None, "rootUri": None, "capabilities": refreshing})
            item = {"uri": agent.as_uri(), "languageId": "json", "version": 1, "text": agent.read_text()}
            editor.notify("textDocument/didOpen", {"textDocument": item})
            [lens] = await answered(editor, "textDocument/codeLens", {"textDocument": {"uri": agent.as_uri()}})
            assert lens["command"]["title"] == "Start session · 1 pending"
            await answered(terminal, "agents/complete", {"token": pending["token"], "outcome": {"kind": "deny"}})
            while (message := await editor.message()).get("method") != "workspace/codeLens/refresh":
                pass
            assert "id" in message
