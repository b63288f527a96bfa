"""`complete`, `approve`, `deny`: what is sent, and when a late answer is still the same."""

import json
from pathlib import Path

import pytest
from support.canned_daemon import (
    HASH,
    SESSION_ID,
    TOKEN,
    CannedDaemon,
    Refusal,
    completion,
    pending,
    tool_item,
    transcript,
)

WAY_ON = f"`abey session resume {SESSION_ID}` goes on"


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        (("--text", "sunny"), {"kind": "result", "content": "sunny"}),
        (("--text", ""), {"kind": "result", "content": ""}),
        (("--data", '{"b": 1, "a": null}'), {"kind": "result", "content": {"b": 1, "a": None}}),
        (("--data", "null"), {"kind": "result", "content": None}),
        (("--error", "no network"), {"kind": "error", "message": "no network"}),
    ],
)
def test_a_result_is_what_the_option_says(abey, daemon: CannedDaemon, options, outcome) -> None:
    daemon.on["agents/complete"] = completion(outcome["kind"])
    ran = abey("session", "complete", TOKEN, *options, "--resume")
    assert ran == (0, "State: UserTurn (ready for LLM)\n", f"{outcome['kind']} by ann\n{WAY_ON}\n")
    assert abey("session", "complete", TOKEN, *options, "-q").err == ""
    assert abey("session", "complete", TOKEN, *options, "--json").err == f"{outcome['kind']} by ann\n"
    daemon.asked = daemon.asked[:1]
    assert daemon.asked == [("agents/complete", {"token": TOKEN, "outcome": outcome, "resume": True})]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('"sunny"', '"sunny"'),
        ("sunny\n\n", "sunny\n"),
        ("42", "42"),
        ('{"a": 1}', '{"a": 1}'),
        ('{"type": "html"}', '{"type": "html"}'),
        ('{"type": "json", "content": NaN}', '{"type": "json", "content": NaN}'),
        ('{"type": "json", "content": [1]}\n', {"type": "json", "content": [1]}),
        ('{"type": "text", "content": "x"}', {"type": "text", "content": "x"}),
    ],
)
def test_a_file_is_text_unless_it_is_an_object_with_a_known_type(
    abey, daemon: CannedDaemon, work, text, content
) -> None:
    (work / "result").write_text(text)
    daemon.on["agents/complete"] = completion("result")
    assert abey("session", "complete", TOKEN, "result").code == 0
    assert abey("session", "complete", TOKEN, "-", typed=text).code == 0
    sent = [params["outcome"]["content"] for params in daemon.params("agents/complete")]
    assert sent == [content, content]


@pytest.mark.parametrize(
    ("options", "code"),
    [((), 2), (("f", "--text", "x"), 2), (("--data", "{"), 2), (("--data", "NaN"), 2), (("absent",), 1)],
)
def test_without_one_result_nothing_is_sent(abey, daemon: CannedDaemon, options, code) -> None:
    assert abey("session", "complete", TOKEN, *options).code == code
    assert daemon.asked == []


@pytest.mark.parametrize(
    ("options", "first", "recorded", "code"),
    [
        (("complete", TOKEN, "--text", "sunny"), {"kind": "result"}, {"output": "sunny"}, 0),
        (
            ("complete", TOKEN, "--text", "sunny"),
            {"kind": "result"},
            {"output": {"type": "text", "content": "sunny"}},
            0,
        ),
        (("complete", TOKEN, "--text", "rain"), {"kind": "result"}, {"output": "sunny"}, 5),
        (("complete", TOKEN, "--text", "sunny"), {"kind": "deny"}, {}, 5),
        (("complete", TOKEN, "--error", "e"), {"kind": "error", "message": "e"}, {}, 0),
        (("deny", TOKEN, "no"), {"kind": "deny", "message": "no"}, {}, 0),
        (("deny", TOKEN), {"kind": "deny", "message": "no"}, {}, 5),
        (("deny", TOKEN), {"kind": "cancelled"}, {}, 5),
        (("approve", TOKEN), {"kind": "approve"}, {"arguments": {"x": 1}}, 0),
        (("approve", TOKEN), {"kind": "approve"}, {"arguments": {"x": 1}, "effectiveArguments": {"x": 2}}, 5),
    ],
)
def test_a_late_answer_is_a_conflict_unless_it_is_the_same(
    abey, daemon: CannedDaemon, options, first, recorded, code
) -> None:
    daemon.on["agents/pending"] = {"items": []}
    daemon.on["agents/complete"] = completion(applied=False, **first)
    daemon.on["agents/transcript"] = transcript(
        tool_item("other", "completed", output="rain"), tool_item("sh", "completed", token=TOKEN, **recorded)
    )
    ran = abey("session", *options)
    assert (ran.code, ran.err) == (code, f"already answered: {first['kind']} by ann\n")


def test_approve_shows_the_whole_call_and_binds_to_it(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/pending"] = {"items": [pending(token="7" * 32), pending()]}
    daemon.on["agents/complete"] = completion("approve")
    ran = abey("session", "approve", TOKEN)
    assert (ran.code, ran.out) == (0, "State: UserTurn (ready for LLM)\n")
    shown = ran.err
    assert shown == (
        f"tool: bash_command\ntoken: {TOKEN}\nsession: {pending()['sessionId']}\ncwd: /w\n"
        f'arguments:\n  {{\n    "command": "date"\n  }}\nreason: approval required\nhash: {HASH}\n'
        f"approve by ann\n{WAY_ON}\n"
    )
    sent = {"token": TOKEN, "outcome": {"kind": "approve"}, "argumentsHash": HASH}
    assert daemon.params("agents/complete") == [sent]


def test_approve_says_what_ran_instead_and_what_came_of_it(abey, daemon: CannedDaemon, work) -> None:
    daemon.on["agents/pending"] = {"items": [pending()]}
    daemon.on["agents/complete"] = completion("approve")
    item = tool_item("bash_command", "failed", token=TOKEN, output="boom\n[exit code 1]")
    daemon.on["agents/transcript"] = transcript(item)
    (work / "edited.json").write_text('{"command": "cal"}')
    ran = abey("session", "approve", TOKEN, "--arguments", "edited.json")
    assert (ran.code, ran.err.splitlines()[-8:]) == (
        0,
        [
            "with these arguments instead:",
            "  {",
            '    "command": "cal"',
            "  }",
            "approve by ann",
            "bash_command failed: boom",
            "[exit code 1]",
            WAY_ON,
        ],
    )


def test_a_refusal_names_the_command_that_is_legal(abey, daemon: CannedDaemon) -> None:
    def refuse(_params: object) -> object:
        raise Refusal(-31008, "approve is not legal", kind="state/invalid", retryable=False, pendingKind="external")

    daemon.on["agents/pending"] = {"items": [pending(kind="external")]}
    daemon.on["agents/complete"] = refuse
    said = f"abey: approve is not legal; use `abey session complete {TOKEN} FILE` (state/invalid)"
    assert abey("session", "approve", TOKEN).err.splitlines()[-1] == said


def test_rerun_shows_the_call_that_may_have_run_and_binds_to_it(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/pending"] = {"items": [pending(kind="uncertain")]}
    daemon.on["agents/complete"] = completion("rerun")
    ran = abey("session", "rerun", TOKEN)
    assert (ran.code, "tool: bash_command" in ran.err) == (0, True)
    sent = {"token": TOKEN, "outcome": {"kind": "rerun"}, "argumentsHash": HASH}
    assert daemon.params("agents/complete") == [sent]


def test_approve_with_a_hash_leaves_the_check_to_the_daemon(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/pending"] = {"items": [pending()]}
    daemon.on["agents/complete"] = completion("approve")
    abey("session", "approve", TOKEN, "--hash", "b" * 64)
    assert daemon.params("agents/complete")[0]["argumentsHash"] == "b" * 64


def test_approve_runs_edited_arguments_bound_to_the_shown_ones(abey, daemon: CannedDaemon, work, monkeypatch) -> None:
    daemon.on["agents/pending"] = {"items": [pending()]}
    daemon.on["agents/complete"] = completion("approve")
    (work / "edited.json").write_text('{"command": "echo hi"}')
    monkeypatch.setenv("VISUAL", "sed -i s/date/cal/")
    abey("session", "approve", TOKEN, "--arguments", "edited.json")
    abey("session", "approve", TOKEN, "--edit")
    monkeypatch.setenv("VISUAL", "true")
    unchanged = abey("session", "approve", TOKEN, "--edit")
    assert (unchanged.code, unchanged.err.splitlines()[-1]) == (1, "abey: nothing was edited, and nothing approved")
    assert [(sent["outcome"], sent["argumentsHash"]) for sent in daemon.params("agents/complete")] == [
        ({"kind": "approve", "arguments": {"command": "echo hi"}}, HASH),
        ({"kind": "approve", "arguments": {"command": "cal"}}, HASH),
    ]


@pytest.mark.parametrize(
    ("options", "editor"),
    [
        (("--edit",), "false"),
        (("--edit",), "sed -i d"),
        (("--arguments", "list.json"), ""),
        (("--edit",), "./absent"),
        (("--edit",), "vi '"),
        (("--edit",), " "),
    ],
)
def test_nothing_is_approved_where_the_edit_fails(abey, daemon: CannedDaemon, work: Path, monkeypatch, options, editor):
    daemon.on["agents/pending"] = {"items": [pending()]}
    (work / "list.json").write_text("[1]")
    monkeypatch.setenv("VISUAL", editor)
    assert abey("session", "approve", TOKEN, *options).code == 1
    assert daemon.params("agents/complete") == []


def test_half_a_character_is_edited_as_json_spells_it(abey, daemon: CannedDaemon, monkeypatch) -> None:
    daemon.on["agents/pending"] = {"items": [pending(arguments={"command": "\ud800 é"})]}
    monkeypatch.setenv("VISUAL", "sed -i s/é/e/")
    abey("session", "approve", TOKEN, "--edit")
    [sent] = daemon.params("agents/complete")
    assert sent["outcome"] == {"kind": "approve", "arguments": {"command": "\ud800 e"}}


def test_a_completion_is_json_as_it_came(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/complete"] = completion("result")
    assert json.loads(abey("session", "complete", TOKEN, "--text", "x", "--json").out) == completion("result")


FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "sure": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}


def asking(**more: object) -> dict[str, object]:
    """A call that asks; its hash covers the question."""
    return pending(kind="question", question={"kind": "response", "prompt": "who?", **more})


@pytest.mark.parametrize(
    ("question", "words", "value"),
    [
        (
            {"schema": FORM},
            ("name=7", "age=7", "sure=yes", "tags=a, b"),
            {"name": "7", "age": 7, "sure": True, "tags": ["a", "b"]},
        ),
        ({"schema": FORM}, ("name=a=b", "tags=", "more=x"), {"name": "a=b", "tags": [], "more": "x"}),
        ({"schema": FORM}, ('{"name": "Ada"}',), {"name": "Ada"}),
        ({"schema": {"properties": {"any": True, "none": False}}}, ("any=1", "none=x"), {"any": 1, "none": "x"}),
        ({"schema": {"type": "string"}}, ("7",), "7"),
        ({}, ("7",), 7),
        ({}, ("seven", "eight"), "seven eight"),
        ({"kind": "approval"}, ("no",), False),
    ],
)
def test_an_answer_is_the_value_that_the_question_wants(abey, daemon: CannedDaemon, question, words, value) -> None:
    daemon.on["agents/pending"] = {"items": [asking(**question)]}
    daemon.on["agents/complete"] = completion("answer")
    ran = abey("session", "answer", TOKEN, *words)
    assert (ran.code, "question: who?" in ran.err) == (0, True)
    answered = {"token": TOKEN, "outcome": {"kind": "answer", "value": value}, "argumentsHash": HASH}
    assert daemon.asked[-1] == ("agents/complete", answered)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give an answer, or --decline"),
        (("x", "--decline"), "give an answer or --decline, not both"),
        (("Ada",), "'Ada' is no field: write NAME=VALUE for each of name, age, sure, tags, or all as"),
        (("sure=perhaps",), "'perhaps' is neither yes nor no"),
        (("age=old",), "age wants integer: 'old' is no JSON value"),
    ],
)
def test_what_is_no_answer_is_refused_before_anything_is_sent(abey, daemon: CannedDaemon, words, said) -> None:
    daemon.on["agents/pending"] = {"items": [asking(schema=FORM)]}
    ran = abey("session", "answer", TOKEN, *words)
    assert (ran.code, said in ran.err, [method for method, _ in daemon.asked if method == "agents/complete"]) == (
        2,
        True,
        [],
    )


def test_an_answer_without_a_value_shows_the_question(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/pending"] = {"items": [asking()]}
    ran = abey("session", "answer", TOKEN)
    lines, said = ran.err.splitlines(), "abey: give an answer, or --decline"
    assert (ran.code, ran.out, "question: who?" in lines, lines[-1]) == (2, "", True, said)


def test_a_form_without_fields_wants_an_object(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/pending"] = {"items": [asking(schema={"type": "object", "properties": {}})]}
    ran = abey("session", "answer", TOKEN, "Ada")
    said = "abey: 'Ada' is no field: write NAME=VALUE for each of its fields, or all as one JSON object\n"
    assert (ran.code, ran.err.endswith(said)) == (2, True)


def test_to_decline_is_an_answer_too(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/pending"] = {"items": [asking()]}
    daemon.on["agents/complete"] = completion("cancel")
    assert abey("session", "answer", TOKEN, "--decline").code == 0
    assert daemon.asked[-1][1]["outcome"] == {"kind": "cancel"}
