"""Agent files in an editor at a real daemon: each feature as a plain LSP client asks for it (agent-file.md, In an
editor)."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, deferred
from support.e2e_peer import PATIENCE, Refusal
from support.plain_editor import PlainEditor, document, plain_editor

from abey.shared.starting import connect

CANARY = "sk-canary-31c7"
DIAGNOSTICS = {"textDocument": {"publishDiagnostics": {"tagSupport": {"valueSet": [1, 2]}}}}
TEXT = """{
  "slug": "release", // \U0001f600
  "model": {"provider": "openai", "name": "x", "apiKey": {"env": "WORK_KEY"}},
  "toolCallPolicy": {"rules": [{"tool": "*", "disposition": "deny"}, {"tool": "ask", "disposition": "defer"}]},
  "tools": [{"kind": "external", "name": "ask"}]
}
"""


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def ask(editor: PlainEditor, method: str, path: Path, **params: Any) -> Any:
    return editor.request(f"textDocument/{method}", textDocument={"uri": path.as_uri()}, **params)


def at(text: str, word: str) -> dict[str, int]:
    """The position one character into the first place of a word."""
    before = text[: text.index(word) + 1]
    line = before.rpartition("\n")[2]
    return {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}


def found(editor: PlainEditor, path: Path) -> list[tuple[str, int, int]]:
    """(code, line, severity) of the next diagnostics of a document."""
    while (heard := editor.hear("textDocument/publishDiagnostics"))["uri"] != path.as_uri():
        pass
    return [(one["code"], one["range"]["start"]["line"], one["severity"]) for one in heard["diagnostics"]]


def titles(editor: PlainEditor, path: Path, place: dict[str, int]) -> dict[str, Any]:
    actions = ask(editor, "codeAction", path, range={"start": place, "end": place}, context={"diagnostics": []})
    return {one["title"]: one for one in actions}


def test_findings_are_told_as_the_text_changes(place: Place) -> None:
    path = written(place.agents / "release.json", TEXT)
    with plain_editor(place, env={"WORK_KEY": CANARY}, **DIAGNOSTICS) as editor:
        editor.visit(path)
        assert found(editor, path) == [("shadowed-rule", 3, 2)]
        editor.type(path, TEXT.replace('"tools"', '"toolz"'))
        assert found(editor, path) == [("unknown-field", 4, 1)]
        editor.type(path, TEXT[:60], version=3)
        assert found(editor, path) == [("syntax", 2, 1)]
        editor.type(path, TEXT.replace("WORK_KEY", "OTHER_KEY"), version=4)
        assert found(editor, path) == [("missing-key", 2, 2), ("shadowed-rule", 3, 2)]


def test_fields_tools_and_variables_are_completed(place: Place) -> None:
    path = written(place.agents / "release.json", TEXT)
    with plain_editor(place, env={"WORK_KEY": CANARY, "PATH": "/bin"}) as editor:
        editor.visit(path)
        offered = {
            word: [one["label"] for one in ask(editor, "completion", path, position=at(TEXT, word))]
            for word in ('"*"', '"WORK_KEY"', '"external"', '"deny"')
        }
    assert offered == {
        '"*"': ["ask", "*"],
        '"WORK_KEY"': ["WORK_KEY", "PATH"],
        '"external"': ["command", "executables", "mcp", "http", "workspace", "agent", "external"],
        '"deny"': ["runSync", "runAsync", "defer", "runIsolated", "deny"],
    }


def test_a_rule_is_explained(place: Place) -> None:
    path = written(place.agents / "release.json", TEXT)
    with plain_editor(place) as editor:
        editor.visit(path)
        hover = ask(editor, "hover", path, position=at(TEXT, '"ask"'))
    assert hover["contents"]["value"].endswith(
        "Rule 2 of 2, for `ask`\n\n- `ask`: rule 1 decides instead, `deny`. Refused at once, and the model is told so."
    )


def test_what_is_offered_can_be_done(place: Place) -> None:
    text = TEXT.replace('{"env": "WORK_KEY"}', f'"{CANARY}"')
    path = written(place.agents / "release.json", text)
    with plain_editor(place) as editor:
        editor.visit(path)
        offered = titles(editor, path, at(text, CANARY))
        (edit,) = offered["Read the key from the variable OPENAI_API_KEY, and take it out of the file"]["edit"][
            "changes"
        ][path.as_uri()]
        assert edit["newText"] == '{"env": "OPENAI_API_KEY"}'
        assert CANARY not in json.dumps(offered)
        assert list(titles(editor, path, at(text, '"external"'))) == ["Deny `ask`", "Start session"]
    kept = [one for one in place.state.rglob("*") if one.is_file() and CANARY.encode() in one.read_bytes()]
    assert kept == []


def test_nothing_that_is_asked_of_a_file_starts_a_tool(place: Place) -> None:
    ran = place.root / "ran"
    program = written(place.agents / "tools" / "program", f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    tools = [
        {"kind": "command", "name": "own", "argv": [str(program)]},
        {"kind": "executables", "directory": "tools/"},
        {"kind": "mcp", "name": "fs", "command": [str(program)]},
    ]
    rules = [{"tool": "mcp_fs_read", "disposition": "defer"}]
    model = {"provider": "scripted", "script": []}
    text = json.dumps({"slug": "a", "model": model, "tools": tools, "toolCallPolicy": {"rules": rules}})
    path = written(place.agents / "a.json", text)
    with plain_editor(place) as editor:
        editor.visit(path)
        assert ("not-checked", 0, 3) in found(editor, path)
        place_of_rule = at(text, '"mcp_fs_read"')
        for method in ("completion", "hover"):
            ask(editor, method, path, position=place_of_rule)
        titles(editor, path, place_of_rule)
        for method in ("codeLens", "documentSymbol"):
            ask(editor, method, path)
    place.rpc("agents/validate", uri=path.as_uri())
    place.rpc("agents/validate", text=text)
    place.rpc("agents/list")
    place.rpc("agents/explain", agentFile=str(path), tool="own", arguments={})
    place.abey("agents", "check", str(path))
    assert not ran.exists()


def test_the_outline_is_told(place: Place) -> None:
    path = written(place.agents / "release.json", TEXT)
    tree = {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}
    with plain_editor(place, textDocument=tree) as editor:
        editor.visit(path)
        (agent,) = ask(editor, "documentSymbol", path)
    assert (agent["name"], [one["name"] for one in agent["children"]]) == (
        "release",
        ["model", "toolCallPolicy", "tools"],
    )


def lens(editor: PlainEditor, path: Path) -> str:
    (one,) = ask(editor, "codeLens", path)
    assert one["command"]["arguments"] == [{"agentFile": str(path)}]
    return str(one["command"]["title"])


def test_the_lens_starts_a_session_and_counts_what_waits(place: Place) -> None:
    config = place.config("a", script=[calls(("sh", {"command": "echo one"}))], rules=[deferred("sh")])
    path = written(place.agents / "a.json", json.dumps(config))
    refreshed = {"workspace": {"codeLens": {"refreshSupport": True}}}
    with plain_editor(place, place.work, **refreshed) as editor:
        editor.visit(path)
        assert lens(editor, path) == "Start session · 0 pending"
        (one,) = ask(editor, "codeLens", path)
        command = one["command"]
        session_id = editor.command(command["command"], {**command["arguments"][0], "prompt": "go"})["sessionId"]
        assert document(place, session_id).exists()
        place.abey("session", "resume", session_id, code=3)
        editor.asked("workspace/codeLens/refresh")
        assert lens(editor, path) == "Start session · 1 pending"
    place.kill_daemon()
    with plain_editor(place) as editor:
        editor.visit(path)
        assert lens(editor, path) == "Start session · 1 pending"


def test_of_a_home_folder_nobody_is_told_to_trust_it(place: Place) -> None:
    path = written(place.home / ".abey" / "agents" / "release.json", TEXT)
    with plain_editor(place) as editor:
        editor.visit(path)
        params = editor.hear("textDocument/publishDiagnostics")
        assert [one["message"] for one in params["diagnostics"]] == [
            f"{place.home} cannot be trusted, and its agent files are not read: move this one to"
            f" {place.agents}, or into the .abey of a folder below"
        ]
        assert titles(editor, path, {"line": 0, "character": 0}) == {}


def test_a_workspace_is_read_once_it_is_trusted(place: Place) -> None:
    path = written(place.work / ".abey" / "agents" / "release.json", TEXT.replace('"tools"', '"toolz"'))
    with plain_editor(place) as editor:
        text = editor.visit(path)
        assert found(editor, path) == [("untrusted", 0, 3)]
        assert ask(editor, "completion", path, position=at(text, '"deny"')) in (None, [])
        assert ask(editor, "hover", path, position=at(text, '"deny"')) is None
        trust = titles(editor, path, {"line": 0, "character": 0})
        assert list(trust) == ["Trust this folder"]
        command = trust["Trust this folder"]["command"]
        editor.command(command["command"], *command["arguments"])
        assert found(editor, path) == [("unknown-field", 4, 1)]


NO_FOLDERS: list[list[Any]] = [[], [{}], ["/"], [{"dir": "work"}], [{"dir": "/work", "action": "list"}]]


@pytest.mark.parametrize(("arguments", "code"), [*((one, -32602) for one in NO_FOLDERS), ([{"dir": "/"}], -31014)])
def test_what_cannot_be_trusted_is_told(place: Place, arguments: list[Any], code: int) -> None:
    with plain_editor(place) as editor:
        with pytest.raises(Refusal) as refused:
            editor.command("abey.trust", *arguments)
        assert (refused.value.code, editor.request("agents/trust", action="list")["items"]) == (code, [])


def test_the_home_folder_is_no_workspace_that_could_be_trusted(place: Place) -> None:
    path = written(place.home / ".abey" / "agents" / "release.json", TEXT)
    with plain_editor(place) as editor:
        editor.visit(path)
        assert found(editor, path) == [("untrusted", 0, 3)]


def test_a_client_may_trust_its_folders_for_itself(place: Place) -> None:
    path = written(place.work / ".abey" / "agents" / "release.json", TEXT)
    told = []
    for trusted in (True, False):
        editor = PlainEditor(connect(place.state, place.env, start=True, timeout=PATIENCE))
        with editor:
            folders = [{"uri": place.work.as_uri(), "name": "work"}]
            options = {"workspaceTrusted": trusted, "env": {"WORK_KEY": CANARY}}
            editor.request("initialize", workspaceFolders=folders, capabilities={}, initializationOptions=options)
            editor.visit(path)
            told.append(found(editor, path))
    assert told == [[("shadowed-rule", 3, 2)], [("untrusted", 0, 3)]]
