"""What a model is told of a file."""

import base64
import os

import pytest
from support.workspaces import Work

from abey.runtime.tools.workspace.reading import PICTURE, ROOM

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def test_a_file_is_told_as_it_is_with_the_number_of_its_lines(work: Work) -> None:
    work.write("src/a.py", "x = 1\n\ty = '\\n'\n")
    assert await work.told("read_file", path="src/a.py") == "[src/a.py: lines 1-2 of 2]\nx = 1\n\ty = '\\n'"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "[f: empty]"),
        ("one", "[f: lines 1-1 of 1; no newline at the end]\none"),
        ("\n", "[f: lines 1-1 of 1]\n"),
        ("a\r\nb\r\n", "[f: lines 1-2 of 2; Windows line endings, kept by edit_file]\na\nb"),
        ("a\r\nb\n", "[f: lines 1-2 of 2]\na\r\nb"),
        (b"\xef\xbb\xbfmarked\n", "[f: lines 1-1 of 1]\nmarked"),
        ("\N{SNOWMAN}\n".encode("utf-16"), "[f: lines 1-1 of 1; in utf-16-le]\n\N{SNOWMAN}"),
        (
            b"a\xe4b\n",
            "[f: lines 1-1 of 1; some bytes are no UTF-8 and shown as \N{REPLACEMENT CHARACTER}]\n"
            "a\N{REPLACEMENT CHARACTER}b",
        ),
    ],
)
async def test_odd_texts_are_readable(work: Work, content: str | bytes, told: str) -> None:
    work.write("f", content)
    assert await work.told("read_file", path="f") == told


async def test_lines_can_be_chosen(work: Work) -> None:
    work.write("f", "".join(f"{n}\n" for n in range(1, 11)))
    assert await work.told("read_file", path="f", start_line=3, end_line=4) == "[f: lines 3-4 of 10]\n3\n4"
    assert await work.told("read_file", path="f", start_line=9) == "[f: lines 9-10 of 10]\n9\n10"
    assert await work.told("read_file", path="f", start_line=10, end_line=99) == "[f: lines 10-10 of 10]\n10"


async def test_lines_that_are_not_there_are_refused(work: Work) -> None:
    work.write("f", "1\n2\n")
    assert await work.refused("read_file", path="f", start_line=3) == "f has 2 lines: there are none from 3 to 2"
    assert await work.refused("read_file", path="f", start_line=2, end_line=1) == (
        "f has 2 lines: there are none from 2 to 1"
    )


async def test_a_long_file_is_cut_at_a_line_and_says_how_to_read_on(work: Work) -> None:
    work.write("f", "0123456789abcde\n" * (ROOM // 16 + 5))
    last = ROOM // 16
    head, _, text = (await work.told("read_file", path="f")).partition("\n")
    assert (head, len(text) + 1) == (
        f"[f: lines 1-{last} of {last + 5}; read on with start_line {last + 1}]",
        ROOM,
    )
    assert await work.told("read_file", path="f", start_line=last + 5) == (
        f"[f: lines {last + 5}-{last + 5} of {last + 5}]\n0123456789abcde"
    )


async def test_of_a_line_that_is_too_long_its_beginning_is_told(work: Work) -> None:
    work.write("f", "x" * (ROOM + 1))
    told = await work.told("read_file", path="f")
    assert told.endswith(f"xxx[… {ROOM + 1 - ROOM // 4} more characters of this line are not shown …]")


async def test_a_picture_is_shown_and_another_binary_file_is_not(work: Work) -> None:
    work.write("p.png", PNG)
    work.write("large.png", PNG + b"\0" * PICTURE)
    work.write("b", b"a\0b")
    assert await work.told("read_file", path="p.png") == {
        "type": "media",
        "mimeType": "image/png",
        "base64Data": base64.b64encode(PNG).decode(),
    }
    assert await work.refused("read_file", path="b") == "b is a binary file of 3 bytes, and not shown"
    assert (await work.refused("read_file", path="large.png")).endswith("at most 1048576 can be shown")


async def test_what_is_no_file_is_not_opened(work: Work) -> None:
    os.mkfifo(work.cwd / "pipe")
    (work.cwd / "folder").mkdir()
    assert [await work.refused("read_file", path=path) for path in ("pipe", "folder", "none", "x/y", "")] == [
        "pipe is no regular file",
        "folder is a folder",
        "none: there is no such file",
        "x/y: there is no such file",
        ". is a folder",
    ]


async def test_a_huge_file_is_refused_before_it_fills_the_memory(work: Work) -> None:
    with work.write("huge", b"").open("wb") as file:
        file.truncate(1 << 40)
    assert (await work.refused("read_file", path="huge")).startswith("huge has more than 16777216 bytes")
