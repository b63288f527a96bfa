"""The index of the sessions, seen from outside: whatever became of it, the journals tell what there is."""

from pathlib import Path

from support.e2e import Place, calls, deferred, says
from support.many import copies


def delete(index: Path, older: bytes) -> None:
    index.unlink()


def truncate(index: Path, older: bytes) -> None:
    index.write_bytes(index.read_bytes()[: index.stat().st_size // 2])


def replace_with_an_older_copy(index: Path, older: bytes) -> None:
    index.write_bytes(older)


def fill_with_garbage(index: Path, older: bytes) -> None:
    index.write_bytes(b"\xa5" * index.stat().st_size)


def leave(index: Path, older: bytes) -> None:
    assert index.exists()


def test_a_stale_or_lost_index_loses_no_session_and_makes_none(place: Place) -> None:
    script = [calls(("sh", {"command": "echo warm"}), ("bump", {})), says("It is warm in Paris.")]
    config = place.config(script=script, rules=[deferred("sh")])
    asked = {"prompt": "How warm is it?", "title": "weather", "config": config, "cwd": str(place.work)}
    place.rpc("agents/start", sessionId="one", **asked, run="step")
    token = place.rpc("agents/run", sessionId="one")["session"]["pending"][0]["token"]
    place.rpc("agents/sessions")
    place.abey("daemon", "stop")
    index = place.state / "index.sqlite"
    older = index.read_bytes()

    call = place.rpc("agents/pending")["items"][0]
    answer = {"kind": "approve"}
    place.rpc("agents/complete", token=token, outcome=answer, argumentsHash=call["argumentsHash"], resume=True)
    place.rpc("agents/start", sessionId="other", **asked)
    before = place.rpc("agents/sessions")
    transcript = place.rpc("agents/transcript", sessionId="one")
    assert [one["sessionId"] for one in before["items"]] == ["other", "one"]

    for spoil in (delete, truncate, replace_with_an_older_copy, fill_with_garbage, leave):
        place.abey("daemon", "stop")
        spoil(index, older)
        with place.peer() as peer:
            assert peer.request("agents/sessions") == before
            found = peer.request("agents/sessions", query="paris weath")
            assert [one["sessionId"] for one in found["items"]] == ["one"]
            assert peer.request("agents/status")["sessions"]["loaded"] == 0
            assert peer.request("agents/transcript", sessionId="one") == transcript
            assert {path.name for path in (place.state / "sessions").iterdir()} == {"one", "other"}


def test_a_daemon_that_was_killed_leaves_an_index_that_the_next_one_brings_up_to_date(place: Place) -> None:
    config = place.config(script=[says("Warm."), says("Colder.")], loop=True)
    for number in range(2):
        place.rpc("agents/start", prompt=f"Question {number}", config=config, cwd=str(place.work), run="turn")
        place.rpc("agents/sessions", query="warm")
        place.rpc("agents/start", prompt=f"Then {number}", config=config, cwd=str(place.work), run="turn")
        place.kill_daemon()
    found = place.rpc("agents/sessions", query="warm")["items"]
    assert [one["title"] for one in found] == ["Then 1", "Question 1", "Then 0", "Question 0"]
    assert place.rpc("agents/status")["sessions"]["loaded"] == 0


def test_many_sessions_are_listed_without_being_kept_in_memory(place: Place) -> None:
    config = place.config(script=[calls(("sh", {"command": "echo warm"}))], rules=[deferred("sh")])
    place.rpc("agents/start", sessionId="one", prompt="Warm?", config=config, cwd=str(place.work), run="step")
    place.rpc("agents/step", sessionId="one")
    place.abey("daemon", "stop")
    copies(place.journal("one"), [f"copy-{number:03d}" for number in range(120)])
    with place.peer() as peer:
        first = peer.request("agents/sessions")
        rest = peer.request("agents/sessions", cursor=first["nextCursor"])
        assert len({one["sessionId"] for one in (*first["items"], *rest["items"])}) == 121
        assert len(peer.request("agents/pending")["items"]) == 121
        assert peer.request("agents/status")["sessions"]["loaded"] == 0
        token = first["items"][7]["pending"][0]["token"]
        done = peer.request("agents/complete", token=token, outcome={"kind": "deny"})
        assert done["session"]["sessionId"] == first["items"][7]["sessionId"]
        assert peer.request("agents/status")["sessions"]["loaded"] == 1
        assert len(peer.request("agents/pending")["items"]) == 120


def test_a_long_list_comes_page_by_page_to_who_asks_for_parts(place: Place) -> None:
    config = place.config(script=[says("end")])
    for number in range(5):
        place.rpc("agents/start", sessionId=f"s{number}", config=config, cwd=str(place.work))
    with place.peer() as peer:
        whole = peer.request("agents/sessions")
        answer = peer.request("agents/sessions", limit=2, partialResultToken="t")
        parts = [peer.hear("$/progress") for _ in range(3)]
    assert [part["token"] for part in parts] == ["t"] * 3
    assert [item for part in parts for item in part["value"]["items"]] == whole["items"]
    assert answer == {**whole, "items": []}
