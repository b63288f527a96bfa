"""What docs/editors says is typed: each editor's own words for starting a session, opening it and seeing what waits."""

from collections.abc import Mapping

import pytest
from support.at_a_desk import PROMPT, document, ids, until_there, weather
from support.e2e import Place, until
from support.editors import EMACS, NEOVIM, NEOVIM_CURRENT, VIM, Editor, Kind, Sit

REAL = (NEOVIM, NEOVIM_CURRENT, EMACS, VIM)
every_editor = pytest.mark.parametrize("kind", REAL, ids=lambda kind: kind.name)

WORKS_IN: Mapping[str, str] = {"emacs": "home"}
"""Where a session works of which nothing else was said, if not in the folder that the editor was started in."""


def typed(editor: Editor, *words: str) -> None:
    """`:Abey start`, or what Emacs has for it."""
    if editor.kind is EMACS:
        quoted = " ".join(f'"{word}"' for word in words)
        editor.order("eval", f"(progn (abey {quoted}) t)")
    else:
        editor.order("ex", " ".join(("Abey", *words)))


@every_editor
def test_a_session_is_started_opened_and_looked_for_as_the_guide_says(kind: Kind, machine: Place, sit: Sit) -> None:
    editor = sit(kind)
    editor.visit(weather(machine))

    typed(editor, "pending")
    editor.until("seen", lambda seen: "no call waits for anybody" in seen)

    typed(editor, "start")
    [session] = until(lambda: ids(machine), "for a session")
    path = until_there(document(machine, session))
    editor.until("seen", lambda seen: str(path) in seen)
    cwd = machine.root / WORKS_IN.get(kind.name, "work")
    assert [machine.session(session)[member] for member in ("agent", "cwd")] == ["weather", str(cwd)]

    machine.rpc("agents/step", sessionId=session, prompt=PROMPT)
    machine.rpc("agents/step", sessionId=session)
    editor.visit(path)
    typed(editor, "pending", session)
    editor.until("seen", lambda seen: "sh waits (approval)" in seen)

    other = machine.rpc("agents/start", agent="weather", prompt=PROMPT, cwd=str(machine.work))["sessionId"]
    typed(editor, "open", other)
    editor.until("seen", lambda seen: str(document(machine, other)) in seen)
