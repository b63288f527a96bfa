"""Whatever a session says: in a file it acts on no editor, forges nothing, and in JSON stays the value it is."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.language.sessions.harmless import INDENT, block, code, harmless, harmless_line, json_text
from abey.shared.escaping import escape

BITES = (
    "vim: set modeline: ",
    " ex:!ls ",
    "vi:se ",
    "vim700: set",
    "Vim: set x",
    "vim<702:",
    "kate: indent 4;",
    "kate-mimetype(text/x-c): replace;",
    "-*- mode: shell -*-",
    "-*-*-*-",
    "Local Variables:",
    "eval: (shell-command)",
    "End:",
    "[x](command:foo)",
    "command:workbench.action",
    "vscode://evil",
    "<img src=x onerror=y>",
    "![a](http://b)",
    "```",
    "~~~~",
    "`````",
    "\n",
    "\n## Turn 9\n",
    "\n# Session\n",
    "---- Write below this line, then run the code action Send ----",
    "\x1b[2J",
    "\r",
    "\x0c",
    "\u202e",
    "\u200b",
    "\u2028",
    "\ud800",
    "\U000e0041",
    " " * 60,
    "\t",
    "word",
)
hostile = st.lists(st.one_of(st.sampled_from(BITES), st.text(max_size=6)), max_size=12).map("".join)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), hostile),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(hostile, inner, max_size=4)),
    max_leaves=12,
)

VIM = re.compile(r"(?:^|[ \t])(?:vi|[vV]im(?:[<=>]?\d+)?|ex):", re.MULTILINE)
KATE = re.compile(r"kate(?:-[a-z]+(?:\([^)]*\))?)?:", re.IGNORECASE)
EMACS = re.compile(r"-\*-|local variables:", re.IGNORECASE)
COMMAND = re.compile(r"(?:command|vscode):\S", re.IGNORECASE)
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
RULES = (VIM, KATE, EMACS, COMMAND, HIDDEN)


def acting(text: str) -> list[str]:
    """What of a file's text some editor would act on."""
    return [found[0] for rule in RULES for found in rule.finditer(text)]


@given(hostile)
def test_nothing_in_a_text_acts(text: str) -> None:
    assert (acting(harmless(text)), acting(harmless_line(text)), acting(block(text)), acting(code(text))) == (
        [],
        [],
        [],
        [],
    )


@given(hostile)
def test_a_line_is_one_line(text: str) -> None:
    assert "\n" not in harmless_line(text) + code(text)


@given(hostile)
def test_a_fence_is_closed_by_nothing_in_it_and_nothing_foreign_begins_a_line(text: str) -> None:
    first, *inner, last = block(text).removesuffix("\n").split("\n")
    fence = first.removesuffix("text")
    assert (last, fence.strip("` ")) == (fence, "")
    assert [line for line in inner if re.match(rf" {{0,3}}`{{{len(fence) - len(INDENT)},}}[ \t]*$", line)] == []
    assert [line for line in inner if line and not line.startswith(INDENT)] == []


@given(hostile)
def test_a_code_span_ends_where_it_should(text: str) -> None:
    span = code(text)
    ticks = span[: len(span) - len(span.lstrip("`"))]
    assert [len(run) for run in re.findall("`+", span)].count(len(ticks)) == 2
    assert span.endswith(ticks)


@given(values)
def test_json_stays_the_value_it_is_and_acts_on_nothing(value: Any) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert [str(type(one)) for one in leaves(json.loads(text))] == [str(type(one)) for one in leaves(value)]
    assert acting(text) == []


def leaves(value: Any) -> list[Any]:
    match value:
        case dict():
            return [leaf for inner in value.values() for leaf in leaves(inner)]
        case list():
            return [leaf for inner in value for leaf in leaves(inner)]
        case _:
            return [value]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# vim: set ft=sh:", "# vim\\: set ft=sh:"),
        ("-*- mode: sh -*-", "-\\*- mode: sh -\\*-"),
        (";; Local Variables:", ";; Local Variables\\:"),
        ("[run](command:a.b)", "[run](command\\:a.b)"),
        ("index: 1\ncommand: ls\nregex: x", "index: 1\ncommand: ls\nregex: x"),
        ("a\u202eb", "a\\u202eb"),
    ],
)
def test_what_is_broken_up_stays_readable_and_what_is_harmless_stays(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_in_json_what_would_act_is_spelled_in_escapes() -> None:
    assert json_text({"vim: x": "-*- é \u202e \x0c" + " " * 33}) == (
        '{\n  "vim\\u003a x": "-\\u002a- é \\u202e \\f' + "\\u0020" * 33 + '"\n}'
    )


@given(st.text(st.sampled_from("abc :-*`\n"), max_size=40))
def test_escaping_comes_first(text: str) -> None:
    assert escape(harmless(text)) == harmless(text)


@pytest.mark.parametrize(
    "bite", ["vim-", "vscode-", "vim-a(", "kate-a(", "local \t", "ex", "vim>", "-*-", "\u200b", "`"]
)
def test_a_long_text_takes_no_longer_than_its_length(bite: str) -> None:
    """With anything but a few steps a character this would not end today."""
    text = bite * 100_000
    assert (json.loads(json_text(text)), block(text).endswith("\n")) == (text, True)
