"""`abey session rename, archive, delete, restore, reopen` and `abey repair`."""

import json
from typing import Any

import pytest
from support.canned_daemon import AT, SESSION_ID, CannedDaemon, Refusal, session

LINE = f"{SESSION_ID}  userTurn  a  Research  /w\n"


def ids(*found: str, damaged: tuple[str, ...] = ()) -> Any:
    wrong = [{"sessionId": one, "reason": "the journal is empty", "offset": 0} for one in damaged]
    return {"items": [session(sessionId=one) for one in found], "damaged": wrong}


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (("rename", SESSION_ID, "Better"), {"title": "Better"}),
        (("archive", SESSION_ID), {"archived": True}),
        (("unarchive", SESSION_ID), {"archived": False}),
    ],
)
def test_a_session_is_renamed_and_put_away(abey, daemon: CannedDaemon, words, changed) -> None:
    daemon.on["agents/update"] = session()
    assert abey("session", *words, "--if-revision", "3") == (0, LINE, "")
    assert daemon.asked == [("agents/update", {"sessionId": SESSION_ID, **changed, "ifRevision": 3})]
    assert json.loads(abey("session", *words, "--json").out) == session()


def test_delete_asks_where_somebody_can_be_asked_and_says_how_to_restore(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/delete"] = {}
    unsure = abey("session", "delete", SESSION_ID, typed="no\n", terminal=True)
    assert (unsure.code, unsure.out, daemon.asked) == (1, "", [])
    said = f"session {SESSION_ID} is in the trash; `abey session restore {SESSION_ID}` brings it back\n"
    assert abey("session", "delete", SESSION_ID) == (0, "", said)
    assert abey("session", "delete", SESSION_ID, "--yes", terminal=True) == (0, "", said)
    assert abey("session", "delete", SESSION_ID, "--force", typed="yes\n", terminal=True).code == 0
    assert daemon.asked == [
        ("agents/delete", {"sessionId": SESSION_ID}),
        ("agents/delete", {"sessionId": SESSION_ID}),
        ("agents/delete", {"sessionId": SESSION_ID, "force": True}),
    ]
    assert abey("session", "delete", SESSION_ID, "--yes", "--json").out == "{}\n"


@pytest.mark.parametrize(("given", "meant"), [("bad", "bad"), ("ba", "bad"), ("go", "good"), ("nosuch", "nosuch")])
def test_a_damaged_session_has_a_name_too(abey, daemon: CannedDaemon, given: str, meant: str) -> None:
    daemon.on["agents/sessions"] = ids("good", damaged=("bad",))
    daemon.on["agents/delete"] = {}
    assert abey("session", "delete", given, "--yes").code == 0
    assert daemon.params("agents/delete") == [{"sessionId": meant}]


def test_restore_passes_the_id_on_as_it_is(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/restore"] = session()
    assert abey("session", "restore", SESSION_ID[:5]) == (0, LINE, "")
    assert daemon.asked == [("agents/restore", {"sessionId": SESSION_ID[:5]})]


def test_the_trash_is_listed_in_pages(abey, daemon: CannedDaemon) -> None:
    gone = [{"sessionId": one, "deletedAt": AT} for one in ("rome", "paris")]
    pages = {None: {"items": gone[:1], "nextCursor": "1"}, "1": {"items": gone[1:]}}
    daemon.on["agents/trash"] = lambda params: pages[params.get("cursor")]
    assert abey("session", "list", "--trash") == (0, f"rome  deleted {AT}\nparis  deleted {AT}\n", "")
    assert abey("session", "list", "--trash", "-q").out == "rome\nparis\n"
    assert json.loads(abey("session", "list", "--trash", "--json", "--limit", "1").out) == {"items": gone[:1]}
    told = "abey: --trash lists all that were deleted, not with --archived\n"
    assert abey("session", "list", "--trash", "--archived") == (2, "", told)
    daemon.on["agents/trash"] = {"items": []}
    assert abey("session", "list", "--trash") == (0, "", "the trash is empty\n")


def test_reopen_prints_the_state_and_says_where_nothing_was_wrong(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/reopen"] = {"applied": True, "session": session()}
    assert abey("session", "reopen", SESSION_ID) == (0, "State: UserTurn (ready for LLM)\n", "")
    daemon.on["agents/reopen"] = {"applied": False, "session": session()}
    assert abey("session", "reopen", SESSION_ID).err == "nothing was wrong with it\n"


FOUND = {
    "sessionId": SESSION_ID,
    "found": ["damage at byte 7: the checksum does not match", "nothing is lost"],
    "actions": ["record the repair: nothing else changes"],
    "applied": False,
}
DONE = {**FOUND, "applied": True, "original": "journal.jsonl.original-1", "session": session()}
SHOWN = (
    "found: damage at byte 7: the checksum does not match\n"
    "found: nothing is lost\n"
    "to do: record the repair: nothing else changes\n"
)
MENDED = SHOWN.replace("to do", "done") + "State: UserTurn (ready for LLM)\n"


@pytest.fixture
def damaged(daemon: CannedDaemon) -> CannedDaemon:
    daemon.on["agents/repair"] = lambda params: DONE if params.get("apply") else FOUND
    return daemon


def test_repair_shows_and_changes_nothing_unless_it_is_told_to(abey, damaged: CannedDaemon) -> None:
    hint = f"nothing was changed; `abey repair {SESSION_ID} --apply` does it\n"
    assert abey("repair", SESSION_ID) == (0, SHOWN, hint)
    assert json.loads(abey("repair", SESSION_ID, "--json").out) == FOUND
    assert damaged.params("agents/repair") == [{"sessionId": SESSION_ID}] * 2


@pytest.mark.parametrize("option", ["--apply", "--yes"])
def test_repair_mends_where_it_is_told_to(abey, damaged: CannedDaemon, option: str) -> None:
    assert abey("repair", SESSION_ID, option) == (0, MENDED, "")
    assert json.loads(abey("repair", SESSION_ID, option, "--json").out) == DONE
    assert damaged.params("agents/repair") == [{"sessionId": SESSION_ID, "apply": True}] * 2


def test_repair_asks_on_a_terminal(abey, damaged: CannedDaemon) -> None:
    yes = abey("repair", SESSION_ID, typed="yes\n", terminal=True)
    assert (yes.code, yes.out) == (0, SHOWN + MENDED)
    no = abey("repair", SESSION_ID, typed="\n", terminal=True)
    assert (no.code, no.out, no.err.endswith("nothing was changed\n")) == (1, SHOWN, True)


def test_repair_of_a_whole_session_says_so(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/repair"] = {**FOUND, "found": ["the journal is whole"], "actions": []}
    assert abey("repair", SESSION_ID) == (0, "found: the journal is whole\n", "")
    told = abey("repair", SESSION_ID, "--apply")
    assert told == (0, "found: the journal is whole\n", "nothing was to be mended\n")


def test_repair_of_what_cannot_be_mended_is_the_daemons_to_refuse(abey, daemon: CannedDaemon) -> None:
    def refuse(_: object) -> object:
        raise Refusal(-31019, "session x: the journal is empty", kind="session/damaged")

    daemon.on["agents/repair"] = refuse
    ran = abey("repair", SESSION_ID, "--apply")
    assert (ran.code, ran.err) == (1, "abey: session x: the journal is empty (session/damaged)\n")


def test_show_says_what_is_wrong_with_a_session_and_what_to_do(abey, daemon: CannedDaemon) -> None:
    damage = {"sessionId": SESSION_ID, "reason": "the checksum does not match", "offset": 7}
    daemon.on["agents/get"] = {"session": session(damaged=damage)}
    way_out = f"`abey repair {SESSION_ID}` says what can be done"
    assert f"damaged at byte 7: the checksum does not match; {way_out}" in abey("session", "show", SESSION_ID).out
