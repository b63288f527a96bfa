"""The real session files of agents-exe come in whole and go out as they were."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.foreign import REAL, Brought, brought, fault_in_history

from abey.core.session import AnswerEntry, InputEntry
from abey.core.views import items
from abey.runtime.transfer.agents_exe_export import export_text

INDEX = REAL / "index.jsonl"
NAMED = [json.loads(line) for line in INDEX.read_text().splitlines()] if INDEX.exists() else []

pytestmark = pytest.mark.skipif(not NAMED, reason="the real session files are not here")


@pytest.fixture(params=NAMED, ids=lambda known: known["file"][:2])
def known(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def came(known: Any) -> Brought:
    return brought((REAL / known["file"]).read_text(), known["file"])


def told(came: Brought) -> Any:
    return [turn["contents"] for turn in reversed(json.loads(came.text)["turns"])]


def entries(came: Brought, kind: type[Any]) -> list[Any]:
    return [entry for turn in came.session.turns for entry in turn.entries if isinstance(entry, kind)]


def test_there_are_as_many_turns_calls_and_finish_reasons_as_the_index_says(came: Brought, known: Any) -> None:
    answers = entries(came, AnswerEntry)
    calls = [call for answer in answers for call in answer.calls]
    assert {
        "turns": len(answers) + len(entries(came, InputEntry)) + came.types.count("tool-results"),
        "llm_turns": len(answers),
        "tool_calls": len(calls),
        "parallel_llm_turns": sum(len(answer.calls) > 1 for answer in answers),
        "finish_reasons": dict(Counter(answer.finish_reason for answer in answers)),
    } == {key: known[key] for key in ("turns", "llm_turns", "tool_calls", "parallel_llm_turns", "finish_reasons")}


def test_every_text_call_and_response_is_in_the_transcript_in_its_order(came: Brought) -> None:
    shown = list(items(came.session))
    turns = told(came)
    assert [part.text for item in shown if item.kind == "input" for part in item.parts or ()] == [
        turn["userQuery"] for turn in turns if turn.get("userQuery") is not None
    ]
    said = [turn["llmResponse"] for turn in turns if "llmResponse" in turn]
    assert [item.text for item in shown if item.kind == "answer"] == [
        one["responseText"] for one in said if one["responseText"]
    ]
    assert [item.text for item in shown if item.kind == "thinking"] == [
        one["responseThinking"] for one in said if one["responseThinking"]
    ]
    results = [pair for turn in turns for pair in turn.get("userToolResponses", ())]
    assert [(item.call.tool, item.call.output) for item in shown if item.call] == [
        (call["function"]["name"], response) for call, response in results
    ]
    calls = [call for entry in entries(came, AnswerEntry) for call in entry.calls]
    assert [call.arguments for call in calls] == [call["function"]["arguments"] for call, _ in results]


def test_its_usage_is_the_sum_of_what_the_provider_counted(came: Brought) -> None:
    raw = [turn["llmResponse"]["rawResponse"]["usage"] for turn in told(came) if "llmResponse" in turn]
    usage = came.session.usage
    assert (usage.input_tokens, usage.output_tokens) == (
        sum(one["prompt_tokens"] for one in raw),
        sum(one["completion_tokens"] for one in raw),
    )


def test_it_goes_out_byte_for_byte(came: Brought) -> None:
    assert export_text(came.session, came.records, came.agent) == came.text


def test_it_has_ended_and_a_strict_provider_takes_its_history(came: Brought) -> None:
    assert came.session.state == "completed"
    assert fault_in_history(came.session, came.agent) is None


def test_its_agent_has_the_prompt_and_every_tool_for_others_to_run(came: Brought) -> None:
    users = [turn for turn in told(came) if "userTools" in turn]
    if not users:
        assert (came.agent.system_prompt, dict(came.agent.tools)) == ("", {})
        return
    assert came.agent.system_prompt == users[-1]["userPrompt"]
    assert {(one.name, one.runnable) for one in came.agent.tools.values()} == {
        (tool["contents"]["llmName"], False) for tool in users[-1]["userTools"]
    }


def test_without_the_original_text_it_still_goes_out_with_the_same_turns(came: Brought) -> None:
    native = tuple(record for record in came.records if record.data.type != "imported")
    again = json.loads(export_text(came.session, native, came.agent))
    assert [turn["tag"] for turn in again["turns"]] == [turn["tag"] for turn in json.loads(came.text)["turns"]]
    second = brought(json.dumps(again))
    assert [(item.kind, item.text) for item in items(second.session)] == [
        (item.kind, item.text) for item in items(came.session)
    ]


def test_every_file_of_the_index_is_here() -> None:
    assert {one["file"] for one in NAMED} == {path.name for path in Path(REAL).glob("*.json")}
