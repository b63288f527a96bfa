"""The same session in every editor that knows nothing of us, with what each does by default: an agent's file is
checked, a session started and stepped, a call approved with edited arguments in its document, and finished from
somewhere else."""

import json

import pytest
from support.at_a_desk import PROMPT, act, at, clients, document, events, reached, start, until_there, weather
from support.e2e import Place
from support.editors import EMACS, NEOVIM, NEOVIM_CURRENT, NODE, PYTEST_LSP, VIM, Editor, Kind, Sit

EDITORS = (NEOVIM, NEOVIM_CURRENT, EMACS, VIM, NODE, PYTEST_LSP)
every_editor = pytest.mark.parametrize("kind", EDITORS, ids=lambda kind: kind.name)


@every_editor
def test_an_agent_file_is_checked_completed_and_explained(kind: Kind, machine: Place, sit: Sit) -> None:
    path = weather(machine)
    right = path.read_text()
    path.write_text(right.replace('"systemPrompt"', '"systemPromt"'))
    editor = sit(kind)
    editor.visit(path)
    [[line, message]] = editor.until("diagnostics", bool)
    assert (line, "systemPrompt" in message) == (at(path.read_text(), '"systemPromt"')[0], True)
    editor.order("replace", right)
    editor.order("save")
    editor.until("diagnostics", [])
    line, column = at(right, '"defer"')
    editor.order("complete", line, column + 1)
    menu = editor.until("menu", bool)
    editor.order("escape")
    assert {one.strip('"') for one in menu} >= {"defer"}
    editor.order("hover", *at(right, '"defer"'))
    assert "sh" in editor.until("hovered", bool)


def approve_in(editor: Editor, machine: Place) -> str:
    """A session that was started and stepped in the editor, and whose call was approved there with other arguments."""
    session = start(editor, machine)
    assert PROMPT in editor.order("text")
    act(editor, "Step")
    reached(machine, session, "llmTurn")
    act(editor, "Step")
    reached(machine, session, "partialUserTurn")
    editor.visit(until_there(document(machine, session, 1)))
    assert json.loads(editor.order("text")) == {"command": "echo 20"}
    editor.order("replace", '{"command": "echo 21"}\n')
    act(editor, "Approve what is written")
    reached(machine, session, "userTurn")
    return session


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """What is recorded of the same session from the command line."""
    machine = Place(tmp_path_factory.mktemp("expected") / "machine")
    try:
        weather(machine)
        machine.abey("session", "start", "--agent", "weather", "-p", PROMPT)
        session = machine.json("session", "list")["items"][0]["sessionId"]
        machine.abey("session", "step", session)
        machine.abey("session", "step", session)
        [call] = machine.session(session)["pending"]
        (machine.work / "arguments").write_text('{"command": "echo 21"}')
        machine.abey("session", "approve", call["token"], "--arguments", "arguments")
        machine.abey("session", "resume", session)
        return events(machine, session)
    finally:
        machine.close()


@every_editor
def test_a_session_goes_from_an_editor_to_a_shell(
    kind: Kind, quiet_machine: Place, sit: Sit, expected: list[object]
) -> None:
    machine = quiet_machine  # the editor starts the daemon
    weather(machine)
    session = approve_in(sit(kind), machine)
    machine.abey("session", "resume", session)
    assert machine.session(session)["output"] == "It is 21 degrees."
    assert events(machine, session) == expected
    assert [(one["name"], one["kind"]) for one in clients(machine, session)] == [(kind.called, "lsp")]
