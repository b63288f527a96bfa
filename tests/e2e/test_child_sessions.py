"""Agents that call other agents, through the installed programs: sessions of their own, linked, and ended together."""

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, deferred, kill, says, until
from support.e2e_crash import ALIVE, Death, Moment, Nursery
from support.e2e_peer import Gone, Peer, Refusal

ASK = {"default": {"tag": "defer", "reason": "ask first"}}
HANGS = {"text": "never said", "delayMs": 600_000}


@pytest.fixture
def peer(place: Place) -> Iterator[Peer]:
    with place.peer() as peer:
        yield peer


def reviewer(place: Place, *script: Any, name: str = "reviewer", **more: Any) -> None:
    """An agent of the user that others can name."""
    config = place.config(name=name, script=script, **{"description": f"the {name}", **more})
    (place.agents / f"{name}.json").write_text(json.dumps(config))


def asks(prompt: str = "look at it", tool: str = "reviewer") -> Any:
    return calls((tool, {"prompt": prompt}))


def parent(place: Place, *script: Any, names: tuple[str, ...] = ("reviewer",), **more: Any) -> Any:
    tools = [*place.tools(), *({"kind": "agent", "name": name, "agent": name} for name in names)]
    return place.config(script=script or (asks(), says("all reviewed")), **{"tools": tools, **more})


class Family:
    """A parent and the children of its calls."""

    def __init__(self, place: Place, peer: Peer, config: Any = None, run: str = "turn", **more: Any) -> None:
        """Without a config the session `boss` is there already."""
        self.place = place
        self.peer = peer
        self.id = "boss"
        if config is not None:
            started = peer.request("agents/start", config=config, prompt="go", cwd=str(place.work), run=run, **more)
            self.id = started["sessionId"]

    def get(self, session_id: str | None = None) -> Any:
        return self.peer.request("agents/get", sessionId=session_id or self.id)["session"]

    @property
    def child(self) -> str:
        return self.child_of(self.id)

    def child_of(self, session_id: str) -> str:
        """The first, once it is there: its id is known before."""
        found: str = until(lambda: self.get(session_id)["children"], "for a child")[0]
        until(lambda: self.place.journal(found).exists(), "for the journal of the child")
        return found

    def pending(self, session_id: str | None = None) -> list[Any]:
        items: list[Any] = self.peer.request("agents/pending", sessionId=session_id or self.id)["items"]
        return items

    def waiting(self, session_id: str) -> Any:
        """The call of a session that waits for somebody."""
        return until(lambda: [one for one in self.pending(session_id) if one["kind"] != "running"], "for a call")[0]

    def complete(self, call: Any, kind: str, **more: Any) -> Any:
        bound = {"argumentsHash": call["argumentsHash"]} if kind in ("approve", "rerun") else {}
        return self.peer.request("agents/complete", token=call["token"], outcome={"kind": kind, **more}, **bound)

    def calls(self, session_id: str | None = None) -> list[tuple[str, str, Any]]:
        """Tool, state and output of every call in the transcript."""
        items = self.peer.request("agents/transcript", sessionId=session_id or self.id)["items"]
        return [
            (one["call"]["tool"], one["call"]["state"], one["call"].get("output")) for one in items if "call" in one
        ]

    def ended(self, session_id: str | None = None) -> Any:
        return until(lambda: (self.get(session_id)["turn"] or {}).get("end"), "for the end of a turn")

    def run(self, **more: Any) -> Any:
        return self.peer.request("agents/run", sessionId=self.id, **more)


def test_the_final_text_of_a_child_is_the_result_of_the_call_that_asked_for_it(place: Place, peer: Peer) -> None:
    reviewer(place, says("it is fine"))
    family = Family(place, peer, parent(place))
    done = family.run(until="turn")
    assert (done["outcome"], done["session"]["output"]) == ("completed", "all reviewed")
    assert family.calls() == [("reviewer", "completed", "it is fine")]
    child = family.get(family.child)
    told = {name: child.get(name) for name in ("agent", "parent", "cwd", "title", "output", "state")}
    assert told == {
        "agent": "reviewer",
        "parent": family.id,
        "cwd": str(place.work),
        "title": "look at it",
        "output": "it is fine",
        "state": "completed",
    }


def test_a_synchronous_run_waits_for_its_child_which_waits_for_nobody_either(place: Place, peer: Peer) -> None:
    reviewer(place, calls(("bump", {})), says("not bumped"), rules=[deferred("bump")])
    family = Family(place, peer, parent(place), run="none")
    done = family.run(synchronous=True)
    assert (done["outcome"], done["session"]["output"]) == ("completed", "all reviewed")
    assert (family.calls(), family.calls(family.child)) == (
        [("reviewer", "completed", "not bumped")],
        [("bump", "denied", "needs a decision, and this run is synchronous")],
    )


def test_while_a_child_waits_for_an_approval_its_parent_says_so_and_the_approval_moves_both(
    place: Place, peer: Peer
) -> None:
    reviewer(place, calls(("bump", {})), says("bumped it"), rules=[deferred("bump")])
    family = Family(place, peer, parent(place))
    call = family.waiting(family.child)
    [mine] = family.pending()
    assert (mine["kind"], mine["childId"], mine["reason"]) == (
        "running",
        family.child,
        f"session {family.child} waits for an approval of bump",
    )
    everywhere = peer.request("agents/pending")["items"]
    assert {(one["sessionId"], one["kind"]) for one in everywhere} == {
        (family.id, "running"),
        (family.child, "approval"),
    }
    family.complete(call, "approve")
    assert until(lambda: family.get()["state"] == "userTurn") is True
    assert (family.calls(), place.ran()) == ([("reviewer", "completed", "bumped it")], 1)
    assert family.run()["session"]["output"] == "all reviewed"


def test_a_run_that_waits_goes_on_when_the_child_has_ended(place: Place, peer: Peer) -> None:
    reviewer(place, calls(("bump", {})), says("bumped it"), rules=[deferred("bump")])
    family = Family(place, peer, parent(place), run="none")
    waits = peer.start("agents/run", sessionId=family.id, until="turn")
    family.complete(family.waiting(family.child), "approve")
    done = peer.answer(waits)
    assert (done["outcome"], done["session"]["output"]) == ("completed", "all reviewed")


def test_a_cancelled_parent_cancels_the_turn_of_its_child_first(place: Place, peer: Peer) -> None:
    reviewer(place, HANGS)
    family = Family(place, peer, parent(place))
    assert until(lambda: family.get(family.child)["activity"] == "model")
    assert peer.request("agents/cancel", sessionId=family.id)["applied"] is True
    ends = [family.get(one)["turn"]["end"] for one in (family.child, family.id)]
    assert ends == ["cancelled", "cancelled"]
    assert family.calls() == [("reviewer", "cancelled", "cancelled by user; it had started and may have run")]


def test_a_stopped_parent_stops_its_child_and_what_that_runs(place: Place, peer: Peer) -> None:
    reviewer(place, calls(("slow", {})), says("never"))
    family = Family(place, peer, parent(place))
    assert until(lambda: place.ran() == 1)
    peer.request("agents/stop", sessionId=family.id)
    assert [family.get(one)["state"] for one in (family.child, family.id)] == ["stopped", "stopped"]


def test_a_result_from_outside_ends_the_child_and_what_it_says_later_is_nowhere(place: Place, peer: Peer) -> None:
    reviewer(place, HANGS)
    family = Family(place, peer, parent(place))
    assert until(lambda: family.get(family.child)["activity"] == "model")
    [call] = family.pending()
    assert family.complete(call, "result", content="never mind")["applied"] is True
    assert family.ended(family.child) == "cancelled"
    assert family.calls() == [("reviewer", "completed", "never mind")]


def test_what_the_policy_of_the_parent_denies_its_child_may_not_do_either(place: Place, peer: Peer) -> None:
    reviewer(place, calls(("bump", {}), ("sh", {"command": "true"})), says("could not"))
    rules = [{"tool": "bump", "disposition": {"tag": "deny", "reason": "not here"}}, deferred("sh")]
    family = Family(place, peer, parent(place, rules=rules))
    call = family.waiting(family.child)
    assert (call["tool"], call["kind"]) == ("sh", "approval")
    family.complete(call, "deny")
    family.run(until="turn")
    told = [(tool, state) for tool, state, _ in family.calls(family.child)]
    assert (told, place.ran()) == ([("bump", "denied"), ("sh", "denied")], 0)


def test_an_agent_that_is_not_there_gives_a_failed_result_that_names_it(place: Place, peer: Peer) -> None:
    family = Family(place, peer, parent(place))
    done = family.run(until="turn")
    assert done["session"]["output"] == "all reviewed"
    [(_, state, output)] = family.calls()
    assert (state, "no agent `reviewer`" in output) == ("failed", True)


def test_agents_that_call_themselves_end_at_a_depth(place: Place, peer: Peer) -> None:
    again = [{"kind": "agent", "name": "reviewer", "agent": "reviewer"}]
    reviewer(place, asks(), says("as deep as it goes"), tools=again)
    family = Family(place, peer, parent(place))
    assert family.run(until="turn")["session"]["output"] == "all reviewed"
    deepest, depth = family.child, 1
    while (inner := family.get(deepest)["children"][0]) and place.journal(inner).exists():
        deepest, depth = inner, depth + 1
    told = "tool/failed: 8 agents have called one another already, and this one may call no further one"
    assert (depth, family.calls(deepest)) == (8, [("reviewer", "failed", told)])


def test_a_deleted_parent_takes_its_children_along(place: Place, peer: Peer) -> None:
    reviewer(place, says("fine"))
    family = Family(place, peer, parent(place))
    family.run(until="turn")
    child = family.child
    peer.request("agents/delete", sessionId=family.id)
    assert {one["sessionId"] for one in peer.request("agents/trash")["items"]} == {family.id, child}


def test_a_parent_whose_child_was_deleted_is_told_so(place: Place, peer: Peer) -> None:
    reviewer(place, calls(("bump", {})), says("never"), rules=[deferred("bump")])
    family = Family(place, peer, parent(place))
    family.waiting(family.child)
    peer.request("agents/delete", sessionId=family.child, force=True)
    assert until(lambda: family.get()["state"] == "userTurn")
    assert family.calls() == [("reviewer", "failed", "tool/failed: the session that worked on it was deleted")]


def test_a_cancel_reaches_the_children_of_children(place: Place, peer: Peer) -> None:
    reviewer(place, HANGS, name="leaf")
    reviewer(place, asks(tool="leaf"), tools=[{"kind": "agent", "name": "leaf", "agent": "leaf"}])
    family = Family(place, peer, parent(place))
    middle = family.child
    [leaf] = until(lambda: family.get(middle)["children"])
    assert until(lambda: place.journal(leaf).exists() and family.get(leaf)["activity"] == "model")
    assert family.pending()[0]["reason"] == f"session {middle}: session {leaf} works on it"
    peer.request("agents/cancel", sessionId=family.id)
    assert [family.get(one)["turn"]["end"] for one in (leaf, middle, family.id)] == ["cancelled"] * 3


@pytest.mark.parametrize("way", ["cancel", "stop", "delete"])
def test_after_a_kill_the_end_of_a_parent_reaches_children_three_levels_down(
    place: Place, peer: Peer, way: str
) -> None:
    reviewer(place, calls(("slow", {})), says("x"), name="c")
    for name, asked in (("b", "c"), ("a", "b")):
        tools = [{"kind": "agent", "name": asked, "agent": asked}]
        reviewer(place, asks(tool=asked), says("done"), name=name, tools=tools)
    family = Family(place, peer, parent(place, asks(tool="a"), names=("a",)))
    line = [family.id]
    for _ in range(3):
        line.append(family.child_of(line[-1]))
    until(lambda: place.ran() == 1, "for the tool")
    place.kill_daemon()
    forced = {"force": True} if way == "delete" else {}
    with place.peer() as family.peer:
        family.peer.request(f"agents/{way}", sessionId=family.id, **forced)
        left = {one["sessionId"]: one["state"] for one in family.peer.request("agents/sessions")["items"]}
        waiting = family.peer.request("agents/pending")["items"]
    state = {"cancel": "completed", "stop": "stopped"}.get(way)
    assert (left, waiting, place.ran()) == (dict.fromkeys(line, state) if state else {}, [], 1)


def test_a_child_that_somebody_stops_is_a_failed_result(place: Place, peer: Peer) -> None:
    reviewer(place, HANGS)
    family = Family(place, peer, parent(place))
    peer.request("agents/stop", sessionId=family.child)
    assert until(lambda: family.get()["state"] == "userTurn")
    told = "tool/failed: the agent reviewer gave no answer; its turn ended cancelled"
    assert family.calls() == [("reviewer", "failed", told)]


def test_a_child_whose_model_fails_rests_until_its_parent_is_driven_again(place: Place, peer: Peer) -> None:
    reviewer(place, {"error": {"code": "auth", "message": "no key"}}, says("it is fine"))
    family = Family(place, peer, parent(place))
    rests = f"session {family.child} rests after an error: no key"
    assert until(lambda: family.pending()[0]["reason"] == rests)
    done = family.run(until="turn")
    assert (done["session"]["output"], family.calls()) == ("all reviewed", [("reviewer", "completed", "it is fine")])


def test_of_many_children_only_some_work_at_a_time_and_each_gives_its_result(place: Place, peer: Peer) -> None:
    reviewer(place, HANGS)
    many = calls(*[("reviewer", {"prompt": f"part {at}"}) for at in range(50)])
    family = Family(place, peer, parent(place, many, says("all"), limits={"maxConcurrency": 3}))
    sessions = place.state / "sessions"
    assert until(lambda: len(list(sessions.iterdir())) == 1 + 3)
    assert (len(family.get()["children"]), len(family.pending())) == (50, 50)
    reviewer(place, says("fine"))
    for child in [one.name for one in sessions.iterdir() if one.name != family.id]:
        peer.request("agents/cancel", sessionId=child)
    assert family.run(until="turn")["session"]["output"] == "all"
    ends = [state for _, state, _ in family.calls()]
    assert (ends.count("failed"), ends.count("completed"), len(list(sessions.iterdir()))) == (3, 47, 51)


def test_children_that_wait_for_somebody_keep_no_others_from_working(place: Place, peer: Peer) -> None:
    reviewer(place, calls(("bump", {})), says("fine"), rules=[deferred("bump")])
    many = calls(*[("reviewer", {"prompt": f"part {at}"}) for at in range(5)])
    family = Family(place, peer, parent(place, many, says("all"), limits={"maxConcurrency": 1}))
    kinds = {"kinds": ["approval"]}
    waiting = until(lambda: len(found := peer.request("agents/pending", **kinds)["items"]) == 5 and found)
    for call in waiting:
        family.complete(call, "approve")
    assert family.run(until="turn")["session"]["output"] == "all"
    assert place.ran() == 5


def test_a_parent_whose_child_rests_goes_to_the_trash_by_force_alone_and_takes_it_along(
    place: Place, peer: Peer, nursery: Nursery
) -> None:
    reviewer(place, calls(("bump", {})), says("never"), rules=[deferred("bump")])
    family = Family(place, peer, parent(place))
    child = family.child
    family.waiting(child)
    with pytest.raises(Refusal) as busy:
        peer.request("agents/delete", sessionId=family.id, force=True)
    place.kill_daemon()
    with nursery.wake(place) as peer:
        with pytest.raises(Refusal) as waits:
            peer.request("agents/delete", sessionId=family.id)
        assert (busy.value.kind, waits.value.kind) == ("session/busy", "state/invalid")
        peer.request("agents/delete", sessionId=family.id, force=True)
        assert {one["sessionId"] for one in peer.request("agents/trash")["items"]} == {family.id, child}


def test_an_agent_of_agents_exe_asks_the_one_in_the_file_beside_it(place: Place, peer: Peer) -> None:
    other = place.work / "other.json"
    other.write_text(json.dumps(place.config(name="other", script=[says("from the other")])))
    model = {"provider": "scripted", "script": [asks(tool="io_prompt_agent_other"), says("done")]}
    file = place.work / "theirs.json"
    tool = {"kind": "agent", "name": "io_prompt_agent_other", "agent": "other", "path": "other.json"}
    file.write_text(json.dumps({"slug": "theirs", "model": model, "tools": [tool]}))
    started = peer.request("agents/start", agentFile=str(file), prompt="go", cwd=str(place.home), run="none")
    peer.request("agents/run", sessionId=started["sessionId"], until="turn")
    items = peer.request("agents/transcript", sessionId=started["sessionId"])["items"]
    [call] = [one["call"] for one in items if "call" in one]
    assert (call["state"], call["output"]) == ("completed", "from the other")


def test_the_command_line_runs_an_agent_that_asks_another_one(place: Place) -> None:
    reviewer(place, says("it is fine"))
    file = place.agent(**{"name": "boss", **parent(place)})
    command = ("run", "--until", "turn", "--agent-file", str(file), "--prompt", "go")
    assert place.abey(*command) == "all reviewed\n"


def test_a_timeout_around_the_call_ends_the_turn_of_the_child(place: Place, peer: Peer) -> None:
    reviewer(place, HANGS)
    around = {"tag": "decorate", "decorators": [{"tag": "timeout", "seconds": 3}], "inner": "runSync"}
    family = Family(place, peer, parent(place, rules=[{"tool": "reviewer", "disposition": around}]))
    assert family.ended(family.child) == "cancelled"
    assert until(lambda: family.get()["state"] == "userTurn")
    assert family.calls() == [("reviewer", "failed", "tool call timed out after 3s")]


def test_a_daemon_that_drains_waits_for_no_child_that_waits_for_somebody(
    place: Place, peer: Peer, nursery: Nursery
) -> None:
    reviewer(place, calls(("bump", {})), says("bumped it"), rules=[deferred("bump")])
    family = Family(place, peer, parent(place))
    call = family.waiting(family.child)
    peer.request("agents/shutdown", mode="drain")
    kill(peer.pid, 0)
    with nursery.wake(place) as peer:
        family.peer = peer
        waits = peer.start("agents/run", sessionId=family.id, until="turn")
        family.complete(family.waiting(call["sessionId"]), "approve")
        assert peer.answer(waits)["session"]["output"] == "all reviewed"
        assert (family.calls(), place.ran()) == ([("reviewer", "completed", "bumped it")], 1)


def test_after_a_restart_a_child_that_waited_is_answered_and_its_parent_goes_on(
    place: Place, peer: Peer, nursery: Nursery
) -> None:
    reviewer(place, calls(("bump", {})), says("bumped it"), rules=[deferred("bump")])
    family = Family(place, peer, parent(place))
    child = family.child
    family.waiting(child)
    place.kill_daemon()
    with nursery.wake(place) as peer:
        family.peer = peer
        before = place.journal(family.id).read_bytes(), place.journal(child).read_bytes()
        assert [one["kind"] for one in family.pending()] == ["running"]
        assert (place.journal(family.id).read_bytes(), place.journal(child).read_bytes()) == before
        call = family.waiting(child)
        hash_ = {"argumentsHash": call["argumentsHash"]}
        peer.request("agents/complete", token=call["token"], outcome={"kind": "approve"}, resume=True, **hash_)
        assert until(lambda: family.get()["state"] == "userTurn")
        assert family.run()["session"]["output"] == "all reviewed"
        assert (family.calls(), place.ran()) == ([("reviewer", "completed", "bumped it")], 1)


def test_a_workspace_that_is_no_longer_trusted_lends_no_agent(place: Place, peer: Peer) -> None:
    folder = place.work / ".abey" / "agents"
    folder.mkdir(parents=True)
    for name, script in (("boss", (asks(), says("over"))), ("reviewer", (says("fine"),))):
        config = parent(place, *script) | {"slug": name}
        (folder / f"{name}.json").write_text(json.dumps(config))
    peer.request("agents/trust", action="add", dir=str(place.work))
    cwd = str(place.work)
    session = peer.request("agents/start", agent="boss", prompt="go", cwd=cwd, run="step")["sessionId"]
    peer.request("agents/trust", action="remove", dir=str(place.work))
    done = peer.request("agents/run", sessionId=session, until="turn")
    assert done["session"]["output"] == "over"
    items = peer.request("agents/transcript", sessionId=session)["items"]
    [call] = [one["call"] for one in items if "call" in one]
    assert (call["state"], "not trusted" in call["output"]) == ("failed", True)


class Line:
    """A family whose daemons come from the nursery, and may die at any write to the journal of either."""

    def __init__(self, root: Path, nursery: Nursery) -> None:
        self.place = Place(root)
        self.nursery = nursery
        self.config = parent(self.place)
        self.doubted = 0
        self.pid = 0
        reviewer(self.place, calls(("bump", {})), says("it is fine"))

    def wake(self, death: Death = ALIVE) -> Peer:
        self.close()
        peer = self.nursery.wake(self.place, death)
        self.pid = peer.pid
        return peer

    def close(self) -> None:
        if self.pid:
            kill(self.pid)

    def live_on(self, peer: Peer) -> Family:
        """From wherever the two are to the end of both. Raises Gone when the daemon dies on the way."""
        family = self._found(peer)
        while family.get()["state"] != "completed":
            for call in [one for one in peer.request("agents/pending")["items"] if one["kind"] == "uncertain"]:
                self.doubted += 1
                assert call["sessionId"] != family.id, "a call of an agent is never uncertain"
                family.complete(call, "result", content="from outside")
            family.run()
            if [one for one in family.pending() if one["kind"] == "running"]:
                until(lambda: self._moved(peer, family), "for the child")
        return family

    def _moved(self, peer: Peer, family: Family) -> bool:
        kinds = {one["kind"] for one in peer.request("agents/pending")["items"]}
        return "uncertain" in kinds or "running" not in {one["kind"] for one in family.pending()}

    def _found(self, peer: Peer) -> Family:
        try:
            peer.request("agents/get", sessionId="boss")
        except Refusal as refused:
            assert refused.kind == "session/unknown", refused
            return Family(self.place, peer, self.config, sessionId="boss")
        return Family(self.place, peer)


@pytest.mark.parametrize("moment", [pytest.param("torn", marks=pytest.mark.slow), "after"])
def test_a_daemon_that_dies_at_any_write_makes_no_child_twice_and_loses_no_result(
    tmp_path: Path, nursery: Nursery, moment: Moment
) -> None:
    died = True
    for at in count(2):
        if not died:
            break
        with closing(Line(tmp_path / str(at), nursery)) as line:
            try:
                with line.wake(Death(moment, at)) as peer:
                    assert_whole(line, line.live_on(peer))
                died = False
            except Gone:
                with line.wake() as peer:
                    assert_whole(line, line.live_on(peer))
    assert at > MOST_WRITES


MOST_WRITES = 8
"""To the two journals, from the prompt to the answer of the parent, at least."""


def assert_whole(line: Line, family: Family) -> None:
    [child] = family.get()["children"]
    on_disk = {one.name for one in (line.place.state / "sessions").iterdir()}
    output = family.get()["output"]
    told = [("reviewer", "completed", "it is fine")]
    assert (on_disk, family.calls(), output) == ({"boss", child}, told, "all reviewed")
    assert (line.place.ran(), line.doubted) in ((1, 0), (1, 1), (0, 1))


def test_a_child_that_ended_before_its_parent_knew_is_shown_and_recorded_with_the_next_request(
    tmp_path: Path, nursery: Nursery
) -> None:
    with closing(Line(tmp_path / "line", nursery)) as line:
        reviewer(line.place, says("it is fine"))
        with line.wake(Death("after", WRITES_TO_THE_END_OF_A_CHILD)) as peer, pytest.raises(Gone):
            line.live_on(peer)
        with line.wake() as peer:
            journal = line.place.journal("boss").read_bytes()
            family = Family(line.place, peer)
            shown = family.get()
            assert (shown["state"], shown["pending"]) == ("userTurn", [])
            assert (family.calls(), family.pending()) == ([("reviewer", "completed", "it is fine")], [])
            assert [one["state"] for one in peer.request("agents/sessions")["items"]] == ["completed", "userTurn"]
            assert line.place.journal("boss").read_bytes() == journal
            assert family.run()["session"]["output"] == "all reviewed"


WRITES_TO_THE_END_OF_A_CHILD = 4
"""The parent's start and its answer, the child's start and its answer."""


def test_a_parent_that_nobody_has_loaded_is_told_of_the_end_of_its_child(
    place: Place, peer: Peer, nursery: Nursery
) -> None:
    reviewer(place, calls(("bump", {})), says("bumped it"), rules=[deferred("bump")])
    family = Family(place, peer, parent(place))
    child = family.child
    call = family.waiting(child)
    place.kill_daemon()
    with nursery.wake(place) as peer:
        bound = {"argumentsHash": call["argumentsHash"], "resume": True}
        peer.request("agents/complete", token=call["token"], outcome={"kind": "approve"}, **bound)
        journal = place.journal(family.id)
        assert until(lambda: journal.read_text().count('"type":"call-finished"') == 1)


ROUNDS = 20


def test_a_cancel_and_the_end_of_a_child_have_one_winner_and_leave_nothing_running(place: Place, peer: Peer) -> None:
    reviewer(place, says("it is fine"))
    told = {("completed", "it is fine"), ("cancelled", "cancelled by user; it had started and may have run")}
    for _ in range(ROUNDS):
        family = Family(place, peer, parent(place))
        until(lambda family=family: family.get()["children"])
        peer.request("agents/cancel", sessionId=family.id)
        [(_, state, output)] = family.calls()
        assert ((state, output) in told, family.get()["turn"]["end"], family.pending()) == (True, "cancelled", [])
        child = family.get()["children"][0]
        if place.journal(child).exists():
            until(lambda family=family, child=child: family.get(child)["state"] == "completed")
    assert peer.request("agents/status")["sessions"]["running"] == 0
