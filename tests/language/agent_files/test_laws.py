"""Whatever stands in a file: every feature answers, and says nothing about places that are not there."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp
from support.agent_documents import ABLE, BARE, World, applied, asker, document
from support.pages import DOCS, blocks

from abey.language.agent_files.cursor import place
from abey.language.agent_files.tolerant import tree
from abey.language.agent_files.tree import walk
from abey.language.language import Document
from abey.language.text import Text
from abey.runtime.agents.jsonc import BadSyntax, parse
from abey.runtime.agents.loading import load_text

EXAMPLE = next(block.text for block in blocks(DOCS / "agent-file.md", "json agent"))
SMALL = json.dumps(
    {
        "slug": "a",
        "model": {"provider": "openai", "name": "x", "apiKey": {"env": "K"}, "parameters": {"temperature": 0}},
        "toolCallPolicy": {
            "default": "defer",
            "rules": [{"tool": "t*", "match": {"/p": ["x"]}, "disposition": {"tag": "deny", "reason": "no"}}],
        },
        "tools": [{"kind": "command", "name": "t", "parameters": {"properties": {"p": {}}}, "argv": ["e", "{p}"]}],
        "limits": {"maxSteps": 3},
    }
)
PIECES = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    "\\",
    "\n",
    "\r\n",
    " ",
    "//",
    "/*",
    "*/",
    "\U0001f600",
    "é",
    "\ufeff",
    "1",
    "null",
]
PIECES += ['"tool"', '"disposition"', '"runSync"', '"kind"', '"env"', '{"tag": "', "true", "\x00", "\ud800", "~1", "*"]
ASKERS = [asker(ABLE, {"K": "v"}), asker(BARE)]


@st.composite
def half_written(draw: st.DrawFn) -> str:
    """A file with pieces put in and parts cut out."""
    text = draw(st.sampled_from([EXAMPLE, SMALL, SMALL.replace(" ", "\r\n"), ""]))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 0, 1, 5, 40, 10**6])))
        text = text[:start] + draw(st.sampled_from(PIECES)) + text[end:]
    return text


def offsets(text: str) -> st.SearchStrategy[int]:
    return st.integers(0, len(text))


def ranges(value: Any) -> Iterator[lsp.Range]:
    """Every range in what a feature answered."""
    if isinstance(value, lsp.Range):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from ranges(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from ranges(item)
    elif hasattr(value, "__attrs_attrs__"):
        for attribute in value.__attrs_attrs__:
            yield from ranges(getattr(value, attribute.name))


def is_inside(text: Text, where: lsp.Range) -> bool:
    """A position that is one gives itself back."""
    start, end = text.offset(where.start), text.offset(where.end)
    return start <= end and (text.position(start), text.position(end)) == (where.start, where.end)


async def everything(doc: Document, offset: int, who: Any) -> list[Any]:
    language = World().language()
    return [
        await language.diagnostics(doc, who),
        await language.completion(doc, offset, who),
        await language.hover(doc, offset, who),
        await language.code_actions(doc, offset, offset, who),
        await language.code_lenses(doc, who),
        await language.symbols(doc, who),
    ]


@given(
    data=st.data(), text=half_written(), who=st.sampled_from(ASKERS), encoding=st.sampled_from(lsp.PositionEncodingKind)
)
def test_no_feature_fails_and_every_range_lies_in_the_text(
    data: st.DataObject, text: str, who: Any, encoding: lsp.PositionEncodingKind
) -> None:
    doc = document(text, encoding=encoding)
    answers = asyncio.run(everything(doc, data.draw(offsets(text)), who))
    assert [where for where in ranges(answers) if not is_inside(doc.text, where)] == []


@pytest.mark.parametrize("text", [SMALL, EXAMPLE[:1500]], ids=["small", "example"])
def test_every_beginning_of_a_file_has_a_tree_and_a_place(text: str) -> None:
    for end in range(len(text) + 1):
        found = tree(text[:end])
        place(found, end)
        spans = [(node.start, node.end) for _, node in walk(found.root)] if found.root else []
        assert [span for span in spans if not 0 <= span[0] < span[1] <= end] == []


def test_every_feature_answers_while_a_file_is_typed() -> None:
    for end in range(0, len(SMALL), 5):
        doc = document(SMALL[:end], encoding=lsp.PositionEncodingKind.Utf8)
        answers = asyncio.run(everything(doc, end, ASKERS[0]))
        assert [where for where in ranges(answers) if not is_inside(doc.text, where)] == []


@given(text=half_written())
def test_the_tree_of_a_right_text_is_what_the_loader_reads(text: str) -> None:
    try:
        right = parse(text)
    except BadSyntax:
        return
    found = tree(text)
    assert found.root is not None
    spans = {pointer(path): (node.start, node.end) for path, node in walk(found.root)}
    assert found.root.plain() == right.value
    assert spans == {name: (span.start, span.end) for name, span in right.values.items()}


def pointer(path: tuple[str | int, ...]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


GRAVE = ("syntax", "unknown-field", "wrong-type", "duplicate-key", "unknown-disposition")


def faults(text: str) -> list[str]:
    return sorted(found.code for found in load_text(text).findings if found.code in GRAVE)


def keeps_the_rest(text: str, offset: int) -> bool:
    """Whether what is inserted there neither renames a field nor makes another kind of thing of what is around it."""
    where = place(tree(text), offset)
    if where is None or where.path[-1:] in [("provider",), ("kind",), ("tag",)]:
        return False
    return where.token is None or (where.role == "key" and where.bare)


@given(offset=offsets(SMALL), cut=st.booleans())
def test_what_is_completed_leaves_a_right_text_right(offset: int, cut: bool) -> None:
    """At any place of a file, or where a word of it was taken away."""
    where = place(tree(SMALL), offset)
    token = where.token if where and cut else None
    text = SMALL[: token.start] + SMALL[token.end :] if token else SMALL
    offset = token.start if token else offset
    doc, before, rest = document(text), faults(text), keeps_the_rest(text, offset)
    for item in asyncio.run(World().language().completion(doc, offset, asker(BARE))):
        after = faults(applied(doc, [item.text_edit]))
        worse = [code for code in after if code not in before and (rest or code == "syntax")]
        assert (item.label, worse) == (item.label, [])
