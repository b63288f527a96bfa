"""What the pages say is shown by a test is shown by one that is there."""

import ast
import re
from functools import cache
from pathlib import Path

from support.pages import DOCS, PAGES, ROOT

HARNESS = DOCS / "decisions" / "0025-what-the-harness-did.md"
EDITORS = DOCS / "decisions" / "0026-what-editors-get-wrong.md"
NAMED = re.compile(r"\b(tests/[\w/]+\.py)::(\w+)")
TITLED = re.compile(r"`(clients/vscode/test/[\w/.-]+\.ts): ([^`]+)`")
"""A test of the extension, by its file and its title."""
TITLE = re.compile(r'(?:\b(?:test|step|real)\(|^  \[)\s*"([^"\n]+)",', re.M)
"""The title as the file has it: of a test or a step of one, or the first of a case that the extension host runs."""
ROWS = [
    *(f"C{n}" for n in range(1, 10)),
    *(f"D{n}" for n in range(1, 11)),
    *(f"E{n}" for n in range(1, 28)),
    *(["2.2"] * 19),
    *(f"Q{n}" for n in range(1, 27)),
]


@cache
def functions(file: str) -> frozenset[str]:
    """Of the whole file, those in classes too; none where there is no such file."""
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@cache
def titles(file: str) -> frozenset[str]:
    """Of the tests of a TypeScript file; none where there is no such file."""
    path = ROOT / file
    return frozenset(TITLE.findall(path.read_text(encoding="utf-8"))) if path.is_file() else frozenset()


def test_every_test_that_a_page_names_is_in_its_file() -> None:
    named = {found for page in PAGES for found in NAMED.findall(page.read_text(encoding="utf-8"))}
    assert [f"{file}::{name}" for file, name in sorted(named) if name not in functions(file)] == []


def test_every_test_of_the_extension_that_a_page_names_is_in_its_file() -> None:
    named = {found for page in PAGES for found in TITLED.findall(page.read_text(encoding="utf-8"))}
    assert [f"{file}: {title}" for file, title in sorted(named) if title not in titles(file)] == []


def test_each_point_of_the_harness_is_answered_and_shown_by_a_test() -> None:
    found = rows(HARNESS)
    assert [row[0].split()[0] for row in found] == ROWS
    assert [row[0] for row in found if len(row) != 4 or not NAMED.search(row[3])] == []


def test_each_complaint_about_editors_is_answered_and_shown_by_a_test() -> None:
    found = rows(EDITORS)
    assert len(found) > 0
    assert [row[0] for row in found if len(row) != 4 or not (NAMED.search(row[3]) or TITLED.search(row[3]))] == []


def rows(page: Path) -> list[list[str]]:
    """The cells of every row of the page's tables, without the heads of these."""
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]
    return [row for row in cells if not row[0].startswith("|")]
