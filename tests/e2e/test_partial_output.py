"""What a tool prints while it runs: told to who listens, read by who asks, and there when nobody knows how it ended."""

from contextlib import suppress
from typing import Any

import pytest
from support.e2e import Place, calls, command, says, until
from support.e2e_peer import Peer

WAIT = "until test -e {}; do sleep 0.01; done"
IN_TWO = rf"printf 'one \033[2J\360\237\230\200'; {WAIT.format('go')}; echo two; {WAIT.format('end')}"
FIRST = "one \x1b[2J😀"


def start(place: Place, command: str) -> Any:
    """A session whose tool runs, and whose turn goes on without anybody."""
    script = [calls(("sh", {"command": command})), says("end")]
    params = {"prompt": "x", "cwd": str(place.work), "run": "turn", "wait": False}
    return place.rpc("agents/start", config=place.config(script=script), **params)


def call_of(place: Place, session: Any) -> Any:
    items = place.rpc("agents/transcript", sessionId=session["sessionId"])["items"]
    [call] = [item["call"] for item in items if "call" in item]
    return call


def output(place: Place, session: Any, call: Any, **part: int) -> Any:
    return place.rpc("agents/output", sessionId=session["sessionId"], callId=call["callId"], **part)


def partial_files(place: Place, session: Any) -> list[str]:
    """What is kept of the outputs of calls that have no result, in the folder of the session."""
    folder = place.journal(session["sessionId"]).parent
    texts = []
    for path in folder.iterdir():
        if path.name.startswith("partial-") and path.suffix != ".new":
            with suppress(FileNotFoundError):  # it went while we looked
                texts.append(path.read_text())
    return texts


def progress(peer: Peer) -> Any:
    while (event := peer.hear("agents/event"))["event"]["type"] != "tool/progress":
        pass
    return event


def test_output_of_a_running_tool_is_told_and_read_and_gone_with_its_result(place: Place) -> None:
    session = start(place, IN_TWO)
    until(lambda: partial_files(place, session) == [FIRST])
    call = call_of(place, session)
    so_far = output(place, session, call), output(place, session, call, offset=4, limit=6)
    assert so_far == (
        {"data": FIRST, "encoding": "utf-8", "size": 12},
        {"data": "\x1b[2J", "encoding": "utf-8", "size": 12},
    )
    with place.peer() as peer:
        peer.request("agents/attach", sessionId=session["sessionId"], deltas=True)
        (place.work / "go").touch()
        told = progress(peer)
    (place.work / "end").touch()
    assert ("seq" in told, told["event"]) == (
        False,
        {"type": "tool/progress", "callId": call["callId"], "offset": len(FIRST), "text": "two\n"},
    )
    until(lambda: place.session(session["sessionId"])["state"] == "completed")
    assert output(place, session, call)["data"] == f"{FIRST}two\n"
    until(lambda: partial_files(place, session) == [])


def uncertain(place: Place) -> tuple[Any, Any]:
    """A session whose tool was cut off by kill -9 of the daemon, and its call."""
    session = start(place, f"echo line >> {place.count}; {IN_TWO}")
    until(lambda: partial_files(place, session) == [FIRST])
    place.kill_daemon()
    [call] = place.session(session["sessionId"])["pending"]
    return session, call


def test_a_call_that_was_cut_off_is_shown_with_what_is_known(place: Place) -> None:
    session, call = uncertain(place)
    started = call_of(place, session)["startedAt"]
    command = {"command": f"echo line >> {place.count}; {IN_TWO}"}
    shown = {name: call.get(name) for name in ("kind", "arguments", "startedAt", "outputSoFar", "editable")}
    assert shown == {
        "kind": "uncertain",
        "arguments": command,
        "startedAt": started,
        "outputSoFar": FIRST,
        "editable": False,
    }
    assert place.rpc("agents/pending")["items"] == [call]
    assert output(place, session, call) == {"data": FIRST, "encoding": "utf-8", "size": 12}
    told = place.abey("session", "pending"), place.abey("session", "show", session["sessionId"])
    assert ["one \\x1b[2J😀" in text for text in told] == [True, True]
    assert [f"may have run, started {started}" in text for text in told] == [True, True]


def test_a_daemon_that_has_not_read_the_session_tells_of_it_all_the_same(place: Place) -> None:
    _, call = uncertain(place)
    place.abey("daemon", "stop")
    assert place.rpc("agents/pending")["items"] == [call]


@pytest.mark.parametrize(
    ("words", "state", "told"),
    [
        (("complete", "TOKEN", "--text", "it is done"), "completed", "it is done"),
        (("complete", "TOKEN", "--error", "the disk was full"), "failed", "the disk was full"),
        (("rerun", "TOKEN", "--hash", "HASH"), "completed", f"{FIRST}two\n"),
    ],
)
def test_somebody_says_what_became_of_it_and_nothing_is_left(
    place: Place, words: tuple[str, ...], state: str, told: str
) -> None:
    session, call = uncertain(place)
    let_end(place)
    known = {"TOKEN": call["token"], "HASH": call["argumentsHash"]}
    place.abey("session", *(known.get(word, word) for word in words))
    assert place.abey("session", "resume", session["sessionId"]) == "end\n"
    after = call_of(place, session)
    assert (after["state"], told in after["output"], place.ran()) == (state, True, 2 if "rerun" in words else 1)
    until(lambda: partial_files(place, session) == [])


def rerun(call: Any) -> Any:
    """What asks for it."""
    return {"token": call["token"], "argumentsHash": call["argumentsHash"], "outcome": {"kind": "rerun"}}


def let_end(place: Place) -> None:
    """The tool is over at once from now on."""
    for name in ("go", "end"):
        (place.work / name).touch()


def test_of_many_who_have_it_run_again_one_is_heard_and_it_runs_once(place: Place) -> None:
    session, call = uncertain(place)
    let_end(place)
    peers = [place.peer(f"client{number}") for number in range(6)]
    asked = [peer.start("agents/complete", **rerun(call)) for peer in peers]
    answers = [peer.answer(number) for peer, number in zip(peers, asked, strict=True)]
    for peer in peers:
        peer.close()
    told = [(answer["applied"], answer["resolution"]["kind"]) for answer in answers]
    assert (sorted(told), place.ran()) == ([(False, "rerun")] * 5 + [(True, "rerun")], 2)
    assert len({answer["resolution"]["by"] for answer in answers}) == 1
    assert (place.abey("session", "resume", session["sessionId"]), place.ran()) == ("end\n", 2)


def test_while_the_session_is_paused_it_is_recorded_and_runs_later_and_a_late_result_is_none(place: Place) -> None:
    session, call = uncertain(place)
    let_end(place)
    place.abey("session", "pause", session["sessionId"])
    late = {"token": call["token"], "outcome": {"kind": "result", "content": "late"}}
    answers = [place.rpc("agents/complete", **params) for params in (rerun(call), rerun(call), late)]
    told = [(answer["applied"], answer["resolution"]["kind"]) for answer in answers]
    assert (told, place.ran()) == ([(True, "rerun"), (False, "rerun"), (False, "rerun")], 1)
    assert (place.abey("session", "resume", session["sessionId"]), place.ran()) == ("end\n", 2)
    assert call_of(place, session)["output"] == f"{FIRST}two\n"


def test_it_is_not_run_again_under_a_hash_that_was_not_shown(place: Place) -> None:
    session, call = uncertain(place)
    done = place.run("session", "rerun", call["token"], "--hash", "0" * 64)
    assert (done.code, "this is not the call that was shown" in done.err, place.ran()) == (5, True, 1)
    assert place.session(session["sessionId"])["pending"] == [call]
    assert partial_files(place, session) == [FIRST]


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_a_long_output_is_kept_with_its_beginning_and_its_end(place: Place, way: str) -> None:
    session = start(place, f"seq -w 1 100000; {WAIT.format('end')}")
    until(lambda: any("100000" in text for text in partial_files(place, session)))
    place.abey("daemon", "stop", "--now") if way == "stop" else place.kill_daemon()
    [call] = place.session(session["sessionId"])["pending"]
    head, mark, tail = output(place, session, call, limit=1 << 20)["data"].partition(
        "\n[… 568928 characters left out …]\n"
    )
    assert (len(head), bool(mark), len(tail), tail[-7:]) == (1 << 16, True, 1 << 16, "100000\n")
    assert call["outputSoFar"] == tail[-4096:]


def test_a_deleted_session_takes_it_along_and_brings_it_back(place: Place) -> None:
    session, call = uncertain(place)
    place.abey("session", "delete", session["sessionId"], "--yes", "--force")
    assert place.rpc("agents/pending")["items"] == []
    place.abey("session", "restore", session["sessionId"])
    assert place.session(session["sessionId"])["pending"] == [call]


def test_a_call_that_is_run_again_by_itself_leaves_nothing_of_its_first_run(place: Place) -> None:
    shell = {"type": "object", "properties": {}}
    tool = command("again", shell, ["sh", "-c", f"echo line >> {place.count}; {IN_TWO}"], idempotent=True)
    config = place.config(script=[calls(("again", {})), says("end")], tools=[tool])
    session = place.rpc("agents/start", config=config, prompt="x", cwd=str(place.work), run="turn", wait=False)
    until(lambda: partial_files(place, session) == [FIRST])
    place.kill_daemon()
    let_end(place)
    assert (place.abey("session", "resume", session["sessionId"]), place.ran()) == ("end\n", 2)
    until(lambda: partial_files(place, session) == [])
