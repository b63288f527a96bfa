"""Small session files of agents-exe, one of each version and state, become sessions of ours."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.foreign import NOW, OURS, brought, fault_in_history, ours, value

from abey.core.completing import legal_outcomes, pending_kind
from abey.core.conversation import UserMessage
from abey.core.history import history
from abey.core.invariants import check, check_journal
from abey.core.machine import Machine
from abey.core.session import AnswerEntry, open_calls
from abey.core.views import items
from abey.errors import InvalidSeed
from abey.protocol.session import Usage
from abey.protocol.transcript import MediaPart, TextPart
from abey.runtime.transfer.agents_exe_agent import slug_of

GOOD = ["no-version", "version-1", "version-2-partial", "legacy-partial", "unanswered", "empty"]


def shown(came: Any) -> list[Any]:
    """The transcript in short: inputs, thoughts, texts, and calls with their state and output."""
    told: list[Any] = []
    for item in items(came.session):
        if item.call is not None:
            told.append((item.call.tool, item.call.state, item.call.output))
        else:
            told.append((item.kind, item.text if item.parts is None else [part.wire() for part in item.parts]))
    return told


def said(text: str) -> Any:
    return ("input", [{"kind": "text", "text": text}])


def test_a_file_without_a_version_has_its_turns_calls_and_bare_responses() -> None:
    came = ours("no-version")
    table = {"columns": ["n"], "rows": [[1]], "rowCount": 1, "executionTime": 0.5}
    assert shown(came) == [
        said("What is here?"),
        ("thinking", "I look."),
        ("bash_ls", "completed", "a.txt\nb.txt"),
        ("bash_ls", "completed", table),
        ("answer", "Two files."),
        said("And now?"),
        ("bash_ls", "completed", "nothing new"),
        said("Hurry."),
        ("answer", "The same."),
    ]
    assert (came.session.state, [turn.end for turn in came.session.turns]) == ("completed", ["answered", "answered"])


def test_the_arguments_are_the_models_own_text_also_where_they_are_malformed() -> None:
    calls = [call for turn in ours("no-version").session.turns for entry in turn.entries for call in calls_of(entry)]
    assert [call.arguments for call in calls] == ['{"path": "."}', '{"path": ', "{}"]


def calls_of(entry: Any) -> Any:
    return entry.calls if isinstance(entry, AnswerEntry) else ()


def test_an_id_that_a_provider_uses_again_is_another_one_here() -> None:
    calls = [call for turn in ours("no-version").session.turns for entry in turn.entries for call in calls_of(entry)]
    first, second, again = (call.call_id for call in calls)
    assert (first, second) == ("ls:0", "ls:1")
    assert len(again) == 26


def test_version_1_has_media_typed_responses_and_usage() -> None:
    came = ours("version-1")
    mixed = {
        "type": "mixed",
        "parts": [
            {"type": "text", "content": "x"},
            {"type": "media", "mimeType": "image/png", "base64Data": "iVBORw0KGgo="},
        ],
    }
    assert came.session.turns[0].entries[0].parts == (  # type: ignore[union-attr] # an input stands first
        TextPart(text="Look at this."),
        MediaPart(mime_type="image/png", base64_data="iVBORw0KGgo="),
    )
    assert shown(came)[1:] == [
        ("answer", "Looking."),
        ("bash_ls", "completed", {"type": "text", "content": "a.txt"}),
        ("bash_ls", "completed", {"type": "json", "content": {"error": "no"}}),
        ("bash_ls", "completed", mixed),
        ("answer", "A file."),
    ]
    assert came.session.usage == Usage(input_tokens=10, output_tokens=5, cached_tokens=4, reasoning_tokens=2)


def test_two_calls_of_one_answer_with_one_id_keep_each_its_response() -> None:
    calls = [call for entry in ours("version-1").session.turns[0].entries for call in calls_of(entry)]
    assert [(len(call.call_id), call.fault) for call in calls] == [
        (4, None),
        (26, "tool/duplicate-call-id"),
        (4, None),
    ]


def test_a_turn_that_is_not_whole_waits_for_what_it_waited_for() -> None:
    came = ours("version-2-partial")
    assert came.session.state == "partialUserTurn"
    assert [(call.call_id, call.state, pending_kind(call)) for call in open_calls(came.session)] == [
        ("ls:1", "deferred", "external"),
        ("ls:2", "uncertain", "uncertain"),
    ]
    assert [legal_outcomes(call) for call in open_calls(came.session)] == [
        ("result", "error", "deny", "cancel"),
        ("result", "error", "cancel"),
    ]
    assert shown(came)[2:] == [
        ("bash_ls", "completed", {"type": "text", "content": "a.txt"}),
        ("bash_ls", "deferred", None),
        ("bash_ls", "uncertain", None),
        ("bash_ls", "failed", {"type": "text", "content": "tool call failed: no"}),
    ]


def test_a_reason_to_wait_comes_along_and_a_token_does_not() -> None:
    waiting = open_calls(ours("version-2-partial").session)[0].verdict
    assert waiting is not None
    assert waiting.reason == "approval required"
    assert waiting.token not in (OURS / "version-2-partial.json").read_text()


def test_an_older_turn_that_is_not_whole_waits_too() -> None:
    came = ours("legacy-partial")
    assert shown(came) == [said("Go on."), ("bash_ls", "completed", "a.txt"), ("bash_ls", "deferred", None)]


def test_calls_that_nobody_answered_wait_for_somebody() -> None:
    came = ours("unanswered")
    assert [pending_kind(call) for call in open_calls(came.session)] == ["external"]


def test_input_of_a_turn_that_is_not_whole_follows_the_results() -> None:
    file = value("legacy-partial")
    file["turns"][0]["contents"]["userQuery"] = "And hurry."
    came = brought(json.dumps(file))
    assert [(one.delivery, one.parts) for one in came.session.queue] == [("interrupt", (TextPart(text="And hurry."),))]


def test_results_that_the_file_goes_on_without_are_told_to_be_missing() -> None:
    file = value("unanswered")
    file["turns"].insert(0, {"tag": "UserTurn", "contents": {"userPrompt": "", "userTools": [], "userQuery": "Stop."}})
    came = brought(json.dumps(file))
    missing = "the imported file has no result for this call"
    assert shown(came) == [said("Go on."), ("bash_ls", "cancelled", missing), said("Stop.")]
    assert came.session.state == "userTurn"


def test_a_result_of_a_call_that_nobody_made_is_told_under_an_answer_of_its_own() -> None:
    file = value("version-1")
    file["turns"][1]["contents"]["userToolResponses"][0][0]["id"] = "strange"
    missing = "the imported file has no result for this call"
    assert [(one[0], one[1], one[2]) for one in shown(brought(json.dumps(file))) if one[0] == "bash_ls"] == [
        ("bash_ls", "completed", {"type": "json", "content": {"error": "no"}}),
        ("bash_ls", "cancelled", missing),
        ("bash_ls", "completed", file["turns"][1]["contents"]["userToolResponses"][2][1]),
        ("bash_ls", "completed", {"type": "text", "content": "a.txt"}),
    ]


def test_results_stand_first_where_the_calls_were_cut_off() -> None:
    file = value("version-1")
    file["turns"] = file["turns"][:2]
    came = brought(json.dumps(file))
    assert [one[0] for one in shown(came)] == ["input", "bash_ls", "bash_ls", "bash_ls", "answer"]
    assert fault_in_history(came.session, came.agent) is None


def test_a_file_without_turns_is_a_session_that_waits_for_its_first_input() -> None:
    came = ours("empty")
    assert (came.types, came.session.state, came.session.title) == (["created", "imported"], "completed", "empty")


def test_an_answer_that_nobody_asked_for_follows_an_empty_input() -> None:
    file = value("no-version")
    file["turns"] = file["turns"][:1]
    came = brought(json.dumps(file))
    assert history(came.session)[0] == UserMessage((TextPart(text=""),))
    assert fault_in_history(came.session, came.agent) is None


def test_every_record_has_the_time_its_provider_said_or_that_of_the_import() -> None:
    assert [record.at for record in ours("no-version").records if record.data.type in ("candidate", "input")] == [
        "2026-05-04T01:01:07.000Z",
        "2026-05-04T01:01:07.000Z",
        "2026-05-04T01:01:10.000Z",
        "2026-05-04T01:01:10.000Z",
        "2026-05-04T01:01:20.000Z",
        "2026-05-04T01:01:20.000Z",
        "2026-05-04T01:01:30.000Z",
    ]
    assert {record.at for record in ours("empty").records} == {NOW}


@pytest.mark.parametrize("created", [-1, 10**18, 1.5, "1777856467", True, None])
def test_a_time_that_is_none_is_that_of_the_import(created: Any) -> None:
    file = value("unanswered")
    file["turns"][0]["contents"]["llmResponse"]["rawResponse"]["created"] = created
    assert {record.at for record in brought(json.dumps(file)).records} == {NOW}


@pytest.mark.parametrize("name", GOOD)
def test_the_invariants_hold_and_a_strict_provider_takes_the_history(name: str) -> None:
    came = ours(name)
    machine = Machine(came.session)
    check(machine)
    check_journal(machine, came.records)
    assert fault_in_history(came.session, came.agent) is None


@pytest.mark.parametrize("name", GOOD)
def test_nothing_was_started_here_so_no_step_counts_against_the_turn(name: str) -> None:
    came = ours(name)
    assert "model-requested" not in came.types
    assert [turn.steps for turn in came.session.turns] == [
        1 if turn is came.session.open_turn and open_calls(came.session) else 0 for turn in came.session.turns
    ]


def test_the_agent_is_what_the_file_says_with_tools_for_others_to_run() -> None:
    agent = ours("version-1").agent
    assert agent.config == {
        "slug": "version-1",
        "description": "as a session file of agents-exe has it",
        "systemPrompt": "Be brief.",
        "model": {"provider": "openai", "name": "tiny"},
        "tools": [
            {
                "kind": "external",
                "name": "bash_ls",
                "description": "lists",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            }
        ],
    }


def test_the_same_file_at_the_same_time_with_the_same_chance_gives_the_same_records() -> None:
    assert ours("version-2-partial") == ours("version-2-partial")


@pytest.mark.parametrize(
    ("source", "slug"),
    [
        ("gh-298.session.json", "gh-298"),
        ("Übung 1.JSON", "bung-1"),
        ("...", "imported"),
        ("x" * 100, "x" * 64),
        ("-_.json", "imported"),
    ],
)
def test_a_slug_comes_of_any_files_name(source: str, slug: str) -> None:
    assert slug_of(source) == slug


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_whatever_stands_in_any_place_of_a_file_is_a_session_or_one_clear_refusal(data: st.DataObject) -> None:
    file = value(data.draw(st.sampled_from(GOOD)))
    place: Any = file
    for _ in range(data.draw(st.integers(0, 8))):
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
        if not isinstance(place[key], dict | list) or not place[key]:
            break
        place = place[key]
    if place:
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
        place[key] = data.draw(JSON)
    try:
        came = brought(json.dumps(file))
    except InvalidSeed as refusal:
        assert refusal.message.startswith("talk.json: at /")
    else:
        check(Machine(came.session))
        assert fault_in_history(came.session, came.agent) is None
