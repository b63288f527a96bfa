"""Lists and searches: sorted, within bounds that are told, and nothing keeps them busy for long."""

import asyncio
import os
import threading

import pytest
from support.workspaces import Work, tools

from abey.runtime.tools.workspace import listing, searching, trees
from abey.runtime.tools.workspace.globs import glob_of


@pytest.fixture
def tree(work: Work) -> Work:
    for path in ("b.py", "a/x.py", "a/deep/y.py", "a/z.txt", ".hidden/h.py", ".git/config", "node_modules/m.py"):
        work.write(path, f"print('{path}')\n")
    (work.cwd / "link").symlink_to("a")
    return work


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({}, ["a/", "b.py", "link -> a", "node_modules/"]),
        ({"path": "a"}, ["deep/", "x.py", "z.txt"]),
        ({"path": "link"}, ["deep/", "x.py", "z.txt"]),
        ({"hidden": True}, [".git/", ".hidden/", "a/", "b.py", "link -> a", "node_modules/"]),
        ({"pattern": "**/*.py"}, ["a/deep/y.py", "a/x.py", "b.py"]),
        ({"pattern": "*.py"}, ["b.py"]),
        ({"pattern": "a/*"}, ["a/deep/", "a/x.py", "a/z.txt"]),
        ({"pattern": "a/**"}, ["a/deep/", "a/deep/y.py", "a/x.py", "a/z.txt"]),
        ({"pattern": "**/?.[!t]*", "path": "a"}, ["deep/y.py", "x.py"]),
        (
            {"pattern": "**/*.py", "hidden": True},
            [".hidden/h.py", "a/deep/y.py", "a/x.py", "b.py", "node_modules/m.py"],
        ),
        ({"pattern": "nothing"}, ["nothing fits"]),
        ({"path": ".git"}, ["config"]),
    ],
)
async def test_a_list_is_what_the_glob_says(tree: Work, arguments: dict[str, object], lines: list[str]) -> None:
    assert (await tree.told("list_files", **arguments)).split("\n") == lines


async def test_what_cannot_be_listed_says_why(tree: Work) -> None:
    assert await tree.refused("list_files", path="b.py") == "b.py is no folder"
    assert await tree.refused("list_files", path="none") == "none does not exist"
    (tree.cwd / "empty").mkdir()
    assert await tree.told("list_files", path="empty") == "nothing there"


async def test_names_cannot_break_a_list(work: Work) -> None:
    work.write("a\nb", "")
    os.mknod(os.fsencode(work.cwd) + b"/\xff")
    assert await work.told("list_files") == "a\\nb\n\N{REPLACEMENT CHARACTER}"


async def test_a_long_list_is_cut_and_says_so(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LISTED", 3)
    monkeypatch.setattr(trees, "ENTRIES", 5)
    for n in range(9):
        work.write(f"f{n}", "")
    told = await work.told("list_files")
    assert told.split("\n")[-1] == "[there are more: ask for a narrower pattern]"
    assert len(told.split("\n")) == 4


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"pattern": "print"}, ["a/deep/y.py:1: print('a/deep/y.py')", "a/x.py:1: print('a/x.py')"]),
        ({"pattern": r"x\.py'\)$"}, ["a/x.py:1: print('a/x.py')"]),
        ({"pattern": "X.PY", "ignore_case": True}, ["a/x.py:1: print('a/x.py')"]),
        ({"pattern": "('a/x", "literal": True}, ["a/x.py:1: print('a/x.py')"]),
        ({"pattern": "y.py')", "literal": True, "ignore_case": True}, ["a/deep/y.py:1: print('a/deep/y.py')"]),
        ({"pattern": "nowhere"}, ["no match in 2 files"]),
    ],
)
async def test_lines_that_fit_are_found(tree: Work, arguments: dict[str, object], lines: list[str]) -> None:
    assert (await tree.told("search", path="a", files="**/*.py", **arguments)).split("\n") == lines


async def test_a_search_leaves_out_what_is_hidden_binary_or_large(tree: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "LARGEST", 100)
    tree.write("binary", b"print\0")
    tree.write("large", "print\n" * 20)
    found = (await tree.told("search", pattern="print")).split("\n")
    assert found == [
        *(f"{path}:1: print('{path}')" for path in ("a/deep/y.py", "a/x.py", "a/z.txt", "b.py")),
        "[1 files of more than 100 bytes were not searched]",
    ]
    assert len((await tree.told("search", pattern="print", hidden=True)).split("\n")) == 7
    assert await tree.told("search", pattern="print", path="b.py") == "b.py:1: print('b.py')"


async def test_many_matches_are_cut_and_long_lines_shortened(work: Work) -> None:
    work.write("f", "x\n" * (searching.MATCHES + 1))
    work.write("a", f"{'x' * 500}\n{'y' * 20_000}z\n")
    told = (await work.told("search", pattern="x|z")).split("\n")
    assert (told[0], len(told), told[-2:]) == (
        f"a:1: {'x' * 400}[… 100 more characters …]",
        searching.MATCHES + 2,
        ["[there are more matches, or files: search more narrowly]", "[1 long lines: only 10000 characters searched]"],
    )


@pytest.mark.parametrize("pattern", ["(", "(?=a)b", r"(a)\1", "((a{1000}){1000}){1000}", "\ud83d"])
async def test_a_pattern_that_cannot_be_used_says_so(work: Work, pattern: str) -> None:
    assert "literal: true finds a plain text" in await work.refused("search", pattern=pattern)


@pytest.mark.parametrize("pattern", ["(x+x+)+y", "(a|a)*b", "(.*)*z", "(x?){200}x{200}"])
async def test_no_pattern_is_slow(work: Work, pattern: str) -> None:
    """With an engine that goes back these take longer than anybody waits."""
    work.write("f", f"{'x' * 9000}\n" * 20)
    await work.told("search", pattern=pattern)


async def test_a_search_ends_when_nobody_wants_it_any_more(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it goes on: the thread is free again."""
    begun, free = threading.Event(), threading.Event()
    names = trees.Tree._names

    def slow(self: trees.Tree, folder: int) -> list[str]:
        begun.set()
        assert free.wait(10)
        return names(self, folder)

    monkeypatch.setattr(trees.Tree, "_names", slow)
    work.write("f", "x")
    call = asyncio.create_task(work.runner.run(tools()["search"], work.call(pattern="x")))
    await asyncio.to_thread(begun.wait, 10)
    call.cancel()
    free.set()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_a_search_that_takes_too_long_says_how_far_it_came(tree: Work) -> None:
    outcome = await tree.runner.run(tools(timeoutSeconds=1e-9)["search"], tree.call(pattern="x"))
    assert outcome.content == "no match in 0 files\n[the time was over before all was searched]"


@pytest.mark.parametrize(
    ("glob", "fits", "goes_on"),
    [("**", True, True), ("a/*", False, False), ("*/a", False, True), ("**/b", False, True), ("x*", True, False)],
)
def test_a_glob_says_which_folders_are_entered_in_vain(glob: str, fits: bool, goes_on: bool) -> None:
    reached = glob_of(glob).after("xx")
    assert (reached.fits, reached.goes_on) == (fits, goes_on)
