"""Files of a workspace, from the model's call to what is on the disk: shown, approved, changed by others, killed."""

import base64
import json
from typing import Any

import pytest
from support.e2e import Place, Value, calls, deferred, says
from support.e2e_peer import Refusal

ALL = ["read_file", "list_files", "search", "write_file", "edit_file"]
EDIT = ("edit_file", {"path": "f", "old_text": "two", "new_text": "TWO"})
DIFF = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
MOVED = "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n zero\n one\n-two\n+TWO\n three\n"


def begun(place: Place, *script: Value, rules: Any = (), default: str | None = None) -> Any:
    """A session that has run until it yields; without a `default` what writes waits for an approval."""
    config = place.config("w", script=script, rules=rules)
    config["tools"] = [{"kind": "workspace", "allow": ALL}]
    config["toolCallPolicy"] = {"rules": list(rules), **({} if default is None else {"default": default})}
    path = place.work / "w.json"
    path.write_text(json.dumps(config))
    return place.rpc("agents/start", agentFile=str(path), cwd=str(place.work), prompt="go", run="turn")


def outputs(place: Place, session_id: str) -> list[Any]:
    items = place.rpc("agents/transcript", sessionId=session_id)["items"]
    return [item["call"].get("output") for item in items if item["kind"] == "toolCall"]


def test_a_write_is_shown_approved_and_refused_where_the_file_is_another_one_since(place: Place) -> None:
    file = place.work / "f"
    file.write_text("one\ntwo\nthree\n")
    session = begun(place, calls(("read_file", {"path": "f"})), calls(EDIT), says("done"))
    [pending] = session["pending"]
    token = pending["token"]
    assert (pending["kind"], pending["diff"]) == ("approval", DIFF)
    assert place.abey("session", "diff", token) == DIFF

    place.kill_daemon()
    file.write_text("zero\none\ntwo\nthree\n")
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/complete", token=token, outcome={"kind": "approve"}, argumentsHash=pending["argumentsHash"])
    [again] = place.json("session", "pending")["items"]
    assert (refused.value.kind, refused.value.data["argumentsHash"], refused.value.data["diff"]) == (
        "arguments/mismatch",
        again["argumentsHash"],
        MOVED,
    )
    assert (again["token"], again["diff"], file.read_text()) == (token, MOVED, "zero\none\ntwo\nthree\n")

    done = place.run("session", "approve", token, "--hash", pending["argumentsHash"])
    assert (done.code, "  -two\n  +TWO\n" in done.err) == (5, True)
    done = place.run("session", "approve", token, "--hash", again["argumentsHash"], "--resume")
    assert (done.code, file.read_text()) == (0, "zero\none\nTWO\nthree\n")
    change = {"path": "f", "kind": "modified", "patch": MOVED}
    assert place.rpc("agents/diff", token=token) == {"changes": [change]}
    turn = session["turn"]["turnId"]
    for params in ({}, {"turnId": turn}):
        assert place.rpc("agents/diff", sessionId=session["sessionId"], **params) == {"changes": [change]}
    assert place.abey("session", "diff", session["sessionId"], "--turn", "@") == MOVED


def test_of_two_writes_to_one_file_the_second_is_shown_anew_once_the_first_is_made(place: Place) -> None:
    (place.work / "f").write_text("one\ntwo\n")
    other = ("edit_file", {"path": "f", "old_text": "one", "new_text": "ONE"})
    first, second = begun(place, calls(EDIT, other), says("done"))["pending"]
    assert place.run("session", "approve", first["token"]).code == 0
    assert place.run("session", "approve", second["token"], "--hash", second["argumentsHash"]).code == 5
    assert place.run("session", "approve", second["token"], "--resume").code == 0
    assert (place.work / "f").read_text() == "ONE\nTWO\n"


def test_what_was_denied_is_not_written(place: Place) -> None:
    path = 'new/a "b"\n'
    [pending] = begun(place, calls(("write_file", {"path": path, "content": "x"})), says("well"))["pending"]
    assert pending["diff"].startswith('--- /dev/null\n+++ "b/new/a \\"b\\"\\n"\n')
    [change] = place.rpc("agents/diff", token=pending["token"])["changes"]
    assert change == {"path": path, "kind": "created", "patch": pending["diff"]}
    place.abey("session", "deny", pending["token"], "--resume")
    assert not (place.work / "new").exists()
    assert place.rpc("agents/diff", token=pending["token"]) == {"changes": []}


def test_a_call_that_could_write_nothing_fails_and_nobody_is_asked(place: Place) -> None:
    (place.work / "f").write_text("one\n")
    writes = [("write_file", {"path": path, "content": "x"}) for path in ("../out", ".git/config")]
    session = begun(place, calls(EDIT, *writes), says("done"))
    assert (session["state"], outputs(place, session["sessionId"])) == (
        "completed",
        [
            "tool/failed: old_text is not in f; read the file again and copy what is there exactly",
            "tool/failed: ../out is outside the workspace; only paths under the session's folder can be used",
            "tool/failed: .git/config: nothing is written in .git; ask the user to do it",
        ],
    )
    assert not (place.work.parent / "out").exists()


def test_no_policy_lets_a_tool_write_its_own_agent_file_or_read_the_keys(place: Place) -> None:
    keys = place.root / "config" / "keys.json"
    keys.write_text("{}")
    (place.work / "link").symlink_to(place.root / "config")
    session = begun(
        place,
        calls(("write_file", {"path": "w.json", "content": "{}"}), ("read_file", {"path": "link/keys.json"})),
        says("done"),
        default="runSync",
    )
    assert outputs(place, session["sessionId"]) == [
        "w.json is an agent file, and no tool writes one; ask the user to do it",
        "link/keys.json is outside the workspace; only paths under the session's folder can be used",
    ]


def test_an_agent_file_that_is_gone_cannot_be_made_by_its_own_session(place: Place) -> None:
    asked = calls(("write_file", {"path": "w.json", "content": "{}"}))
    wait = {"tool": "list_files", "disposition": "defer"}
    session = begun(place, calls(("list_files", {})), asked, says("done"), rules=[wait], default="runSync")
    (place.work / "w.json").unlink()
    place.kill_daemon()
    place.abey("session", "approve", session["pending"][0]["token"], "--resume")
    assert outputs(place, session["sessionId"])[-1].startswith("w.json is an agent file")


def test_a_file_that_changed_since_the_session_read_it_is_not_overwritten(place: Place) -> None:
    file = place.work / "f"
    file.write_text("one\ntwo\n")
    wait = {"tool": "list_files", "disposition": "defer"}
    session = begun(
        place,
        calls(("read_file", {"path": "f"}), ("list_files", {})),
        calls(("write_file", {"path": "f", "content": "mine"})),
        says("done"),
        rules=[wait],
        default="runSync",
    )
    file.write_text("theirs\n")
    place.abey("session", "approve", session["pending"][0]["token"], "--resume")
    assert outputs(place, session["sessionId"])[-1] == (
        "f changed since it was read: read it again, then make the change anew"
    )
    assert file.read_text() == "theirs\n"


def test_odd_files_are_told_as_a_provider_takes_them(place: Place) -> None:
    (place.work / "odd").write_bytes(b"a\xe4b\xff\n\xed\xa0\xbd\n")
    picture = b"\x89PNG\r\n\x1a\n" + bytes(100_000)
    (place.work / "p.png").write_bytes(picture)
    session = begun(place, calls(("read_file", {"path": "odd"}), ("read_file", {"path": "p.png"})), says("seen"))
    bad = "\N{REPLACEMENT CHARACTER}"
    assert (session["state"], outputs(place, session["sessionId"])) == (
        "completed",
        [
            f"[odd: lines 1-2 of 2; some bytes are no UTF-8 and shown as {bad}]\na{bad}b{bad}\n{bad * 3}",
            {"type": "media", "mimeType": "image/png", "base64Data": base64.b64encode(picture).decode()},
        ],
    )


def test_a_long_diff_outlives_the_daemon(place: Place) -> None:
    content = "".join(f"line {n} of a file that is not short\n" for n in range(2000))
    session = begun(place, calls(("write_file", {"path": "f", "content": content})), says("done"))
    token, diff = session["pending"][0]["token"], session["pending"][0]["diff"]
    assert diff.endswith(" more lines of the diff are not shown …]\n")
    place.kill_daemon()
    assert place.session(session["sessionId"])["pending"][0]["diff"] == diff
    place.abey("session", "approve", token, "--resume")
    place.kill_daemon()
    assert place.rpc("agents/diff", token=token)["changes"][0]["patch"] == diff
    assert (place.work / "f").read_text() == content


def test_a_diff_of_what_is_not_there_says_so(place: Place) -> None:
    session = begun(place, calls(("list_files", {})), says("done"), rules=[deferred("list_files")])
    assert place.rpc("agents/diff", token=session["pending"][0]["token"]) == {"changes": []}
    kinds = []
    for params in ({"token": "0" * 32}, {"sessionId": "none"}, {"sessionId": session["sessionId"], "turnId": "none"}):
        with pytest.raises(Refusal) as refused:
            place.rpc("agents/diff", **params)
        kinds.append(refused.value.kind)
    assert kinds == ["token/unknown", "session/unknown", "arguments/invalid"]
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/diff", turnId="t")
    assert refused.value.code == -32602
