"""What docs/editors says is typed: each editor's own words for starting a session, opening it and seeing what waits."""

from collections.abc import Mapping

import pytest
from support.at_a_desk import PROMPT, document, ids, reached, until_there, weather
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
    another = machine.agents / "another.json"
    file = weather(machine)
    another.write_text(file.read_text().replace('"weather"', '"another"'))
    editor = sit(kind)
    editor.visit(another)
    editor.visit(file)

    typed(editor, "pending")
    editor.until("seen", lambda seen: "no call waits for anybody" in seen)

    typed(editor, "start")
    [session] = until(lambda: ids(machine), "for a session")
    path = until_there(document(machine, session))
    editor.until("path", str(path))
    cwd = machine.root / WORKS_IN.get(kind.name, "work")
    assert [machine.session(session)[member] for member in ("agent", "cwd")] == ["weather", str(cwd)]

    machine.rpc("agents/step", sessionId=session, prompt=PROMPT)
    machine.rpc("agents/step", sessionId=session)
    editor.visit(path)
    typed(editor, "pending", session)
    editor.until("seen", lambda seen: "sh waits (approval)" in seen)

    other = machine.rpc("agents/start", agent="weather", prompt=PROMPT, cwd=str(machine.work))["sessionId"]
    typed(editor, "open", other)
    editor.until("path", str(document(machine, other)))


@every_editor
def test_what_is_typed_without_a_session_is_about_the_document_at_hand(kind: Kind, machine: Place, sit: Sit) -> None:
    editor = sit(kind)
    editor.visit(weather(machine))
    here, _ = (machine.rpc("agents/start", agent="weather", prompt=PROMPT, cwd=str(machine.work)) for _ in range(2))
    typed(editor, "open", here["sessionId"])
    editor.until("path", str(document(machine, here["sessionId"])))
    editor.until("ready")  # a document is there a moment before its server is

    typed(editor, "step")
    reached(machine, here["sessionId"], "llmTurn")
