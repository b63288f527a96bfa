"""Renaming, deleting, restoring and mending, through the installed programs."""

from pathlib import Path
from typing import Any

import pytest
from support import e2e_journal
from support.e2e import Place, calls, deferred, says
from support.e2e_crash import Nursery
from support.e2e_peer import Refusal


def start(place: Place, **config: Any) -> Any:
    return place.rpc("agents/start", config=place.config(**config), prompt="x", cwd=str(place.work), run="turn")


def waiting(place: Place) -> Any:
    """A session with one call that waits for an approval."""
    return start(place, script=[calls(("bump", {})), says("end")], rules=[deferred("bump")])


def folder(place: Place, session: Any) -> Path:
    return place.state / "sessions" / session["sessionId"]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def notes(place: Place, session: Any) -> list[str]:
    items = place.rpc("agents/transcript", sessionId=session["sessionId"])["items"]
    return [item["text"] for item in items if item["kind"] == "note"]


def test_a_session_is_renamed_and_put_away(place: Place, nursery: Nursery) -> None:
    session = start(place, script=[says("hi")])
    session_id = session["sessionId"]
    place.abey("session", "rename", session_id, "Better")
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/update", sessionId=session_id, title="Worse", ifRevision=session["revision"])
    assert refused.value.kind == "revision/conflict"
    place.abey("session", "archive", session_id[:-1])
    place.kill_daemon()
    nursery.wake(place).close()
    after = place.session(session_id)
    assert (after["title"], after["archived"]) == ("Better", True)
    assert place.rpc("agents/sessions")["items"] == []
    place.abey("session", "unarchive", session_id[:-1])
    assert [one["title"] for one in place.rpc("agents/sessions")["items"]] == ["Better"]
    types = e2e_journal.types(place.journal(session_id))
    assert types[-3:] == [["updated"]] * 3


def test_a_deleted_session_is_nowhere_and_comes_back_whole(place: Place) -> None:
    session = waiting(place)
    session_id, [call] = session["sessionId"], session["pending"]
    before = files(folder(place, session))
    refused = place.run("session", "delete", session_id, "--yes")
    assert (refused.code, "bump (call_1_1)" in refused.err) == (1, True)
    with place.peer() as peer:
        place.abey("session", "delete", session_id, "--yes", "--force")
        told = peer.hear("agents/summary")
        assert (told["sessionId"], told["pendingCount"], told["deleted"]) == (session_id, 0, True)
        for method in ("agents/get", "agents/step", "agents/transcript", "agents/events", "agents/delete"):
            with pytest.raises(Refusal) as unknown:
                peer.request(method, sessionId=session_id)
            assert unknown.value.kind == "session/unknown"
        outcome = {"kind": "deny"}
        with pytest.raises(Refusal) as nobodys:
            peer.request("agents/complete", token=call["token"], outcome=outcome)
        assert nobodys.value.kind == "token/unknown"
        assert (peer.request("agents/pending")["items"], peer.request("agents/sessions")["items"]) == ([], [])
    assert not folder(place, session).exists()
    restored = place.json("session", "restore", session_id)
    assert restored == session
    assert (files(folder(place, session)), files(place.state / "trash")) == (before, {})
    assert place.rpc("agents/pending")["items"] == [call]
    assert place.run("session", "restore", session_id).code == 1
    place.abey("session", "deny", call["token"])


def test_who_waits_for_a_session_that_is_deleted_is_told_so(place: Place) -> None:
    session = waiting(place)
    with place.peer() as peer, place.peer() as other:
        run = peer.start("agents/run", sessionId=session["sessionId"], until="turn")
        after = other.request("agents/events", sessionId=session["sessionId"], limit=1000)["nextSeq"] - 1
        events = peer.start("agents/events", sessionId=session["sessionId"], after=after, waitMs=30000)
        other.request("agents/get", sessionId=session["sessionId"])
        other.request("agents/delete", sessionId=session["sessionId"], force=True)
        for request in (run, events):
            with pytest.raises(Refusal) as gone:
                peer.answer(request)
            assert gone.value.kind == "session/unknown"


def test_an_id_may_be_used_again_after_a_deletion(place: Place, nursery: Nursery) -> None:
    for text in ("one", "two"):
        params = {"config": place.config(script=[says(text)]), "prompt": "x", "cwd": "/", "run": "turn"}
        session = place.rpc("agents/start", sessionId="mine", **params)
        assert session["output"] == text
        place.rpc("agents/delete", sessionId="mine")
    place.kill_daemon()
    nursery.wake(place).close()
    assert place.rpc("agents/restore", sessionId="mine")["output"] == "two"
    place.rpc("agents/delete", sessionId="mine")
    alike = place.run("session", "restore", "mina")
    assert alike.code == 4
    assert "the trash has no session mina" in alike.err
    assert len(list((place.state / "trash").iterdir())) == 2


def test_a_torn_write_is_told_once_also_where_no_turn_is_open(place: Place, nursery: Nursery) -> None:
    """C01"""
    session = start(place, script=[says("one"), says("two")])
    place.kill_daemon()
    path = place.journal(session["sessionId"])
    whole = path.read_bytes()
    path.write_bytes(whole + b"0a1b2c3d")
    nursery.wake(place).close()
    [note] = notes(place, session)
    assert note.startswith(f"8 bytes of a torn or damaged write were cut off the journal at byte {len(whole)}")
    assert f"note: {note}" in place.abey("session", "show", session["sessionId"])
    sent = place.rpc("agents/send", sessionId=session["sessionId"], prompt="more", run="turn")
    assert (sent["session"]["output"], notes(place, session)) == ("two", [note])


def test_glued_halves_of_records_are_mended_and_nothing_after_them_is_lost(place: Place, nursery: Nursery) -> None:
    """C02"""
    session = waiting(place)
    place.kill_daemon()
    path = place.journal(session["sessionId"])
    lines = e2e_journal.read(path)
    path.write_bytes(b"".join(line.raw[:40] * (line.record["rev"] == 4) + line.raw for line in lines))
    damaged = path.read_bytes()
    nursery.wake(place).close()
    repaired = place.json("repair", session["sessionId"], "--apply")
    assert (repaired["applied"], repaired["original"]) == (True, "journal.jsonl.original-1")
    assert (path.parent / repaired["original"]).read_bytes() == damaged
    after = e2e_journal.read(path)
    assert [line.raw for line in after[:-1]] == [line.raw for line in lines]
    assert after[-1].data == {"offset": damaged.index(lines[3].raw[:40] * 2), "cutBytes": 40, "mayHaveRun": False}


def test_repair_gives_back_what_stands_behind_the_damage(place: Place, nursery: Nursery) -> None:
    """C03"""
    session = waiting(place)
    session_id = session["sessionId"]
    place.kill_daemon()
    path = place.journal(session_id)
    lines = e2e_journal.read(path)  # the fourth begins the second write
    before = b"".join(line.raw for line in lines[:3])
    path.write_bytes(before + lines[3].raw[:50] + b"\n" + b"".join(line.raw for line in lines[3:]))
    damaged = files(path.parent)
    nursery.wake(place).close()
    way_out = f"; `abey repair {session_id}` says what can be done"
    listed = place.run("session", "list")
    assert listed.err == f"abey: session {session_id} is damaged at byte {len(before)}: {CHECKSUM}{way_out}\n"
    assert f"damaged at byte {len(before)}: {CHECKSUM}{way_out}\n" in place.abey("session", "show", session_id)
    refused = place.run("session", "step", session_id)
    assert (refused.code, way_out in refused.err) == (1, True)
    shown = place.run("repair", session_id[:-1])
    assert (shown.code, shown.out.splitlines()) == (
        0,
        [
            f"found: damage at byte {len(before)}: {CHECKSUM}",
            f"found: bytes {len(before)} to {len(before) + 50} hold no record that continues the journal",
            f"found: revisions 1 to {len(lines)} can be kept",
            "found: nothing is lost",
            f"to do: keep the journal as it is, {len(damaged['journal.jsonl'])} bytes, as journal.jsonl.original-1",
            f"to do: write revisions 1 to {len(lines)} to a new journal in its place",
            "to do: record the repair: nothing else changes",
        ],
    )
    assert files(path.parent) == damaged
    place.abey("repair", session_id, "--apply")
    assert place.rpc("agents/sessions")["damaged"] == []
    assert place.rpc("agents/pending")["items"] == session["pending"]
    told = f"the journal was damaged at byte {len(before)} and has been mended; nothing was lost"
    assert notes(place, session) == [told]
    [call] = session["pending"]
    answer = {"outcome": {"kind": "approve"}, "argumentsHash": call["argumentsHash"], "resume": True}
    done = place.rpc("agents/complete", token=call["token"], **answer)
    assert (done["session"]["output"], place.ran()) == ("end", 1)
    again = place.json("repair", session_id, "--apply")
    assert (again["applied"], again["found"][0].startswith("the journal is whole")) == (False, True)


CHECKSUM = "the checksum does not match"


def test_a_session_of_which_nothing_can_be_read_goes_to_the_trash(place: Place) -> None:
    bad = place.state / "sessions" / "bad"
    bad.mkdir(parents=True, mode=0o700)
    (bad / "journal.jsonl").write_bytes(b"\0" * 100)
    assert place.run("repair", "ba").out.splitlines() == [
        "found: the journal holds only NUL bytes",
        "found: there is nothing to mend; `abey session delete bad --force` moves what is there to the trash",
    ]
    refused = place.run("repair", "ba", "--apply")
    assert (refused.code, refused.err.endswith("(session/damaged)\n")) == (1, True)
    assert place.run("session", "delete", "ba", "--yes").code == 1
    place.abey("session", "delete", "ba", "--yes", "--force")
    assert place.run("session", "list").err == "no session yet\n"
    assert place.abey("session", "list", "--trash", "-q") == "bad\n"
    assert place.run("session", "restore", "bad").code == 1
    assert files(bad) == {"journal.jsonl": b"\0" * 100}
