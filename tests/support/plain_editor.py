"""An editor that knows LSP alone: no word of agents, only what every stock client does."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.e2e import Place, until
from support.e2e_peer import PATIENCE, Message, Peer

from abey.shared.starting import connect

SHOWS = {"window": {"showDocument": {"support": True}}}
EDITS = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}
ACTIONS = {"textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}}}


class PlainEditor(Peer):
    """Its documents are what it has read from the disk and typed since."""

    greeted: Message

    def greet(self, *folders: Path, ask: bool = False, env: Any = None, **capabilities: Any) -> None:
        """`greeted` is the answer to `initialize` afterwards."""
        options = {**({"ask": True} if ask else {}), **({"env": env} if env is not None else {})}
        self.greeted = self.request(
            "initialize",
            processId=None,
            clientInfo={"name": "plain"},
            rootUri=None,
            workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name} for folder in folders],
            capabilities={**ACTIONS, **capabilities},
            initializationOptions=options,
        )
        self.notify("initialized", {})

    def command(self, name: str, *arguments: Any, **more: Any) -> Any:
        return self.request("workspace/executeCommand", command=name, arguments=list(arguments), **more)

    def visit(self, path: Path, text: str | None = None, version: int = 1) -> str:
        """Opens a file, as it is or as somebody has changed it since; what is shown in it."""
        shown = path.read_text() if text is None else text
        document = {"uri": path.as_uri(), "languageId": "x", "version": version, "text": shown}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return shown

    def type(self, path: Path, text: str, version: int = 2) -> None:
        """Changes an open document; nothing is saved."""
        params = {"textDocument": {"uri": path.as_uri(), "version": version}, "contentChanges": [{"text": text}]}
        self.notify("textDocument/didChange", params)

    def actions(self, path: Path) -> dict[str, Message]:
        """The commands that are offered in a document, by their titles."""
        place = {"line": 0, "character": 0}
        found = self.request(
            "textDocument/codeAction",
            textDocument={"uri": path.as_uri()},
            range={"start": place, "end": place},
            context={"diagnostics": []},
        )
        return {one["title"]: one["command"] for one in found}

    def act(self, path: Path, title: str) -> Any:
        """Takes a code action."""
        command = self.actions(path)[title]
        return self.command(command["command"], *command["arguments"])

    def diagnosed(self, path: Path) -> list[str]:
        """The messages of the next diagnostics of a document."""
        while (heard := self.hear("textDocument/publishDiagnostics"))["uri"] != path.as_uri():
            pass
        return [one["message"] for one in heard["diagnostics"]]

    def asked(self, method: str) -> Message:
        """The first question of that method that was not answered yet, whole."""
        end = time.monotonic() + PATIENCE
        while not (found := [one for one in self.heard if one["method"] == method]):
            self._take(self._message(end))
        self.heard.remove(found[0])
        return found[0]

    def told(self, part: str) -> str:
        """The next message that says so; those before it are passed over."""
        while part not in (message := self.hear("window/showMessage")["message"]):
            pass
        return str(message)

    def reply(self, question: Message, result: Any) -> None:
        self._send({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def refuse(self, question: Message) -> None:
        self._send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32603, "message": "no"}})

    def sync(self) -> None:
        """Everything that the daemon had to say before is heard. The first editor of a daemon waits for what serves it,
        and so must what is asked here."""
        nowhere = {"textDocument": {"uri": "file:///nowhere"}, "position": {"line": 0, "character": 0}}
        self.request("textDocument/hover", **nowhere)


@contextmanager
def plain_editor(place: Place, *folders: Path, **more: Any) -> Iterator[PlainEditor]:
    """A plain editor at the daemon of this machine, which is started where there is none."""
    editor = PlainEditor(connect(place.state, place.env, start=True, timeout=PATIENCE))
    try:
        editor.greet(*folders, **more)
        yield editor
    finally:
        editor.close()


def documents(place: Place) -> Path:
    return place.state.resolve() / "documents"


def document(place: Place, session_id: str) -> Path:
    return documents(place) / f"{session_id}.abey.md"


def arguments(place: Place, session_id: str, n: int) -> Path:
    return documents(place) / f"{session_id}.{n}.args.json"


def written(path: Path, *parts: str) -> str:
    """The file, once it says all of that."""
    text = until(
        lambda: path.exists() and all(part in path.read_text() for part in parts) and path.read_text(), parts[0]
    )
    assert isinstance(text, str)
    return text
