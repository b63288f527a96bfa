"""The document of a pending call: what is found in it, what can be written in it, and what it is answered with."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from language.sessions.test_harmless import acting, values
from lsprotocol import types as lsp
from support.session_pages import ASKER, AT, FOLDER, call, document, looking, page, pending

from abey.errors import InvalidArguments, InvalidState
from abey.language.language import Document
from abey.language.sessions.arguments import Decision, first_text, outcome, unwritten
from abey.language.sessions.arguments_language import ArgumentsLanguage
from abey.language.sessions.page import Page
from abey.protocol import outcomes as o
from abey.protocol.transcript import Pending
from abey.runtime.agents.aside import Aside

APPROVAL, EXTERNAL, UNCERTAIN = pending(), pending(kind="external"), pending(kind="uncertain")
YES_OR_NO = pending(kind="question", question={"kind": "approval", "prompt": "sure?"})
FORM = pending(
    kind="question",
    question={"kind": "response", "prompt": "who?", "schema": {"type": "object", "required": ["name"]}},
)
WORDS = pending(kind="question", question={"kind": "response", "prompt": "who?"})


def language(found: Page | None) -> ArgumentsLanguage:
    return ArgumentsLanguage(FOLDER, looking(found), Aside())


def of(one: Pending) -> ArgumentsLanguage:
    return language(page(call(), waits=(one,)))


def shown(text: str) -> Document:
    return document(text, "s1.1.args.json")


async def found(one: Pending, text: str) -> list[tuple[str, str, str]]:
    """What is found: how bad, what is marked, and the message."""
    told = await of(one).diagnostics(shown(text), ASKER)
    offset = shown(text).text.offset
    return [(one.severity.name, text[offset(one.range.start) : offset(one.range.end)], one.message) for one in told]


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (APPROVAL, '{\n  "command": "ls"\n}\n'),
        (EXTERNAL, '{\n  "command": "ls"\n}\n'),
        (YES_OR_NO, "false\n"),
        (FORM, "{}\n"),
        (WORDS, '""\n'),
        (pending(arguments="not json"), '"not json"\n'),
    ],
)
def test_at_first_a_document_holds_the_arguments_or_room_for_an_answer(one: Pending, text: str) -> None:
    assert (first_text(one), unwritten(one, text)) == (text, True)


@given(values)
def test_arguments_that_nobody_edited_are_approved_as_the_model_wrote_them(value: Any) -> None:
    one = pending(arguments={"x": value})
    text = first_text(one)
    assert (outcome(one, "approve", text), acting(text)) == (o.Approve(), [])


@pytest.mark.parametrize(
    ("one", "decision", "text", "said"),
    [
        (APPROVAL, "approve", '{"command":"ls"}', o.Approve()),
        (APPROVAL, "approve", '{"command": "pwd", // so\n}', o.Approve(arguments={"command": "pwd"})),
        (pending(arguments={"n": 1}), "approve", '{"n": 1.0}', o.Approve(arguments={"n": 1.0})),
        (pending(arguments={"n": 10.0}), "approve", '{"n": 1e1}', o.Approve()),
        (pending(arguments={"n": 1}), "approve", '{"n": true}', o.Approve(arguments={"n": True})),
        (APPROVAL, "deny", "nonsense", o.DenyCall()),
        (EXTERNAL, "result", '"done"', o.Result(content="done")),
        (EXTERNAL, "result", "null", o.Result(content=None)),
        (EXTERNAL, "deny", "", o.DenyCall()),
        (UNCERTAIN, "result", "[1]", o.Result(content=[1])),
        (UNCERTAIN, "rerun", "nonsense", o.Rerun()),
        (UNCERTAIN, "failed", '{"command": "ls"}', o.Error(message="it failed")),
        (UNCERTAIN, "failed", '"no disk"', o.Error(message="no disk")),
        (UNCERTAIN, "failed", '{"why": 1}', o.Error(message='{"why": 1}')),
        (YES_OR_NO, "answer", "true", o.Answer(value=True)),
        (WORDS, "answer", '"ada"', o.Answer(value="ada")),
    ],
)
def test_what_is_written_is_what_is_answered(one: Pending, decision: Decision, text: str, said: object) -> None:
    assert outcome(one, decision, text) == said


@pytest.mark.parametrize(
    ("one", "decision", "text", "message"),
    [
        (APPROVAL, "approve", "[]", "arguments are a JSON object"),
        (APPROVAL, "approve", "{\n'a': 1}", "line 2 of the document is not JSON: expected a key in double quotes"),
        (APPROVAL, "approve", '{"a": 1, "a": 2}', "/a stands twice in the document; remove one of them, and try again"),
        (EXTERNAL, "result", '{"command": "ls"}', "the document still holds the arguments; write the result in their"),
        (EXTERNAL, "result", "plain words", "line 1 of the document is not JSON: expected a value"),
    ],
)
def test_what_cannot_be_meant_is_refused(one: Pending, decision: Decision, text: str, message: str) -> None:
    with pytest.raises(InvalidArguments) as refusal:
        outcome(one, decision, text)
    assert refusal.value.message.startswith(message)


def test_a_decision_that_is_not_offered_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidState) as refusal:
        outcome(EXTERNAL, "approve", "{}")
    assert (refusal.value.message, refusal.value.details) == (
        "approve is nothing to do with a call that waits for a result; what can be done: result, deny",
        {"pendingKind": "external", "legal": ["result", "deny"]},
    )


@pytest.mark.parametrize(
    ("one", "text", "facts"),
    [
        (APPROVAL, '{"command": "pwd"}', []),
        (APPROVAL, '{"command": 5}', [("Error", "5", '5 is not of type "string"')]),
        (APPROVAL, "{\n}", [("Error", "{\n}", '"command" is a required property')]),
        (
            APPROVAL,
            '{"command": "x", "zz": {"a": 1}, "deep": {"on": 3}}',
            [("Error", "3", '3 is not of type "boolean"'), ("Error", '"zz"', "the schema has no such member")],
        ),
        (APPROVAL, '{"command": tru}', [("Error", "tru", "expected a value")]),
        (
            APPROVAL,
            '{"command": "a", "command": "b"}',
            [("Error", '"command"', "this key stands twice")],
        ),
        (pending(argumentsSchema=None), "[]", [("Error", "[]", "arguments are a JSON object")]),
        (EXTERNAL, '"a result"', []),
        (
            EXTERNAL,
            '{"command": "ls"}\n',
            [
                (
                    "Information",
                    '{"command": "ls"}',
                    "`sh`: write the result in place of the arguments, then run the code action"
                    " Complete with this result",
                )
            ],
        ),
        (YES_OR_NO, "1", [("Error", "1", '1 is not of type "boolean"')]),
        (FORM, '{"x": 1}', [("Error", '{"x": 1}', '"name" is a required property')]),
    ],
)
async def test_what_does_not_fit_is_marked_where_it_stands(one: Pending, text: str, facts: list[Any]) -> None:
    assert sorted(await found(one, text)) == sorted(facts)


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (
            page(call(state="denied", decision={"by": "ada\x1b", "at": AT, "edited": False})),
            f"the call of `sh` is denied, decided by ada\\x1b at {AT}: nothing here is sent any more",
        ),
        (page(call(state="completed")), "the call of `sh` is completed: nothing here is sent any more"),
        (page(), "there is no such call any more: nothing here is sent"),
        (None, "there is no such call any more: nothing here is sent"),
    ],
)
async def test_a_call_that_waits_no_more_offers_nothing_and_says_who_answered(now: Page | None, message: str) -> None:
    told = await language(now).diagnostics(shown("{}"), ASKER)
    assert [(one.severity, one.message) for one in told] == [(lsp.DiagnosticSeverity.Warning, message)]
    assert await language(now).code_actions(shown("{}"), 0, 0, ASKER) == []
    assert await language(now).hover(shown("{}"), 0, ASKER) is None
    assert await language(now).completion(shown("{}"), 1, ASKER) == []


@pytest.mark.parametrize(
    ("one", "offers"),
    [
        (APPROVAL, [("Approve what is written", "approve"), ("Deny", "deny")]),
        (EXTERNAL, [("Complete with this result", "result"), ("Deny", "deny")]),
        (UNCERTAIN, [("It ran, result is what is written", "result"), ("Run again", "rerun"), ("Failed", "failed")]),
        (WORDS, [("Answer", "answer")]),
        (pending(kind="running"), []),
    ],
)
async def test_what_can_be_done_is_offered_as_actions_and_lenses(one: Pending, offers: list[Any]) -> None:
    uri = shown("{}").uri
    commands = [
        lsp.Command(title, "abey.complete", arguments=[{"document": uri, "decision": decision}])
        for title, decision in offers
    ]
    actions = await of(one).code_actions(shown("{}"), 0, 0, ASKER)
    lenses = await of(one).code_lenses(shown("{}"), ASKER)
    assert ([action.command for action in actions], [lens.command for lens in lenses]) == (commands, commands)


async def test_an_extension_has_actions_of_its_own() -> None:
    extension = replace(ASKER, plain=False)
    assert await of(APPROVAL).code_actions(shown("{}"), 0, 0, extension) == []
    assert await of(APPROVAL).code_lenses(shown("{}"), extension) == []


async def labels(text: str) -> list[str]:
    """What is offered at the `|` in a text."""
    offset = text.index("|")
    items = await of(APPROVAL).completion(shown(text.replace("|", "")), offset, ASKER)
    return [one.label for one in items]


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("{|}", ["command", "mode", "deep"]),
        ('{"command": "ls", |}', ["mode", "deep"]),
        ('{"command": "ls", "mo|"}', ["mode", "deep"]),
        ('{"mode": |}', ['"fast"', '"slow"']),
        ('{"mode": "f|', ['"fast"', '"slow"']),
        ('{"deep": {|', ["on"]),
        ('{"deep": {"on": |}}', ["true", "false"]),
        ('{"command": |}', ['""']),
        ('{"mode" |: 1}', []),
        ('{"mode": "fast" |}', []),
        ("{ // what | is it\n}", []),
        ('{"nothing": |}', []),
        ("|", ["{}"]),
    ],
)
async def test_keys_and_values_of_the_schema_are_offered(text: str, offered: list[str]) -> None:
    assert await labels(text) == offered


async def test_what_is_offered_takes_the_place_of_what_was_begun() -> None:
    items = await of(APPROVAL).completion(shown('{"comm": 1, "x": 2}'), 6, ASKER)
    assert items[0] == lsp.CompletionItem(
        label="command",
        kind=lsp.CompletionItemKind.Property,
        detail="string, required",
        documentation="what the shell runs",
        sort_text="0command",
        filter_text='"command"',
        text_edit=lsp.TextEdit(lsp.Range(lsp.Position(0, 1), lsp.Position(0, 7)), '"command"'),
    )


async def test_a_schema_that_refers_to_itself_is_followed_without_end() -> None:
    schema = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "all": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/one"}]}}},
        "$defs": {"one": {"const": 7, "anyOf": [{"$ref": "#/$defs/one"}]}},
    }
    one = pending(arguments={}, argumentsSchema=schema)
    deep = '{"next": {"next": {"all": ['
    items = await of(one).completion(shown(deep), len(deep), ASKER)
    assert [item.label for item in items] == ["7"]


@pytest.mark.parametrize(("name", "ours"), [("s1.1.args.json", True), ("s1.abey.md", False), ("s1.0.args.json", False)])
def test_only_documents_of_calls_in_their_folder_are_spoken_of(name: str, ours: bool) -> None:
    assert (language(None).speaks(FOLDER / name), language(None).speaks(FOLDER.parent / name)) == (ours, False)


def test_a_zero_with_another_sign_is_another_number() -> None:
    one = pending(arguments={"n": 0.0})
    assert [unwritten(one, text) for text in ('{"n": 0.0}', '{"n": -0.0}')] == [True, False]


def test_a_key_that_stands_twice_is_no_way_to_say_what_was_proposed() -> None:
    with pytest.raises(InvalidArguments, match="/command stands twice in the document"):
        outcome(APPROVAL, "approve", '{"command": "rm", "command": "ls"}')
