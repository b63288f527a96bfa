"""What a model or a tool wrote reaches real editors in the documents of a session, and acts on none of them: no
modeline, no file-local variable, not even where the user's settings would obey every one."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.at_a_desk import document, reached, until_there, weather
from support.e2e import Place, calls, says
from support.editors import EMACS, NEOVIM, NEOVIM_CURRENT, VIM, Editor, Kind, Sit

MODELINES = "vim: set textwidth=7 :\n/* vim: set textwidth=7 : */\n vi:textwidth=7\n# ex: textwidth=7\n"
FIRST_LINE = "-*- eval: (setq pwned t) -*-"
LOCAL_VARIABLES = "Local Variables:\npwned: t\neval: (setq pwned t)\nEnd:\n"
HOSTILE = f"{FIRST_LINE}\n{MODELINES}{LOCAL_VARIABLES}{MODELINES}"

OBEY_MODELINES = "set modeline modelines=9999"
OBEY_VARIABLES = "(progn (setq enable-local-variables :all enable-local-eval t) (setq-default pwned nil))"


def acts_on_vim(editor: Editor, path: Path) -> bool:
    editor.order("ex", OBEY_MODELINES)
    editor.order("open", str(path))
    return "textwidth=7" in editor.order("ex", "setlocal textwidth?")


def acts_on_emacs(editor: Editor, path: Path) -> bool:
    editor.order("eval", OBEY_VARIABLES)
    editor.order("open", str(path))
    return editor.order("eval", "(if pwned t :json-false)") is True


OBEDIENT = ((NEOVIM, acts_on_vim), (NEOVIM_CURRENT, acts_on_vim), (VIM, acts_on_vim), (EMACS, acts_on_emacs))


@pytest.fixture
def documents(machine: Place) -> list[Path]:
    """Of a session with hostile text in its title, its input, an answer and the arguments of a call."""
    weather(machine, [{"text": HOSTILE, **calls(("sh", {"command": HOSTILE}))}, says("never")])
    session = machine.rpc("agents/start", agent="weather", prompt=HOSTILE, cwd=str(machine.work))["sessionId"]
    for _ in range(2):
        machine.rpc("agents/step", sessionId=session)
    reached(machine, session, "partialUserTurn")
    with machine.peer() as peer:
        peer.request("workspace/executeCommand", command="abey.open", arguments=[{"sessionId": session}])
    written = [document(machine, session), document(machine, session, 1)]
    return [until_there(path) for path in written]


@pytest.mark.parametrize(("kind", "acts"), OBEDIENT, ids=lambda it: it.name if isinstance(it, Kind) else "")
def test_hostile_text_in_a_document_acts_on_no_editor(
    kind: Kind, acts: Callable[[Editor, Path], bool], machine: Place, sit: Sit, documents: list[Path]
) -> None:
    editor = sit(kind)
    page, arguments = documents
    raw = machine.work / "raw.txt"
    raw.write_text(HOSTILE)
    assert acts(editor, raw), "the editor does not obey what it is to be kept from obeying"
    assert [acts(editor, path) for path in documents] == [False, False]
    assert "Local" in page.read_text()
    assert json.loads(arguments.read_text()) == {"command": HOSTILE}
