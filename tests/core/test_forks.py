"""Forks: what of its source a session begins with, and what it does not (machine.md, Forks)."""

from dataclasses import replace

import pytest
from support.forks import NOW, forked, issued, told
from support.seeds import answered, call, said, text
from support.seeds import told as told_by_a_seed
from support.stories import complete, crashed, dispatched, find, repaired, states
from support.world import CLIENT, KID, TOOLS, World, agent, answer, text_parts

from abey.core import events as e
from abey.core.call import RAN_REASON
from abey.core.conversation import ToolOutcome
from abey.core.finding import find_call
from abey.core.lines import at
from abey.core.remembering import made
from abey.core.views import session_view
from abey.errors import InvalidState
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.policy import AskedRule, Deny
from abey.protocol.session import Usage


def finished(*names: str) -> World:
    """A turn with these calls, to its end."""
    world = dispatched(*names)
    for name in names:
        world.tool_ends(name)
    world.drive()
    world.model_says(answer(text="done"))
    return world


def rule(world: World, tool: str, disposition: str) -> str:
    asked = AskedRule.model_validate({"tool": tool, "disposition": disposition, "scope": "session"})
    one = made(asked, session_id="s1", origin="by hand", now="T")
    world.send(e.ChangeRules("add", one, CLIENT))
    return one.rule_id


def test_a_fork_says_what_its_source_says_and_is_a_session_of_its_own() -> None:
    world = finished("run")
    fork = forked(world)
    source = session_view(world.machine, None)
    assert session_view(fork.machine, None) == source.model_copy(
        update={
            "session_id": "f1",
            "title": "t (fork)",
            "forked_from": "s1",
            "usage": Usage(context_tokens=source.usage.context_tokens),
            "created_at": NOW,
            "updated_at": NOW,
        }
    )
    assert told(fork.session) == told(world.session)
    assert (fork.session.revision, fork.session.tries) == (world.session.revision, 2)


def test_both_go_on_and_neither_knows() -> None:
    world = finished("run")
    fork, before = forked(world), world.session
    fork.send(e.Send(e.NewInput(text_parts("here")), e.THIS_TURN, CLIENT))
    fork.model_says(answer(text="there"))
    assert world.session is before
    assert fork.session.usage == Usage(input_tokens=1, output_tokens=1)
    assert fork.session.tries == 3
    assert fork.session.turns[-1].n == 2


def test_at_an_earlier_revision_what_came_later_is_not_there() -> None:
    world = finished("run")
    fork = forked(world, 2)
    assert (fork.session.state, fork.session.revision, fork.session.tries) == ("userTurn", 2, 0)
    assert fork.types() == ["created", "input"]
    fork.drive()
    fork.model_says(answer(text="another"))
    assert fork.session.turns[-1].end == "answered"


def test_an_undecided_call_that_has_started_in_the_source_waits_for_somebody_in_the_fork() -> None:
    world = dispatched("run", "ask", "no")
    fork = forked(world, 4)
    assert fork.session.state == "llmTurn"
    assert fork.session.created.ran == ("c1",)
    fork.drive()
    assert states(fork) == {"c1": "deferred", "c2": "deferred", "c3": "denied"}
    verdict = find(fork, "c1").verdict
    assert verdict is not None
    assert verdict.reason == RAN_REASON
    assert fork.starts == world.starts
    complete(fork, "c1", o.Approve())
    assert len(fork.starts) == 2
    assert states(world) == {"c1": "running", "c2": "deferred", "c3": "denied"}


def test_what_has_not_started_runs_as_the_policy_says() -> None:
    world = dispatched("alone", "run")
    fork = forked(world, 4)
    assert fork.session.created.ran == ("c1",)
    fork.drive()
    assert states(fork) == {"c1": "deferred", "c2": "running"}


def test_a_fork_of_a_fork_still_knows_what_has_run() -> None:
    second = forked(forked(dispatched("run"), 4), session_id="f2")
    assert (second.session.created.forked_from, second.session.created.ran) == ("f1", ("c1",))
    second.drive()
    assert states(second) == {"c1": "deferred"}


def test_what_may_have_run_before_the_disk_crashed_has() -> None:
    world = repaired(crashed("run"))
    assert forked(world, 4).session.created.ran == ("c1",)


def test_a_revision_of_a_line_that_was_left_can_be_forked() -> None:
    world = finished("run")
    last = world.session.revision
    world.send(e.Rewind(2, CLIENT))
    fork = forked(world, last)
    assert told(fork.session) == told(at(world.session, last))
    assert fork.session.turns[-1].end == "answered"
    assert "rewound" not in fork.types()


def test_after_a_rewind_the_fork_can_go_back_as_its_source_can() -> None:
    world = finished("run")
    last = world.session.revision
    world.send(e.Rewind(2, CLIENT))
    fork = forked(world)
    assert fork.session.state == "userTurn"
    fork.send(e.Rewind(last, CLIENT))
    assert told(fork.session) == told(at(world.session, last))
    fork.send(e.Rewind(4, CLIENT))
    fork.drive()
    assert states(fork) == {"c1": "deferred"}


def test_every_call_has_another_token_also_where_it_was_decided_twice() -> None:
    world = dispatched("ask")
    other = replace(TOOLS[2], hash="another")
    world.agent = agent((*TOOLS[:2], other, *TOOLS[3:]))
    world.try_send(e.Complete(next(iter(issued(world))), o.Approve(), "0" * 64, CLIENT))
    complete(world, "c1", o.Approve())
    complete(world, "c1", o.Result(content="r"))
    assert [record.data.type for record in world.records].count("call-decided") == 2
    fork = forked(world)
    assert len(issued(fork)) == 1
    assert not issued(fork) & issued(world)
    for token in issued(world):
        assert find_call(fork.session, token) is None


def test_a_stopped_session_is_forked_where_it_was_quiet() -> None:
    world = dispatched("ask")
    world.send(e.Stop("enough", CLIENT))
    with pytest.raises(InvalidState, match="stopped") as refused:
        forked(world)
    assert refused.value.details == {"state": "stopped", "legal": ["userTurn", "completed", "llmTurn"]}
    fork = forked(world, world.session.revision - 1)
    assert (fork.session.state, fork.session.stopped) == ("userTurn", False)


def test_what_waits_is_held_back_or_put_away_in_the_source_is_not_so_in_the_fork() -> None:
    world = finished("run")
    world.send(e.Send(e.NewInput(text_parts("next")), None, CLIENT))
    world.send(e.Send(e.NewInput(text_parts("later"), "i9", "queue"), None, CLIENT))
    world.send(e.Pause("hold", CLIENT))
    world.send(e.Update("Better", archived=True, client=CLIENT))
    fork = forked(world)
    assert (fork.session.queue, fork.session.paused, fork.session.archived) == ((), None, False)
    assert fork.session.title == "t (fork)"
    assert fork.session.dropped == {"i9": "rejected"}
    assert [one.input_id for one in world.session.queue] == ["i9"]


def test_rules_that_let_calls_run_stay_behind_and_those_that_deny_come_along() -> None:
    world = dispatched("ask")
    rule(world, "ask", "runSync")
    denies = rule(world, "run", "deny")
    world.tool_ends("ask")
    fork = forked(world)
    assert [(one.rule_id, one.disposition) for one in fork.session.rules] == [(denies, Deny())]
    fork.drive()
    fork.model_says(answer(("c2", "ask", "{}"), ("c3", "run", "{}")))
    fork.drive()
    assert (states(fork)["c2"], states(fork)["c3"]) == ("deferred", "denied")


def test_a_child_forks_to_a_session_that_is_none_and_keeps_to_the_policies_above_it() -> None:
    world = World()
    world.start("hello")
    assert world.machine is not None
    above = (world.agent.policy,)
    first = world.records[0]
    assert isinstance(first.data, j.Created)
    child = first.data.model_copy(
        update={"parent": "p", "parent_call": "c", "depth": 1, "parent_policies": above},
    )
    world.records[0] = replace(first, data=child)
    created = forked(world, 2).session.created
    assert (created.parent, created.parent_call, created.depth) == (None, None, None)
    assert created.parent_policies == above


def test_children_stay_with_the_source() -> None:
    world = World(agent((*TOOLS, KID)))
    world.start("hello", e.STEP)
    world.model_says(answer(("c1", "kid", "{}")))
    world.drive()
    (child,) = world.session.children
    world.children[child] = ToolOutcome("what it said")
    world.tool_ends("kid", "what it said")
    fork = forked(world)
    assert (fork.session.children, find(fork, "c1").child_id) == ((), None)
    assert told(fork.session) == told(world.session)
    assert world.session.children == (child,)


def test_a_request_to_the_model_is_its_source_s_alone() -> None:
    world = World()
    world.start("hello", e.STEP)
    fork = forked(world)
    assert (fork.session.state, fork.session.asked, fork.session.transition) == ("userTurn", None, "input")
    assert told(fork.session) == told(at(world.session, 2))
    fork.crash()
    assert told(fork.session) == told(at(world.session, 2))


def test_a_fork_of_what_was_imported_is_younger_than_that_and_not_its_file() -> None:
    world = finished("run")
    revision = world.session.revision + 1
    imported = j.Imported(format="agents-exe", source="a", original="{}", records=0)
    world.records.append(j.Record(revision, "T000000000000005Z", imported))
    world.crash()
    again = forked(world)
    assert again.session.created_at == NOW
    assert again.records[-1].data == j.Imported(format="agents-exe", source="a")
    again.records.append(j.Record(revision + 1, "T000000000000010Z", j.Imported(format="jsonl", source="b")))
    again.crash()
    assert again.session.created_at == "T000000000000010Z"


def test_a_fork_of_a_seeded_session_begins_where_that_does() -> None:
    world = told_by_a_seed(said("hi"), answered(call("c1", "bg"), text("so")), revision=7, turnCount=3, userId="u1")
    complete(world, "c1", o.Result(content="r"))
    fork = forked(world)
    assert (fork.records[0].rev, fork.session.first_rev, fork.session.turn_count) == (8, 8, 3)
    assert (fork.session.user_id, told(fork.session)) == ("u1", told(world.session))
    undecided = forked(world, 9)
    assert (undecided.session.state, undecided.session.transition) == ("llmTurn", "candidate")
    undecided.drive()
    assert states(undecided) == {"c1": "deferred"}
    with pytest.raises(InvalidState, match="has the revisions 8 to"):
        forked(world, 7)
