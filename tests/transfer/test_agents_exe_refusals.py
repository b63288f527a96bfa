"""Session files that cannot be imported are refused by name and place, and hostile ones harm nobody."""

import json
from typing import Any

import pytest
from support.foreign import OURS, brought, fault_in_history, value

from abey.core.history import history
from abey.errors import InvalidSeed


def refusal(text: str) -> str:
    with pytest.raises(InvalidSeed) as refused:
        brought(text)
    return refused.value.message


def changed(name: str, way: tuple[Any, ...], new: Any) -> str:
    file = value(name)
    place = file
    for key in way[:-1]:
        place = place[key]
    place[way[-1]] = new
    return json.dumps(file)


def test_continuations_of_an_older_agents_exe_are_refused_with_the_way_out() -> None:
    assert refusal((OURS / "legacy-continuations.json").read_text()) == (
        "talk.json: at /turns/0/contents/pendingContinuations: a continuation of an older agents-exe cannot be carried "
        "on; let agents-exe finish the turn first"
    )


@pytest.mark.parametrize(
    ("way", "new", "message"),
    [
        (("turns",), None, "at /turns: nothing stands where a list belongs"),
        (("turns",), {}, "at /turns: an object stands where a list belongs"),
        (("sessionVersion",), 3, "at /sessionVersion: session file version 3 is not known; 1 and 2 are"),
        (("sessionVersion",), True, "at /sessionVersion: session file version True is not known; 1 and 2 are"),
        (("sessionId",), 7, "at /sessionId: a number stands where a string belongs"),
        (
            ("turns", 0, "tag"),
            "OtherTurn",
            "at /turns/0/tag: 'OtherTurn' is no turn; UserTurn, LlmTurn and PartialUserTurn are",
        ),
        (("turns", 0), "x", "at /turns/0: a string stands where an object belongs"),
        (("turns", 0, "contents"), None, "at /turns/0/contents: nothing stands where an object belongs"),
        (
            ("turns", 1, "contents", "userToolResponses", 0),
            [{}],
            "at /turns/1/contents/userToolResponses/0: a list of 1 stands where a list of two belongs",
        ),
        (
            ("turns", 3, "contents", "userQuery", "media", 0),
            {"mimeType": "image/png"},
            "at /turns/3/contents/userQuery/media/0: a medium has mimeType and base64Data",
        ),
        (
            ("turns", 0, "contents", "llmResponse", "responseText"),
            5,
            "at /turns/0/contents/llmResponse/responseText: a number stands where a string belongs",
        ),
    ],
)
def test_a_wrong_shape_is_refused_with_its_pointer(way: tuple[Any, ...], new: Any, message: str) -> None:
    assert refusal(changed("version-1", way, new)) == f"talk.json: {message}"


def test_a_state_that_no_call_has_is_refused() -> None:
    text = changed("version-2-partial", ("turns", 0, "contents", "trackedToolCalls", 1, "state"), "Odd")
    assert refusal(text) == (
        "talk.json: at /turns/0/contents/trackedToolCalls/1/state: 'Odd' is no state of a call; Ready, Deferred, "
        "Running, Completed, Failed are"
    )


def test_a_turn_that_is_not_whole_names_only_calls_that_were_made() -> None:
    text = changed("version-2-partial", ("turns", 0, "contents", "trackedToolCalls", 1, "call", "id"), "x")
    assert refusal(text) == (
        "talk.json: at /turns/0/contents/trackedToolCalls/1/call: the model turn before it made no call 'x'"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "talk.json: it is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "talk.json: at the top: a list of 0 stands where an object belongs"),
        ('{"turns": NaN}', "talk.json: it is not JSON: NaN is not JSON"),
        ('{"turns": 1e999}', "talk.json: it is not JSON: 1e999 is too large a number"),
        ('{"turns": ' + "[" * 100_000, "talk.json: it nests too deep"),
    ],
)
def test_what_is_no_json_is_refused(text: str, message: str) -> None:
    assert refusal(text) == message


def test_a_number_of_too_many_digits_is_refused() -> None:
    assert refusal('{"turns": ' + "9" * 5000 + "}").startswith("talk.json: it is not JSON: Exceeds the limit")


def test_of_a_key_that_stands_twice_the_last_one_counts() -> None:
    text = (OURS / "empty.json").read_text().replace("{", '{"turns": [1],', 1)
    assert brought(text).session.turns == ()


def test_half_a_surrogate_pair_is_mended_wherever_a_model_would_read_it() -> None:
    half = "\ud83d"
    text = changed("no-version", ("turns", 0, "contents", "llmResponse", "responseText"), half)
    text = text.replace("What is here?", r"\ud83d").replace("bash_ls", r"\udc00").replace("Be brief.", r"\udbff")
    came = brought(text.replace("a.txt", r"\ud83d"))
    assert fault_in_history(came.session, came.agent) is None
    assert "�" in str(history(came.session))
    assert came.data[1].original == came.text  # type: ignore[attr-defined] # the second record is `imported`


def test_a_refusal_is_one_line_whatever_the_file_is_called() -> None:
    with pytest.raises(InvalidSeed) as refused:
        brought("[]", "a\x1b[2J\n.json")
    assert refused.value.message == r"a\x1b[2J\n.json: at the top: a list of 0 stands where an object belongs"
