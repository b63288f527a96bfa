"""A session as a document: all of it is there, and nothing in it can break out of its place."""

import re
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from support.foreign import brought, ours
from support.world import CLIENT, World, agent, answer, text_parts

from abey.core import events as e
from abey.protocol import journal as j
from abey.runtime.store.io import FileIO
from abey.runtime.store.store import Store
from abey.runtime.transfer.exporting import export
from abey.runtime.transfer.markdown import export_document, fenced


def test_the_document_has_title_turns_inputs_thoughts_answers_calls_and_usage() -> None:
    came = ours("version-1")
    assert "".join(export_document(came.session, came.records)) == (
        "# Look at this.\n"
        "\n"
        "- session: `s1`, revision 10\n"
        "- agent: version-1\n"
        "- folder: /\n"
        "- began 2026-05-04T01:01:07.000Z, last changed 2026-05-04T01:01:10.000Z\n"
        "\n"
        "## Turn 1\n"
        "\n"
        "### User, 2026-05-04T01:01:07.000Z\n"
        "\n"
        "```text\nLook at this.\n```\n"
        "\n"
        "*image/png, 9 bytes, not shown.*\n"
        "\n"
        "### Model, 2026-05-04T01:01:07.000Z\n"
        "\n"
        "```markdown\nLooking.\n```\n"
        "\n"
        "#### Call bash\\_ls (`ls:0`): completed\n"
        "\n"
        '```json\n{\n  "path": "."\n}\n```\n'
        "\n"
        "Result:\n"
        "\n"
        "```text\na.txt\n```\n"
        "\n"
        f"#### Call bash\\_ls (`{call_id(came, 1)}`): completed\n"
        "\n"
        "```json\n{}\n```\n"
        "\n"
        "Result:\n"
        "\n"
        '```json\n{\n  "error": "no"\n}\n```\n'
        "\n"
        "#### Call bash\\_ls (`ls:2`): completed\n"
        "\n"
        "```text\n\n```\n"
        "\n"
        "Result:\n"
        "\n"
        "```text\nx\n```\n"
        "\n"
        "*image/png, 9 bytes, not shown.*\n"
        "\n"
        "### Model, 2026-05-04T01:01:10.000Z\n"
        "\n"
        "```markdown\nA file.\n```\n"
        "\n"
        "*Finish reason: length.*\n"
        "\n"
        "*Turn 1: answered at 2026-05-04T01:01:10.000Z; 2 model calls, 10 tokens in, 5 out.*\n"
    )


def call_id(came: object, at: int) -> str:
    candidate = next(one for one in came.data if isinstance(one, j.Candidate))  # type: ignore[attr-defined] # Brought
    return str(candidate.calls[at].call_id)


def test_thinking_is_folded() -> None:
    came = ours("no-version")
    document = "".join(export_document(came.session, came.records))
    assert "<details><summary>Thinking</summary>\n\n```text\nI look.\n```\n\n</details>\n" in document


def test_input_that_waits_and_a_turn_that_goes_on_are_told() -> None:
    world = World()
    world.start("a", e.STEP)
    world.send(e.Send(e.NewInput(text_parts("b"), delivery="queue"), None, CLIENT))
    document = "".join(export_document(world.session, world.records))
    assert document.endswith(
        "*Turn 1: still open; 0 model calls, 0 tokens in, 0 out.*\n"
        "\n### Input that waits (queue)\n\n```text\nb\n```\n\n"
    )


def test_a_turn_without_input_that_waits_and_an_answer_that_was_asked_for_again_are_told() -> None:
    world = World(replace(agent(), output_schema={"required": ["x"]}))
    world.start("hello", e.STEP)
    world.model_says(answer(text="Sure!"))
    world.drive()
    world.model_says(answer(("c1", "ask", "{}")))
    world.drive()
    world.send(e.Continue(None, CLIENT))
    document = "".join(export_document(world.session, world.records))
    asked_again, waits = document.index("### Asked again, T"), document.index("### A turn without input that waits\n")
    assert document.index("Sure!") < asked_again < waits


@given(st.text(st.sampled_from("`~\n a\x1b\u202e\ud83d<#"), max_size=30))
def test_no_text_closes_its_fence(text: str) -> None:
    first, *inside, last, empty, end = fenced(text, "text").split("\n")
    fence = first.removesuffix("text")
    assert (set(fence), last, empty, end) == ({"`"}, fence, "", "")
    assert not any(re.match(rf" *`{{{len(fence)},}}\s*$", line) for line in inside)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", "\n".join(inside))


def test_titles_names_and_ids_are_one_plain_line() -> None:
    text = (
        '{"turns": [{"tag": "LlmTurn", "contents": {"llmResponse": {"responseText": null}, "llmToolCalls": '
        '[{"id": "`\\n#", "function": {"name": "<b>\\n# x`", "arguments": ""}}]}}]}'
    )
    came = brought(text)
    document = "".join(export_document(came.session, came.records))
    assert r"#### Call \<b\>\\n\# x\` (`'\n#`): deferred" in document
    assert not [line for line in document.splitlines() if line.startswith("# x")]


def test_half_a_character_is_spelled_out(tmp_path: Path) -> None:
    first, *others = ours("version-1").records
    half = replace(first, at="\ud83d")
    store = Store(tmp_path, FileIO("process"))
    store.create("s1", (half, *others)).close()
    document = b"".join(export(store, "s1", None, "markdown").pieces)
    assert b"- began \\ud83d, last" in document
