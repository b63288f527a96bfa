"""What takes long: its command is answered all the same, progress is shown by editors that do, and its end is told."""

from typing import Any

import pytest
from support.at_a_desk import go_of, reached, start, weather
from support.e2e import Place, calls, says, until
from support.editors import EMACS, NEOVIM, NEOVIM_CURRENT, NODE, PYTEST_LSP, Editor, Kind, Sit

SCRIPT = (calls(("slow", {})), says("It took its time."))
SHOWS = (NEOVIM, NEOVIM_CURRENT, NODE, PYTEST_LSP)


def run(editor: Editor, machine: Place) -> str:
    """A session that runs, and whose tool does not end before it is told to."""
    weather(machine, SCRIPT)
    session = start(editor, machine)
    editor.order("begin", "Run")
    until(lambda: machine.ran() == 1, "for the tool")
    return session


def complaints(editor: Editor) -> list[str]:
    return [one for one in editor.order("messages") if "rror" in one or "E5108" in one]


@pytest.mark.parametrize("kind", SHOWS, ids=lambda kind: kind.name)
def test_progress_is_shown_by_default(kind: Kind, machine: Place, sit: Sit) -> None:
    editor = sit(kind)
    session = run(editor, machine)
    editor.until("progress", lambda shown: "How warm is it?" in str(shown))
    go_of(machine).touch()
    reached(machine, session, "completed")
    editor.until("progress", ended)
    assert complaints(editor) == []


def ended(shown: Any) -> bool:
    return bool(shown) and "end" in shown[-1]


def test_emacs_which_waits_for_a_command_is_answered_and_told_of_the_end(machine: Place, sit: Sit) -> None:
    editor = sit(EMACS)
    session = run(editor, machine)
    assert editor.order("path").endswith(f"{session}.abey.md")  # it takes orders again, before the tool has ended
    assert machine.session(session)["activity"] == "tools"
    go_of(machine).touch()
    reached(machine, session, "completed")
    editor.until("messages", lambda said: any("Run" in one and "has ended" in one for one in said))
    assert complaints(editor) == []
