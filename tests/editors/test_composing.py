"""What is written below the composer line is sent from the document, and the document then shows what came of it."""

import pytest
from support.at_a_desk import PROMPT, act, document, ids, reached, until_there, weather
from support.e2e import Place, until
from support.editors import EMACS, NEOVIM, NEOVIM_CURRENT, NODE, PYTEST_LSP, VIM, Editor, Kind, Sit

from abey.language.sessions.composer import COMPOSER, composer_of

REAL = (NEOVIM, NEOVIM_CURRENT, EMACS, VIM)


def begun(editor: Editor, machine: Place) -> str:
    """A session without any input, in whose document the user is."""
    editor.visit(machine.agents / "weather.json")
    editor.order("command", "abey.start", [{"agent": "weather", "cwd": str(machine.work)}])
    [session] = until(lambda: ids(machine), "for a session")
    editor.visit(until_there(document(machine, session)))
    return str(session)


def written(editor: Editor, machine: Place, save: bool) -> str:
    """A session in whose document the user has written a message and sent it; the file shows what came of it."""
    session = begun(editor, machine)
    text = editor.order("text")
    assert text.count(COMPOSER) == 1
    editor.order("replace", text.rstrip("\n") + f"\n{PROMPT}\n")
    if save:
        editor.order("save")
    act(editor, "Send")
    reached(machine, session, "partialUserTurn")
    until_there(document(machine, session, 1))
    until(lambda: shows_the_turn(document(machine, session).read_text()), "for the document")
    return session


def shows_the_turn(text: str) -> bool:
    """The call, and nothing below the composer line."""
    composer = composer_of(text)
    return "echo 20" in text and composer is not None and composer.message == ""


def said(machine: Place, session: str) -> list[str]:
    items = machine.rpc("agents/transcript", sessionId=session)["items"]
    return [part["text"] for one in items if one["kind"] == "input" for part in one["parts"]]


@pytest.mark.parametrize("kind", (*REAL, NODE, PYTEST_LSP), ids=lambda kind: kind.name)
def test_a_message_that_was_saved_is_sent_and_the_buffer_follows(kind: Kind, machine: Place, sit: Sit) -> None:
    weather(machine)
    editor = sit(kind)
    session = written(editor, machine, save=True)

    def followed() -> bool:
        editor.order("refresh")
        return shows_the_turn(editor.order("text"))

    until(followed, f"for the buffer of {kind.name}")
    assert said(machine, session) == [PROMPT]


@pytest.mark.parametrize("kind", REAL, ids=lambda kind: kind.name)
def test_a_message_that_was_not_saved_is_sent_and_the_document_is_read_again(
    kind: Kind, machine: Place, sit: Sit
) -> None:
    weather(machine)
    editor = sit(kind)
    session = written(editor, machine, save=False)
    editor.order("reread")
    assert shows_the_turn(editor.order("text"))
    assert said(machine, session) == [PROMPT]
