"""A patch, applied to the old text, gives the new one: whatever the texts are, and in bounded time."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abey.runtime.tools.workspace.patches import SHOWN, patch

LINE = st.sampled_from(["a", "b", "c", "", "same", "+x", "-y", "\\ No newline at end of file", "é\r", "@@ -1 +1 @@"])
TEXT = st.builds(lambda lines, end: "\n".join(lines) + end, st.lists(LINE, max_size=40), st.sampled_from(["", "\n"]))


def applied(old: str, diff: str) -> str:
    """What the hunks make of `old`; every line that they take or keep has to stand where they say."""
    lines, at, made = re.findall(r"[^\n]*\n|[^\n]+\Z", old), 0, list[str]()
    rows = re.findall(r"[^\n]*\n", diff)[2:]
    while rows:
        start, count = re.fullmatch(r"@@ -(\d+)(,\d+)? \+\d+(,\d+)? @@\n", rows[0]).group(1, 2)  # type: ignore[union-attr]
        first = int(start) - (0 if count == ",0" else 1)
        made, at, rows = made + lines[at:first], first, rows[1:]
        while rows and not rows[0].startswith("@@ -"):
            mark, text = rows[0][0], rows[0][1:]
            rows = rows[1:]
            if rows and rows[0] == "\\ No newline at end of file\n":
                text, rows = text[:-1], rows[1:]
            if mark in " -":
                assert lines[at] == text
                at += 1
            made += [text] if mark in " +" else []
    return "".join(made + lines[at:])


@given(TEXT, TEXT)
@settings(max_examples=400, deadline=None)
def test_a_patch_gives_the_new_text(old: str, new: str) -> None:
    assert applied(old, patch("f", old.encode(), new.encode())) == new


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.data())
@settings(max_examples=200, deadline=None)
def test_a_patch_of_a_few_changed_lines_gives_the_new_text(numbers: list[int], data: st.DataObject) -> None:
    lines = [f"line {number}\n" for number in numbers]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = data.draw(st.sampled_from(["", "new\n", "line 1\nline 2\n"]))
    old, new = "".join(f"line {number}\n" for number in numbers), "".join(lines)
    assert applied(old, patch("f", old.encode(), new.encode())) == new


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no such program here")
def test_a_patch_is_what_other_programs_read(tmp_path: Path) -> None:
    old = "".join(f"{n}\n" for n in range(50))
    new = old.replace("7\n", "seven\n").replace("40\n", "").removesuffix("\n")
    (tmp_path / "f").write_text(old)
    done = subprocess.run(["patch", "-p1"], cwd=tmp_path, input=patch("f", old.encode(), new.encode()), text=True)
    assert (done.returncode, (tmp_path / "f").read_text()) == (0, new)


def test_a_change_is_shown_with_its_surroundings() -> None:
    old = "".join(f"{n}\n" for n in range(1, 10))
    assert patch("a b", old.encode(), old.replace("5", "five").encode()) == (
        "--- a/a b\n+++ b/a b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (None, b"x\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"),
        (None, b"", "--- /dev/null\n+++ b/f\n"),
        (b"x", b"", "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"),
        (b"\0", b"xy", "--- a/f\n+++ b/f\n[binary: 1 bytes become 2]\n"),
        (b"", b"x" * (1 << 21), "--- a/f\n+++ b/f\n[too large to be compared: 0 bytes become 2097152]\n"),
        (b"\xff\n", b"y\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-\N{REPLACEMENT CHARACTER}\n+y\n"),
    ],
)
def test_what_has_no_lines_is_described(before: bytes | None, after: bytes, text: str) -> None:
    assert patch("f", before, after) == text


def test_a_name_that_could_be_mistaken_is_quoted() -> None:
    assert patch("a\n+++ b/x", None, b"") == '--- /dev/null\n+++ "b/a\\n+++ b/x"\n'


def test_a_long_patch_is_cut_at_a_line_and_says_how_much_more_there_is() -> None:
    text = patch("f", None, b"0123456789\n" * 20_000)
    assert (len(text) < SHOWN + 100, text.count("+0123456789\n"), text.rsplit("\n", 2)[1]) == (
        True,
        5457,
        "[… 14543 more lines of the diff are not shown …]",
    )


def test_texts_with_nothing_in_common_are_replaced_as_a_whole() -> None:
    old, new = "".join(f"a{n}\n" for n in range(3000)), "".join(f"b{n}\n" for n in range(3000))
    assert patch("f", old.encode(), new.encode()).startswith("--- a/f\n+++ b/f\n@@ -1,3000 +1,3000 @@\n-a0\n")
