"""Hostile text is spelled out (security.md, Prompt text)."""

import pytest

from abey.shared.escaping import cut, escape, escape_line


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("\x1b[2Jrm", r"\x1b[2Jrm"),
        ("a\rb", r"a\rb"),
        ("\x9b31m\x7f\x00", r"\x9b31m\x7f\x00"),
        ("abc\u202egnp.exe", r"abc\u202egnp.exe"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("line\u2028line", r"line\u2028line"),
        ("half \ud83d", r"half \ud83d"),
        ("a\tb\nc", "a\tb\nc"),
        ("é 😀 日本語", "é 😀 日本語"),
        ("x" + " " * 200 + "; rm", "x[200 spaces]; rm"),
        ("    indented", "    indented"),
    ],
)
def test_what_could_act_or_hide_is_spelled_out(hostile: str, harmless: str) -> None:
    assert escape(hostile) == harmless


def test_in_a_place_of_one_line_there_is_one_line() -> None:
    assert escape_line("a\tb\nc\x1b") == r"a\tb\nc\x1b"


def test_a_cut_says_how_much_it_cut() -> None:
    assert (cut("abcdef", 4), cut("abcd", 4)) == ("abcd… (2 more characters)", "abcd")
