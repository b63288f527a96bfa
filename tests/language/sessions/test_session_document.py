"""The document of a session: what is shown of it, what is the user's, and what can be done from it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from language.sessions.test_harmless import acting, hostile
from lsprotocol import types as lsp
from support.session_pages import ASKER, AT, FOLDER, call, document, item, looking, page, pending, said

from abey.language.sessions.composer import COMPOSER, Composer, composer_of, with_composer
from abey.language.sessions.offers import why_unmoved
from abey.language.sessions.outline import headings
from abey.language.sessions.page import Before, Page
from abey.language.sessions.rendering import shown
from abey.language.sessions.session_language import SessionLanguage

WAITING = page(
    said("list it"),
    item("answer", text="I look."),
    call("c0", "completed", output="a\nb", decision={"by": "ada", "at": AT, "edited": False}),
    call("c1"),
    waits=(pending("c1", reason="approval required"),),
)

SHOWN = f"""# Session `a title`

- id: `s1`
- agent: `a`, folder `/work`
- state: partialUserTurn, idle; turn 1 open

## Turn 1

### User, {AT}

  ```text
  list it
  ```

### Model, {AT}

  ```markdown
  I look.
  ```

### Call 1 `sh`: completed

  ```json
  {{
    "command": "ls"
  }}
  ```

Decided by `ada`, {AT}

Result:

  ```text
  a
  b
  ```

### Call 2 `sh`: deferred

  ```json
  {{
    "command": "ls"
  }}
  ```

## Waiting

- call 2 `sh`, approval (`approval required`): `/state/documents/s1.2.args.json`

"""


def test_a_session_is_shown_turn_by_turn_and_what_waits_comes_last() -> None:
    assert shown(WAITING) == SHOWN


def test_a_write_that_waits_is_shown_with_its_diff() -> None:
    diff = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+```\n+# vim: x\r\n"
    waits = (pending("c1", reason="approval required", diff=diff),)
    text = shown(page(said("x"), call("c1"), waits=waits))
    assert text.endswith(
        "- call 1 `sh`, approval (`approval required`): `/state/documents/s1.1.args.json`\n\n"
        "  ````diff\n  --- a/f\n  +++ b/f\n  @@ -1 +1 @@\n  -a\n  +```\n  +# vim\\: x\\r\n  ````\n\n"
    )


def test_of_a_long_transcript_the_end_is_shown_with_the_numbers_that_its_parts_have() -> None:
    end = page(said("x", "t8"), call("c1"), waits=(pending("c1"),), before=Before(items=90, turns=7, calls=41))
    text = shown(end)
    assert "\nThe first 90 items are not shown; `abey session export s1` has them.\n" in text
    assert [one.title for one in headings(text)][1:] == [
        "Turn 8",
        f"User, {AT}",
        "Turn 9",
        "Call 42 `sh`: deferred",
        "Waiting",
    ]
    assert "- call 42 `sh`, approval (`approval required`): `/state/documents/s1.42.args.json`" in text


def test_of_a_large_transcript_as_much_is_shown_as_editors_can_bear_and_all_that_waits() -> None:
    first = [item("answer", f"t{n // 4}", text="x" * 7000) for n in range(64)]
    text = shown(page(call("c1", turn="t0"), *first, waits=(pending("c1"),)))
    assert len(text) < 200_000
    assert [one.title for one in headings(text) if one.level == 2] == [*(f"Turn {n}" for n in range(10, 17)), "Waiting"]
    assert "\nThe first 37 items are not shown;" in text
    assert "- call 1 `sh`, approval (`approval required`): `/state/documents/s1.1.args.json`" in text


def test_long_results_are_shown_without_their_middles() -> None:
    text = shown(page(call("c0", "completed", output="x" * 9000)))
    assert f"  {'x' * 1500}\n  [7000 characters left out]\n  {'x' * 500}\n" in text


@given(hostile, hostile, hostile)
def test_nothing_that_a_session_says_forges_a_part_of_its_document(first: str, second: str, third: str) -> None:
    evil = page(
        said(first),
        item("thinking", text=second),
        item("answer", text=third),
        item("note", text=first),
        call("c1", "completed", tool=second, arguments={first: second}, output=third),
        call("c2", tool="sh", decision={"by": third, "at": AT, "edited": False, "message": first}),
        waits=(pending("c2", tool=first, reason=second, diff=third),),
        title=first,
        cwd=second,
        agent=third,
        lastError={"kind": first, "message": second, "at": AT},
        paused={"reason": third, "at": AT},
    )
    text = shown(evil)
    assert acting(text) == []
    assert composer_of(text) is None
    assert [one.title.split()[0] for one in headings(text)] == [
        "Session",
        "Turn",
        "User,",
        "Model",
        "Model,",
        "Call",
        "Call",
        "Waiting",
    ]
    assert composer_of(with_composer(text, "mine")) == Composer(len(text) + len(COMPOSER) + 1, "mine")


@pytest.mark.parametrize(
    ("text", "composer"),
    [
        (f"a\n{COMPOSER}\nmine\n", Composer(len(COMPOSER) + 3, "mine\n")),
        (f"a\r\n{COMPOSER}  \r\nmine", Composer(len(COMPOSER) + 7, "mine")),
        (f"{COMPOSER}", Composer(len(COMPOSER), "")),
        (f"{COMPOSER}\nx\n{COMPOSER}\ny", Composer(len(COMPOSER) + 1, f"x\n{COMPOSER}\ny")),
        (f"a\n {COMPOSER}\nmine\n", None),
        ("mine", None),
    ],
)
def test_what_stands_below_the_first_composer_line_is_the_users(text: str, composer: Composer | None) -> None:
    assert composer_of(text) == composer


@given(hostile)
def test_what_a_user_wrote_is_kept_as_it_is(text: str) -> None:
    again = composer_of(with_composer("anything\n", text))
    assert again is not None
    assert again.text == (text or "\n")


def offers(found: Page | None, text: str = SHOWN) -> Any:
    language = SessionLanguage(FOLDER, looking(found))
    return language, document(with_composer(text, "go on\n"))


@pytest.mark.parametrize(
    ("found", "titles"),
    [
        (WAITING, ["Send", "Step", "Run", "Cancel", "Open arguments of call 2"]),
        (page(state="completed", turn=None), ["Send", "Step", "Run"]),
        (page(activity="model"), ["Send", "Cancel"]),
        (page(state="stopped"), []),
        (None, []),
    ],
)
async def test_what_would_do_something_now_is_offered(found: Page | None, titles: list[str]) -> None:
    language, shown_document = offers(found)
    actions = await language.code_actions(shown_document, 0, 0, ASKER)
    assert [one.title for one in actions] == titles
    assert {one.title for one in actions} == {
        one.command.title for one in await language.code_lenses(shown_document, ASKER)
    }


async def test_actions_are_commands_with_the_uri_of_the_document_and_calls_are_opened_by_number() -> None:
    language, shown_document = offers(WAITING)
    uri = shown_document.uri
    assert [
        (one.command.command, one.command.arguments) for one in await language.code_actions(shown_document, 0, 0, ASKER)
    ] == [
        ("abey.send", [uri]),
        ("abey.step", [uri]),
        ("abey.run", [uri]),
        ("abey.cancel", [uri]),
        ("abey.open", [{"sessionId": "s1", "call": 2}]),
    ]


async def test_an_extension_has_actions_of_its_own() -> None:
    language, shown_document = offers(WAITING)
    extension = replace(ASKER, plain=False)
    assert await language.code_actions(shown_document, 0, 0, extension) == []
    assert await language.code_lenses(shown_document, extension) == []


async def test_with_nothing_written_there_is_nothing_to_send() -> None:
    language = SessionLanguage(FOLDER, looking(page(state="completed", turn=None)))
    assert await language.code_actions(document(with_composer("", "")), 0, 0, ASKER) == []


async def test_lenses_stand_at_the_first_line_at_the_composer_and_at_what_waits() -> None:
    language, shown_document = offers(WAITING)
    lenses = await language.code_lenses(shown_document, ASKER)
    text = shown_document.text
    lines = {one: text.position(text.source.find(one)).line for one in (COMPOSER, "- call 2")}
    assert [(one.command.title, one.range.start.line) for one in lenses] == [
        *((title, 0) for title in ("Send", "Step", "Run", "Cancel", "Open arguments of call 2")),
        *((title, lines[COMPOSER]) for title in ("Send", "Step", "Run")),
        ("Open arguments of call 2", lines["- call 2"]),
    ]


async def test_symbols_are_the_turns_and_what_was_said_in_them() -> None:
    language, shown_document = offers(WAITING)
    found = await language.symbols(shown_document, ASKER)
    assert [(one.name, [inner.name for inner in one.children or ()]) for one in found] == [
        ("Turn 1", [f"User, {AT}", f"Model, {AT}", "Call 1 `sh`: completed", "Call 2 `sh`: deferred"]),
        ("Waiting", []),
    ]


@pytest.mark.parametrize("line", ["- call 2 ", "### Call 2 "])
async def test_a_hover_tells_of_the_call_that_waits_in_plain_text(line: str) -> None:
    language, shown_document = offers(WAITING)
    found = await language.hover(shown_document, shown_document.text.source.find(line) + 3, ASKER)
    text = f"call 2: sh ls\nwaits for: approval, since {AT}\nfolder: /work\nwhy: approval required"
    assert found == lsp.Hover(contents=lsp.MarkupContent(kind=lsp.MarkupKind.PlainText, value=text))


UNCERTAIN = page(
    call("c1", "uncertain", mayHaveRun=True),
    waits=(pending("c1", "uncertain", reason="may have run", startedAt=AT, outputSoFar="half\x1b[2J of\n```it"),),
)


def test_a_call_that_may_have_run_is_shown_with_what_is_known() -> None:
    told = f"""\
- call 1 `sh`, uncertain (`may have run`, started {AT}): `/state/documents/s1.1.args.json`

  It had printed:

  ````text
  half\\x1b[2J of
  ```it
  ````
"""
    assert shown(UNCERTAIN).partition("## Waiting\n\n")[2].rstrip("\n") == told.rstrip("\n")


async def test_a_hover_tells_what_a_call_that_may_have_run_had_printed() -> None:
    language, shown_document = offers(UNCERTAIN, shown(UNCERTAIN))
    found = await language.hover(shown_document, shown_document.text.source.find("- call 1 ") + 3, ASKER)
    assert found is not None and isinstance(found.contents, lsp.MarkupContent)
    assert found.contents.value == (
        f"call 1: sh ls\nwaits for: uncertain, since {AT}\nfolder: /work\nwhy: may have run\nstarted: {AT}\n"
        "has printed:\nhalf\\x1b[2J of\n```it"
    )


async def test_elsewhere_there_is_no_hover() -> None:
    language, shown_document = offers(WAITING)
    places = (0, shown_document.text.source.find("### Call 1"), len(shown_document.text.source))
    assert [await language.hover(shown_document, offset, ASKER) for offset in places] == [None, None, None]


async def test_a_document_without_its_composer_line_or_its_session_says_so() -> None:
    known, gone = SessionLanguage(FOLDER, looking(WAITING)), SessionLanguage(FOLDER, looking(None))
    told = [
        [one.message for one in await language.diagnostics(document(text), ASKER)]
        for language, text in ((known, "x"), (gone, "x"), (known, with_composer("x\n", "")))
    ]
    assert told == [
        [f"the composer line is gone, so nothing can be sent from here; put back the line: {COMPOSER}"],
        ["there is no such session any more, or it cannot be read: nothing here is sent"],
        [],
    ]


@pytest.mark.parametrize(
    ("name", "ours"),
    [("s1.abey.md", True), ("s1.2.args.json", False), ("S1.abey.md", False), (".s1.abey.md", False), ("notes", False)],
)
def test_only_documents_of_sessions_in_their_folder_are_spoken_of(name: str, ours: bool) -> None:
    language = SessionLanguage(FOLDER, looking(None))
    assert (language.speaks(FOLDER / name), language.speaks(FOLDER / "deeper" / name)) == (ours, False)


def test_one_input_or_question_alone_never_makes_a_document_too_large_to_be_looked_at() -> None:
    parts = [{"kind": "text", "text": "x" * 10_000}] * 300
    question = {"kind": "response", "prompt": "why? " * 500_000}
    asks = pending(kind="question", question=question)
    text = shown(page(item("input", parts=parts), call(), waits=(asks,)))
    assert ("- and 260 more parts\n" in text, len(text) < 30_000, text.count("characters left out")) == (True, True, 41)


def test_a_session_without_input_says_that_it_waits_for_the_first_message() -> None:
    def state(**more: Any) -> str:
        return next(line for line in shown(page(turn=None, **more)).splitlines() if line.startswith("- state"))

    assert state(state="completed") == "- state: completed, no input yet: it waits for the first message"
    assert state(state="stopped") == "- state: stopped"


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (
            page(call("c1"), waits=(pending("c1", tool="s\u202eh"),)),
            "call 1 (s\\u202eh) waits (approval): run the code action Open arguments of call 1",
        ),
        (
            page(call("c0"), call("c1"), waits=(pending("c0", "running"), pending("c1", "external"))),
            "call 1 (sh) runs; call 2 (sh) waits (external): run the code action Open arguments of call 2",
        ),
        (
            page(*(call(f"c{n}") for n in range(7)), waits=tuple(pending(f"c{n}", "running") for n in range(7))),
            "; ".join(f"call {n} (sh) runs" for n in range(1, 6)) + "; and 2 more",
        ),
        (
            page(paused={"at": AT}),
            "the session is paused; `abey session resume s1` ends that",
        ),
        (
            page(paused={"reason": "lunch\x1b", "at": AT}),
            "the session is paused (lunch\\x1b); `abey session resume s1` ends that",
        ),
        (
            page(state="completed"),
            "the session waits for a message; write it below the composer line, and run the code action Send",
        ),
        (page(activity="model"), "the session is partialUserTurn, model"),
    ],
)
def test_why_a_step_does_nothing_is_said_with_the_way_on(found: Page, why: str) -> None:
    assert why_unmoved(found) == why
