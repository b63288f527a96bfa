"""An editor without a plugin, from the start of a session to its end (protocol.md, Without a plugin)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, deferred, says, until
from support.e2e_peer import Refusal
from support.plain_editor import (
    EDITS,
    SHOWS,
    PlainEditor,
    arguments,
    document,
    documents,
    plain_editor,
    written,
)

from abey.language.sessions.composer import COMPOSER

EVIL = "vim: set modeline: \n-*- mode: sh -*-\nLocal Variables:\n[x](command:a.b)\n```\n# Session\n" + COMPOSER
ONE = '{\n  "command": "echo one"\n}\n'


def agent(place: Place, *script: Any, **more: Any) -> Path:
    told = script or (calls(("sh", {"command": "echo one"})), says("all done"))
    return place.agent("a", script=list(told), rules=[deferred("sh")], **more)


def begin(editor: PlainEditor, file: Path, **params: Any) -> str:
    """A session, and its document open in the editor."""
    session_id = editor.command("abey.start", {"agentFile": str(file), **params})["sessionId"]
    assert isinstance(session_id, str)
    return session_id


def waiting(place: Place, editor: PlainEditor, **more: Any) -> tuple[str, Path]:
    """A session with a call that waits, and the document of that."""
    session_id = begin(editor, agent(place, **more), prompt="go", run="turn")
    return session_id, arguments(place, session_id, 1)


def test_commands_are_advertised_to_plain_clients_alone(place: Place) -> None:
    ours = [
        "abey.cancel",
        "abey.complete",
        "abey.open",
        "abey.pending",
        "abey.run",
        "abey.send",
        "abey.start",
        "abey.step",
    ]
    with plain_editor(place) as editor:
        offered = editor.greeted["capabilities"]["executeCommandProvider"]["commands"]
        assert [one for one in offered if one in ours] == ours
    with plain_editor(place, experimental={"agents": {"protocolVersions": ["1.0"]}}) as extension:
        assert "executeCommandProvider" not in extension.greeted["capabilities"]


def test_start_step_approve_edited_arguments_and_resume_in_another_client(place: Place) -> None:
    file = agent(place)
    with plain_editor(place, place.work) as editor:
        started = editor.command("abey.start", {"agentFile": str(file), "prompt": "go"})
        session_id = started["sessionId"]
        path, call = document(place, session_id), arguments(place, session_id, 1)
        assert (started["cwd"], editor.hear("window/showMessage")["message"]) == (str(place.work), f"go: {path}")
        editor.visit(path)
        editor.act(path, "Step")
        editor.act(path, "Step")
        written(path, "- call 1 `sh`, approval")
        assert [one["tool"] for one in editor.command("abey.pending", session_id)["items"]] == ["sh"]
        editor.visit(call)
        editor.type(call, '{"command": "echo two"}')
        assert call.read_text() == ONE
        done = editor.act(call, "Approve what is written")
        assert (done["applied"], done["resolution"]["by"]) == (True, "plain")
    with plain_editor(place, place.work) as other:
        assert other.command("abey.run", str(path))["session"]["output"] == "all done"
        written(path, "Run with other arguments:", "echo two", "  two\n", "all done")
    assert (call.exists(), sorted(os.listdir(documents(place)))) == (False, [path.name])


def test_a_command_that_can_do_nothing_says_why_and_what_to_do(place: Place) -> None:
    file = agent(place)
    way_on = "nothing was done: call 1 (sh) waits (approval): run the code action Open arguments of call 1"
    new = "nothing was done: the session waits for a message; write it below the composer line, and run the code action"
    with plain_editor(place, place.work) as editor:
        session_id = begin(editor, file)
        path = document(place, session_id)
        written(path, "- state: completed, no input yet: it waits for the first message\n")
        for command in ("abey.step", "abey.run"):
            assert editor.command(command, session_id)["outcome"] == "completed"
            assert editor.told(new) == f"{new} Send"
        assert editor.command("abey.cancel", session_id)["applied"] is False
        assert editor.told("nothing was cancelled") == "nothing was cancelled: no turn is open"
        editor.command("abey.send", {"sessionId": session_id, "prompt": "go", "run": "turn"})
        for command in ("abey.step", "abey.run"):
            assert editor.command(command, session_id)["outcome"] == "waiting"
            assert editor.told("nothing was done") == way_on


def test_a_session_that_was_started_without_words_is_called_as_its_first_message_says(place: Place) -> None:
    file = agent(place, says("done"), says("again"))
    with plain_editor(place, place.work) as editor:
        session_id = begin(editor, file)
        path = document(place, session_id)
        written(path, "# Session `a`\n")
        for prompt in ("Mend the\nroof", "and the door"):
            editor.command("abey.send", {"sessionId": session_id, "prompt": prompt, "run": "turn"})
            written(path, "# Session `Mend the`\n")
    place.kill_daemon()
    assert [one["title"] for one in place.rpc("agents/sessions")["items"]] == ["Mend the"]


def test_what_is_typed_below_the_composer_line_is_sent_and_taken_away(place: Place) -> None:
    file = agent(place, says("first"), says("second"))
    with plain_editor(place, place.work, **EDITS) as editor:
        session_id = begin(editor, file)
        path = document(place, session_id)
        text = editor.visit(path)
        assert text.endswith(f"{COMPOSER}\n\n")
        path.write_text(f"{text}saved words")
        editor.type(path, f"{text}  more words\nof two lines  \n", version=5)
        sent = editor.act(path, "Send")
        assert sent["session"]["output"] == "first"
        edit = editor.asked("workspace/applyEdit")
        lines = text.count("\n")
        place_of_it = {"start": {"line": lines, "character": 2}, "end": {"line": lines + 1, "character": 12}}
        assert edit["params"]["edit"] == {
            "documentChanges": [
                {
                    "textDocument": {"uri": path.as_uri(), "version": 5},
                    "edits": [{"range": place_of_it, "newText": ""}],
                }
            ]
        }
        editor.reply(edit, {"applied": False})
        assert editor.told("empty the part").startswith("it was sent; empty the part below the composer line")
        assert written(path, "more words\n  of two lines", "first").endswith(f"{COMPOSER}\n\nsaved words")


def test_a_saved_document_is_left_to_its_editor_and_sends_nothing_twice(place: Place) -> None:
    with plain_editor(place, place.work, **EDITS) as editor:
        session_id = begin(editor, agent(place, says("first"), says("second")))
        path = document(place, session_id)
        text = f"{path.read_text()}hello\n"
        path.write_text(text)
        editor.visit(path, text)
        assert editor.act(path, "Send")["session"]["output"] == "first"
        for title in ("Send", "Step"):
            with pytest.raises(Refusal) as refusal:
                editor.act(path, title)
            assert (refusal.value.kind, refusal.value.message) == (
                "state/invalid",
                "what is below the composer line was sent already; read the document again from the disk",
            )
        assert [one["method"] for one in editor.heard if one["method"] == "workspace/applyEdit"] == []
        shown = path.read_text()
        assert shown.endswith(f"{COMPOSER}\n\n")
        editor.type(path, f"{shown}hello\n")
        assert editor.act(path, "Send")["session"]["output"] == "second"


def test_what_was_sent_is_not_sent_again_from_a_document_that_did_not_change_since(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id = begin(editor, agent(place, says("first"), says("second")))
        path = document(place, session_id)
        text = editor.visit(path)
        editor.type(path, f"{text}hello\n")
        assert editor.act(path, "Send")["session"]["output"] == "first"
        with pytest.raises(Refusal) as refusal:
            editor.act(path, "Send")
        assert (refusal.value.kind, "sent already" in refusal.value.message) == ("state/invalid", True)
        editor.type(path, f"{text}hello\n", version=3)
        assert editor.act(path, "Send")["session"]["output"] == "second"


def test_what_is_sent_twice_at_once_is_sent_once(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id = begin(editor, agent(place, says("first"), says("second")))
        path = document(place, session_id)
        path.write_text(f"{path.read_text()}hello\n")
        for kind in ("arguments/invalid", "state/invalid"):
            twice = [editor.start("workspace/executeCommand", command="abey.send", arguments=[session_id])] * 2
            twice[1] = editor.start("workspace/executeCommand", command="abey.send", arguments=[path.as_uri()])
            outputs = [editor.answer(twice[0])["session"]["output"]]
            with pytest.raises(Refusal) as refusal:
                editor.answer(twice[1])
            assert (outputs, refusal.value.kind) == (["first" if kind == "arguments/invalid" else "second"], kind)
            editor.visit(path, f"{path.read_text()}hello\n")
        assert path.read_text().count("### User") == 2


def test_what_one_editor_sent_is_not_sent_again_by_another_that_shows_it(place: Place) -> None:
    with plain_editor(place, place.work) as editor, plain_editor(place, place.work) as other:
        session_id = begin(editor, agent(place, says("first"), says("second"), says("third")))
        path = document(place, session_id)
        path.write_text(f"{path.read_text()}hello\n")
        text = editor.visit(path)
        other.visit(path)
        assert editor.act(path, "Send")["session"]["output"] == "first"
        with pytest.raises(Refusal, match="was sent already; read the document again"):
            other.act(path, "Send")
        editor.type(path, f"{text}go on\n", version=3)
        other.type(path, f"{text}go on\n", version=3)
        assert [one.act(path, "Send")["session"]["output"] for one in (editor, other)] == ["second", "third"]


def test_what_was_sent_is_sent_once_though_the_document_cannot_be_written(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id = begin(editor, agent(place, says("first"), says("second")))
        path = document(place, session_id)
        text = f"{path.read_text()}hello\n"
        path.unlink()
        (path / "inside").mkdir(parents=True)
        editor.visit(path, text)
        assert editor.act(path, "Send")["session"]["output"] == "first"
        said = editor.told("it was sent")
        assert said.endswith(f"sent again: {path}: Is a directory; move away what is in the way, then try again")
        with pytest.raises(Refusal, match="was sent already"):
            editor.act(path, "Send")
        assert os.listdir(path.parent) == [path.name]


def test_what_is_no_text_is_not_sent_and_stays(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id = begin(editor, agent(place, says("first")))
        path = document(place, session_id)
        path.write_bytes(path.read_bytes() + b"one\ncaf\xe9\n")
        with pytest.raises(Refusal) as refusal:
            editor.command("abey.send", session_id)
        assert (refusal.value.kind, refusal.value.message) == (
            "arguments/invalid",
            "what is below the composer line holds what is no text in UTF-8; correct line 2 of it, and try again",
        )
        editor.command("abey.step", {"sessionId": session_id, "prompt": "go"})
        assert path.read_bytes().endswith(b"one\ncaf\xe9\n")


def test_without_edits_the_file_is_emptied_of_what_was_saved_and_sent(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id = begin(editor, agent(place, says("first")))
        path = document(place, session_id)
        path.write_text(f"{path.read_text()}hello\n")
        assert editor.command("abey.send", session_id)["session"]["output"] == "first"
        assert written(path, "hello", "first").endswith(f"{COMPOSER}\n\n")
        with pytest.raises(Refusal) as refusal:
            editor.command("abey.send", path.as_uri())
        assert (refusal.value.kind, refusal.value.message) == (
            "arguments/invalid",
            "there is nothing below the composer line to be sent; write it there, and try again",
        )


def test_step_takes_what_is_typed_only_where_a_turn_begins_and_from_the_document(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id = begin(editor, agent(place, says("first")))
        path = document(place, session_id)
        editor.visit(path, f"{path.read_text()}hello\n")
        assert "output" not in editor.command("abey.step", session_id)["session"]
        assert editor.act(path, "Step")["session"]["output"] == "first"


@pytest.mark.parametrize("kind", ["external", "deny"])
def test_a_call_is_completed_or_denied_from_its_document(place: Place, kind: str) -> None:
    with plain_editor(place, place.work) as editor:
        tool = "ext" if kind == "external" else "sh"
        session_id = begin(editor, agent(place, calls((tool, {"command": "x"}))), prompt="go", run="turn")
        call = arguments(place, session_id, 1)
        editor.visit(call)
        if kind == "deny":
            assert editor.act(call, "Deny")["resolution"]["kind"] == "deny"
            return
        assert list(editor.actions(call)) == ["Complete with this result", "Deny"]
        with pytest.raises(Refusal) as refusal:
            editor.act(call, "Complete with this result")
        assert refusal.value.message.startswith("the document still holds the arguments")
        editor.type(call, '["a", 1]')
        assert editor.act(call, "Complete with this result")["resolution"]["kind"] == "result"
        written(document(place, session_id), '"a",')


def test_a_call_that_changed_since_it_was_shown_is_not_approved_and_then_shown_anew(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id, call = waiting(place, editor)
        editor.visit(call)
        tools = place.tools()
        agent(
            place, tools=[{**one, "argv": ["sh", "-ec", "{command}"]} if one["name"] == "sh" else one for one in tools]
        )
        with pytest.raises(Refusal) as refusal:
            editor.act(call, "Approve what is written")
        assert (refusal.value.kind, place.session(session_id)["pending"][0]["argumentsHash"]) == (
            "arguments/mismatch",
            refusal.value.data["argumentsHash"],
        )
        assert editor.act(call, "Approve what is written")["applied"] is True


@pytest.mark.parametrize(("driven", "resume", "state"), [("turn", False, "userTurn"), ("step", True, "completed")])
def test_a_document_is_approved_with_the_session_going_on_or_not_whatever_drove_it(
    place: Place, driven: str, resume: bool, state: str
) -> None:
    with plain_editor(place, place.work) as editor:
        session_id = begin(editor, agent(place), prompt="go", run=driven)
        if driven == "step":
            editor.command("abey.step", session_id)
        call = arguments(place, session_id, 1)
        said = {"document": str(call), "decision": "approve", "resume": resume}
        with pytest.raises(Refusal) as refusal:
            editor.command("abey.complete", {**said, "resume": "yes"})
        assert refusal.value.kind == "invalid-params"
        assert editor.command("abey.complete", said)["applied"] is True
        assert (place.session(session_id)["state"], place.session(session_id)["pending"]) == (state, [])


def test_what_another_client_answered_is_told_and_its_document_is_gone(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id, call = waiting(place, editor)
        editor.visit(call)
        assert editor.diagnosed(call) == []
        place.rpc("agents/complete", token=place.session(session_id)["pending"][0]["token"], outcome={"kind": "deny"})
        assert "`sh` is denied, decided by test at" in editor.told("is denied")
        assert "nothing here is sent any more" in editor.diagnosed(call)[0]
        assert (call.exists(), editor.actions(call)) == (False, {})
        with pytest.raises(Refusal) as refusal:
            editor.command("abey.complete", {"document": str(call), "decision": "approve"})
        assert refusal.value.kind == "state/invalid"


def test_a_model_that_fails_is_told_and_the_session_goes_on_once_it_is_well(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        file = place.agent("a", script=[])
        session_id = begin(editor, file, prompt="go", run="turn")
        failure = "model/invalid-request: the script has ended: it has 0 entries"
        assert (editor.told("model/"), place.session(session_id)["state"]) == (failure, "userTurn")
        path = document(place, session_id)
        editor.visit(path, f"{path.read_text()}more words\n")
        editor.act(path, "Send")
        assert editor.told("model/") == failure
        with pytest.raises(Refusal) as refusal:
            editor.act(path, "Step")
        assert refusal.value.kind == "model/invalid-request"
        place.agent("a", script=[says("well again")] * 9)
        assert editor.act(path, "Run")["session"]["output"] == "well again"
        assert "more words" in written(path, "well again")


def test_of_two_answers_to_a_call_the_second_is_told_that_it_came_too_late(place: Place) -> None:
    with plain_editor(place, place.work) as editor, plain_editor(place, place.work) as other:
        session_id, call = waiting(place, editor)
        request = {"command": "abey.complete", "arguments": [{"document": str(call), "decision": "approve"}]}
        answers = [(one, one.start("workspace/executeCommand", **request)) for one in (editor, other) for _ in range(2)]
        applied = [one.answer(number)["applied"] for one, number in answers]
        assert (sum(applied), place.session(session_id)["pending"]) == (1, [])
        late = editor if applied[0] or applied[1] else other
        assert late.told("too late").startswith(
            "Approve what is written: sh came too late: it was approved by plain (lsp) at"
        )


def test_a_document_that_is_reached_by_a_link_is_the_same(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id, call = waiting(place, editor)
        link = place.root / "link"
        link.symlink_to(place.state)
        by_link = link / "documents" / call.name
        editor.visit(by_link)
        editor.type(by_link, '{"command": "echo two"}')
        assert editor.act(by_link, "Approve what is written")["applied"] is True
        written(document(place, session_id), "  two\n")


def test_documents_survive_kill_9_and_follow_the_session_afterwards(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id, call = waiting(place, editor)
        path = document(place, session_id)
        path.write_text(f"{path.read_text()}unsent words\n")
        call.write_text('{"command": "echo three"}')
        place.kill_daemon()
    with plain_editor(place, place.work) as editor:
        editor.visit(call)
        assert editor.act(call, "Approve what is written")["applied"] is True
        assert written(path, "echo three", "  three\n").endswith(f"{COMPOSER}\n\nunsent words\n")


def test_an_old_text_that_is_saved_over_a_newer_one_is_brought_up_to_date(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id, _ = waiting(place, editor)
        path = document(place, session_id)
        text = editor.visit(path)
        path.write_text(f"# an old text\n{COMPOSER}\nmy words\n")
        editor.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
        assert written(path, "## Turn 1").removesuffix("my words\n") == text.removesuffix("\n")


def test_a_hostile_session_acts_on_nothing_and_forges_nothing(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        script = calls(("sh", {"command": EVIL}))
        session_id = begin(editor, agent(place, script), prompt=EVIL, title=EVIL, run="turn")
        path, call = document(place, session_id), arguments(place, session_id, 1)
        text = editor.visit(path)
        assert [line for line in text.splitlines() if line == COMPOSER or line.startswith("# ")] == [
            next(line for line in text.splitlines() if line.startswith("# Session ````vim\\: set")),
            COMPOSER,
        ]
        for shown in (text, call.read_text()):
            assert [word for word in ("vim:", "-*-", "Local Variables:", "command:a") if word in shown] == []
        assert json.loads(call.read_text()) == {"command": EVIL}


def test_documents_are_private_and_links_are_not_followed(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id, call = waiting(place, editor)
        path, elsewhere = document(place, session_id), place.work / "elsewhere"
        assert [one.stat().st_mode & 0o777 for one in (path.parent, path, call)] == [0o700, 0o600, 0o600]
        elsewhere.write_text("mine")
        path.unlink()
        path.symlink_to(elsewhere)
        editor.command("abey.open", session_id)
        assert (path.is_symlink(), elsewhere.read_text()) == (False, "mine")


def test_the_documents_of_a_deleted_session_go_with_it(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id, _ = waiting(place, editor)
        editor.visit(document(place, session_id))
        place.rpc("agents/delete", sessionId=session_id, force=True)
        assert editor.told("is no more") == f"session {session_id} is no more: its documents were removed"
        assert os.listdir(documents(place)) == []


def test_nothing_is_written_of_a_session_that_nobody_opened(place: Place) -> None:
    place.rpc("agents/start", agentFile=str(agent(place)), prompt="go", run="turn", cwd=str(place.work))
    assert not documents(place).exists()


def test_an_editor_that_shows_documents_is_shown_them(place: Place) -> None:
    with plain_editor(place, place.work, **SHOWS) as editor:
        session_id = begin(editor, agent(place), prompt="go", run="turn")
        path, call = document(place, session_id), arguments(place, session_id, 1)
        assert editor.asked("window/showDocument")["params"] == {"uri": path.as_uri(), "takeFocus": True}
        opened = editor.command("abey.open", {"sessionId": session_id, "call": 1})
        assert opened == {"path": str(call), "uri": call.as_uri()}
        question = editor.asked("window/showDocument")
        assert question["params"] == {"uri": call.as_uri(), "takeFocus": True}
        editor.refuse(question)
        assert editor.told(call.name) == f"go: {call}"


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("abey.step", []),
        ("abey.run", [1]),
        ("abey.cancel", ["a", "b"]),
        ("abey.open", ["/etc/passwd"]),
        ("abey.send", ["file:///etc/x.abey.md"]),
    ],
)
def test_an_argument_that_names_no_session_is_refused_with_the_way_out(
    place: Place, command: str, given: list[Any]
) -> None:
    with plain_editor(place) as editor, pytest.raises(Refusal) as refusal:
        editor.command(command, *given)
    shown = ", ".join(map(str, given)) or "nothing"
    wanted = 'a session id, the path or uri of its document, or {"sessionId": "…"}'
    assert (refusal.value.code, refusal.value.message) == (
        -32602,
        f"{command} takes one argument: {wanted}; it was given {shown}",
    )


def test_errors_are_ours(place: Place) -> None:
    with plain_editor(place) as editor:
        for command, given, kind in (
            ("abey.step", "nope", "session/unknown"),
            ("abey.start", {"agent": "nope"}, "agent/unknown"),
            ("abey.complete", {"token": "f" * 32, "outcome": {"kind": "deny"}}, "token/unknown"),
        ):
            with pytest.raises(Refusal) as refusal:
                editor.command(command, given)
            assert refusal.value.kind == kind


def test_a_long_step_tells_how_it_goes_and_its_cancel_button_ends_the_turn(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        file = place.agent("a", script=[calls(("slow", {}))], default="runSync")
        session_id = begin(editor, file, prompt="go")
        request = editor.start(
            "workspace/executeCommand", command="abey.run", arguments=[session_id], workDoneToken="t1"
        )
        values = [editor.hear("$/progress")["value"]]
        while "tools" not in values[-1].get("message", ""):
            values.append(editor.hear("$/progress")["value"])
        until(place.ran, "for the tool to run")
        editor.notify("window/workDoneProgress/cancel", {"token": "t1"})
        assert editor.answer(request)["session"]["turn"]["end"] == "cancelled"
        while values[-1]["kind"] != "end":
            values.append(editor.hear("$/progress")["value"])
        assert (values[0], values[1]["message"]) == (
            {"kind": "begin", "title": "Run: go", "cancellable": True},
            "model; cancel ends the turn",
        )


def test_a_command_that_takes_long_is_answered_soon_and_its_end_is_told(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        file = place.agent("a", script=[calls(("slow", {})), says("x")], default="runSync")
        session_id = begin(editor, file, prompt="go")
        answer = editor.command("abey.run", session_id)
        assert (answer["outcome"], answer["session"]["activity"]) == ("started", "tools")
        assert editor.command("abey.cancel", session_id)["applied"] is True
        assert editor.told("Run: go").startswith("Run: go has ended")


def test_a_call_that_may_have_run_is_answered_from_its_document(place: Place) -> None:
    file = place.agent("a", script=[calls(("slow", {})), says("done")], default="runSync")
    with plain_editor(place, place.work) as editor:
        session_id = begin(editor, file, prompt="go")
        editor.start("workspace/executeCommand", command="abey.run", arguments=[session_id])
        until(place.ran, "for the tool to run")
        place.kill_daemon()
    with plain_editor(place, place.work) as editor:
        editor.command("abey.open", session_id)
        call = arguments(place, session_id, 1)
        editor.visit(call)
        assert list(editor.actions(call)) == ["It ran, result is what is written", "Run again", "Failed"]
        editor.type(call, '"it did"')
        answer = editor.act(call, "It ran, result is what is written")
        assert (answer["resolution"]["kind"], answer["turnComplete"]) == ("result", True)
        written(document(place, session_id), "  it did\n")


def test_a_session_is_started_with_the_agent_that_is_open_and_else_with_the_default(place: Place) -> None:
    place.agent("default", script=[says("by default")]).rename(place.agents / "default.json")
    place.agent("own", script=[says("by hand")]).rename(place.agents / "own.json")
    with plain_editor(place, place.agents, place.work) as editor:
        assert editor.command("abey.start")["agent"] == "default"
        editor.visit(place.agents / "own.json")
        started = editor.command("abey.start", {"prompt": "go", "run": "turn"})
        assert (started["agent"], started["output"], started["cwd"]) == ("own", "by hand", str(place.work))
        assert editor.command("abey.start", "default")["agent"] == "default"
        assert editor.command("abey.start", (place.agents / "own.json").as_uri())["agent"] == "own"


def test_what_waits_is_told_in_a_message_for_editors_that_show_no_results(place: Place) -> None:
    with plain_editor(place, place.work) as editor:
        session_id, _ = waiting(place, editor)
        editor.command("abey.pending")
        shown = f'session {session_id}: sh waits (approval): sh {{"command": "echo one"}} in {place.work}'
        assert editor.told("(approval)") == f"{shown}\nabey.open with the id of a session shows what waits in it"
        place.rpc("agents/complete", token=place.session(session_id)["pending"][0]["token"], outcome={"kind": "deny"})
        editor.command("abey.pending", {})
        assert editor.told("no call") == "no call waits for anybody"


def test_progress_is_created_where_the_editor_can_show_it(place: Place) -> None:
    with plain_editor(place, place.work, window={"workDoneProgress": True}) as editor:
        file = place.agent("a", script=[calls(("slow", {}))], default="runSync")
        session_id = begin(editor, file, prompt="go")
        request = editor.start("workspace/executeCommand", command="abey.run", arguments=[session_id])
        create = editor.asked("window/workDoneProgress/create")
        editor.reply(create, None)
        begun = editor.hear("$/progress")
        assert (begun["token"], begun["value"]["title"]) == (create["params"]["token"], "Run: go")
        editor.notify("window/workDoneProgress/cancel", {"token": begun["token"]})
        assert editor.answer(request)["session"]["turn"]["end"] == "cancelled"
