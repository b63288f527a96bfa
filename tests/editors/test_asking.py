"""A call that begins to wait asks in the editor whose folder it is in, where its user wants that: approving is not
among the answers, and whatever is no answer leaves the call waiting."""

import subprocess
from typing import Any

import pytest
from support.at_a_desk import document, reached, weather
from support.e2e import Place
from support.editors import EMACS, NEOVIM, NEOVIM_CURRENT, NODE, PYTEST_LSP, Editor, Kind, Sit

ASKED = (NEOVIM, NEOVIM_CURRENT, EMACS, NODE, PYTEST_LSP)
every_editor = pytest.mark.parametrize("kind", ASKED, ids=lambda kind: kind.name)


@pytest.fixture
def workspace(machine: Place) -> str:
    """The file of an agent of the folder in which its user works, under version control."""
    subprocess.run(["git", "init", "-q"], cwd=machine.work, check=True)
    return str(weather(machine, folder=machine.work / ".abey" / "agents"))


def ask(editor: Editor, machine: Place, agent: str, answer: str | None) -> tuple[str, Any]:
    """A session whose call waits, and what the editor was asked; the user answers like this."""
    editor.order("choose", answer)
    session = machine.rpc("agents/start", agentFile=agent, prompt="How warm is it?", cwd=str(machine.work))["sessionId"]
    for _ in range(2):
        machine.rpc("agents/step", sessionId=session)
    return session, editor.until("asked", bool)


@every_editor
def test_a_call_asks_once_and_its_answer_is_done(kind: Kind, machine: Place, sit: Sit, workspace: str) -> None:
    editor = sit(kind, ask=True)
    editor.order("open", workspace)
    editor.until("ready")

    denied, asked = ask(editor, machine, workspace, "Deny")
    assert [one["choices"] for one in asked] == [["Later", "Review", "Deny"]]
    assert all(word in asked[0]["prompt"] for word in ("sh", "echo 20", str(machine.work)))
    reached(machine, denied, "userTurn")
    [call] = [one["call"] for one in machine.rpc("agents/transcript", sessionId=denied)["items"] if "call" in one]
    assert call["state"] == "denied"

    reviewed, asked = ask(editor, machine, workspace, "Review")
    path = str(document(machine, reviewed, 1))
    editor.until("seen", lambda seen: path in seen)

    later, asked = ask(editor, machine, workspace, "Later")
    closed, asked_again = ask(editor, machine, workspace, None)
    assert [len(asked), len(asked_again)] == [1, 1]
    waiting = [one["sessionId"] for one in machine.rpc("agents/pending")["items"]]
    assert sorted(waiting) == sorted([reviewed, later, closed])


@every_editor
def test_nobody_is_asked_who_did_not_want_to_be(kind: Kind, machine: Place, sit: Sit, workspace: str) -> None:
    editor, other = sit(kind), sit(NODE, ask=True)
    for one in (editor, other):
        one.order("open", workspace)
        one.until("ready")
    ask(other, machine, workspace, "Later")
    assert editor.order("asked") == []
