"""A new pending call asks in the editor of its folder, where that was asked for (protocol.md, Without a plugin)."""

from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, deferred, says, until
from support.plain_editor import PlainEditor, arguments, document, plain_editor

ACTIONS = [{"title": "Later"}, {"title": "Review"}, {"title": "Deny"}]


def begin(place: Place, cwd: Path | None = None, *tools: str) -> str:
    """A session whose calls wait; nobody opened it."""
    asked = [(tool, {"command": "a\u202eb\n" + "x" * 300}) for tool in tools or ("sh",)]
    agent = place.agent("a", script=[calls(*asked), says("done")], rules=[deferred("sh")])
    session = place.rpc("agents/start", agentFile=str(agent), prompt="go", run="turn", cwd=str(cwd or place.work))
    return str(session["sessionId"])


def pending(place: Place, session_id: str) -> list[Any]:
    return list(place.session(session_id)["pending"])


def unasked(editor: PlainEditor) -> bool:
    editor.sync()
    return [one for one in editor.heard if one["method"] == "window/showMessageRequest"] == []


def test_the_client_with_the_closest_folder_is_asked_and_nobody_else(place: Place) -> None:
    inner = place.work / "inner"
    inner.mkdir()
    with (
        plain_editor(place, place.work, ask=True) as outer,
        plain_editor(place, place.home, inner, ask=True) as closest,
        plain_editor(place, inner) as silent,
        plain_editor(place, inner, ask=True, experimental={"agents": {"protocolVersions": ["1.0"]}}) as extension,
    ):
        begin(place, inner)
        question = closest.asked("window/showMessageRequest")["params"]
        assert [unasked(one) for one in (outer, silent, extension)] == [True, True, True]
    assert (question["type"], question["actions"], list(question)) == (3, ACTIONS, ["type", "message", "actions"])
    shown = 'sh {"command": "a\\u202eb\\n' + "x" * 58 + "…"
    assert question["message"] == f"sh waits (approval): {shown} in {inner}"


def test_deny_denies_and_review_opens_the_document_and_nothing_approves(place: Place) -> None:
    with plain_editor(place, place.work, ask=True) as editor:
        denied = begin(place)
        editor.reply(editor.asked("window/showMessageRequest"), {"title": "Deny"})
        until(lambda: pending(place, denied) == [], "for the call to be denied")
        reviewed = begin(place)
        editor.reply(editor.asked("window/showMessageRequest"), {"title": "Review"})
        assert editor.told("args.json") == f"go: {arguments(place, reviewed, 1)}"
        assert (document(place, reviewed).exists(), len(pending(place, reviewed))) == (True, 1)


@pytest.mark.parametrize(
    "answer", [None, {"title": "Approve"}, {"title": 1}, [], "Deny", {}, {"title": "Later"}, "error"]
)
def test_whatever_is_no_answer_means_later(place: Place, answer: Any) -> None:
    with plain_editor(place, place.work, ask=True) as editor:
        session_id = begin(place)
        question = editor.asked("window/showMessageRequest")
        editor.refuse(question) if answer == "error" else editor.reply(question, answer)
        assert unasked(editor)
        assert [one["kind"] for one in pending(place, session_id)] == ["approval"]


def test_a_question_is_asked_once_also_of_who_comes_back(place: Place) -> None:
    with plain_editor(place, place.work, ask=True) as editor:
        session_id = begin(place, None, "sh", "ext")
        editor.asked("window/showMessageRequest")
        editor.asked("window/showMessageRequest")
    with plain_editor(place, place.work, ask=True) as again:
        place.rpc("agents/complete", token=pending(place, session_id)[1]["token"], outcome={"kind": "deny"})
        assert unasked(again)
        assert len(pending(place, session_id)) == 1


def test_of_many_calls_few_are_asked_about_at_once(place: Place) -> None:
    def asked() -> list[Any]:
        editor.sync()
        return [one for one in editor.heard if one["method"] == "window/showMessageRequest"]

    with plain_editor(place, place.work, ask=True) as editor:
        session_id = begin(place, None, *["sh"] * 7)
        assert len(asked()) == 5
        editor.reply(editor.asked("window/showMessageRequest"), {"title": "Deny"})
        until(lambda: len(pending(place, session_id)) == 6, "for the call to be denied")
        assert len(asked()) == 5
        place.rpc("agents/cancel", sessionId=session_id)
        for _ in range(5):
            editor.hear("$/cancelRequest")
        assert len(asked()) == 5


def test_what_is_answered_elsewhere_is_withdrawn(place: Place) -> None:
    with plain_editor(place, place.work, ask=True) as editor:
        session_id = begin(place)
        question = editor.asked("window/showMessageRequest")
        place.rpc("agents/complete", token=pending(place, session_id)[0]["token"], outcome={"kind": "deny"})
        assert editor.hear("$/cancelRequest") == {"id": question["id"]}
        editor.reply(question, {"title": "Review"})
        assert unasked(editor)
        assert not document(place, session_id).exists()
