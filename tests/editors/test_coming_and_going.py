"""Editors end, crash and are killed, daemons are started anew: no session loses anything, and nobody else notices."""

import pytest
from support.at_a_desk import act, document, go_of, reached, start, until_there, weather
from support.e2e import Place, calls, says, until
from support.editors import EMACS, NEOVIM, NEOVIM_CURRENT, NODE, VIM, Editor, Kind, Sit

REAL = (NEOVIM, NEOVIM_CURRENT, EMACS, VIM)
every_editor = pytest.mark.parametrize("kind", REAL, ids=lambda kind: kind.name)

SLOW = (calls(("slow", {})), says("It took its time."))

BACK = {"neovim": ("edit",), "neovim-current": ("edit",), "vim": ("ALEStopAllLSPs", "edit")}
"""What docs/editors says is typed in the session's buffer when the daemon has ended."""


@every_editor
def test_an_editor_that_is_killed_in_the_middle_of_a_step_loses_nothing(kind: Kind, machine: Place, sit: Sit) -> None:
    weather(machine, SLOW)
    editor = sit(kind)
    session = start(editor, machine)
    act(editor, "Step")
    reached(machine, session, "llmTurn")
    editor.order("begin", "Step")
    until(lambda: machine.ran() == 1, "for the tool")
    pid = machine.daemon_pid()
    editor.kill()
    assert (machine.session(session)["activity"], machine.daemon_pid()) == ("tools", pid)
    go_of(machine).touch()
    reached(machine, session, "userTurn")
    machine.abey("session", "resume", session)
    assert (machine.session(session)["output"], machine.ran()) == ("It took its time.", 1)


@every_editor
def test_an_editor_that_quits_leaves_the_daemon_and_the_others_alone(kind: Kind, machine: Place, sit: Sit) -> None:
    weather(machine)
    other, editor = sit(NODE), sit(kind)
    session = start(editor, machine)
    other.visit(document(machine, session))
    pid = machine.daemon_pid()
    editor.leave()
    act(other, "Step")
    reached(machine, session, "llmTurn")
    assert machine.daemon_pid() == pid


@pytest.mark.parametrize("kind", [NEOVIM, NEOVIM_CURRENT, VIM], ids=lambda kind: kind.name)
def test_an_editor_goes_on_after_the_daemon_was_started_anew(kind: Kind, machine: Place, sit: Sit) -> None:
    weather(machine)
    editor = sit(kind)
    session = stepped(editor, machine)
    before = editor.order("server")
    machine.abey("daemon", "restart")
    editor.until("server", lambda now: now != before)
    for command in BACK[kind.name]:
        editor.order("ex", command)
    editor.until("ready")
    step_on(editor, machine, session)


def test_emacs_connects_again_by_itself_after_the_daemon_was_started_anew(machine: Place, sit: Sit) -> None:
    weather(machine)
    editor = sit(EMACS)
    session = stepped(editor, machine)
    editor.until("lasting")
    before = editor.order("server")
    machine.abey("daemon", "restart")
    editor.until("server", lambda now: now not in (None, before))
    editor.until("ready")
    step_on(editor, machine, session)


@pytest.mark.parametrize("command", ["eglot", "eglot-reconnect"])
def test_emacs_is_told_to_connect_again(command: str, machine: Place, sit: Sit) -> None:
    weather(machine)
    editor = sit(EMACS)
    editor.order("eval", "(setq eglot-autoreconnect nil)")
    session = stepped(editor, machine)
    before = editor.order("server")
    if command == "eglot":
        machine.abey("daemon", "restart")
        editor.until("server", None)
    editor.order("ex", command)
    editor.until("server", lambda now: now not in (None, before))
    editor.until("ready")
    step_on(editor, machine, session)


def stepped(editor: Editor, machine: Place) -> str:
    session = start(editor, machine)
    act(editor, "Step")
    reached(machine, session, "llmTurn")
    return session


def step_on(editor: Editor, machine: Place, session: str) -> None:
    act(editor, "Step")
    reached(machine, session, "partialUserTurn")
    until_there(document(machine, session, 1))
