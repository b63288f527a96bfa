"""The docs say what the code says."""

import re
from collections.abc import Iterator
from pathlib import Path

from support.pages import PAGES, ROOT, sections

from abey.core import invariants

PAGE = re.compile(r"(?<![.\w-])[\w-]+\.md\b")
CITED = re.compile(r"[(;] ?([\w-]+\.md), ([^;()\n]+)(?=[;)])")
"""A page and one section of it: `(page, Section)`, or `(page, Section; page, Section)`."""


def test_the_architecture_states_every_invariant_in_the_words_of_its_check() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    stated = [
        line.removeprefix("- **Invariant:** ").rstrip(".") for line in text.splitlines() if "**Invariant:**" in line
    ]
    journals = (invariants.REPLAYED, invariants.GAPLESS, invariants.ONCE, invariants.UNCHANGED, invariants.REMEMBERED)
    steps = (invariants.ENDED, invariants.KEPT, invariants.REACHED, invariants.DRAWN)
    checked = [*invariants.INVARIANTS, *journals, *steps]
    assert stated == checked


def test_every_page_that_a_comment_or_a_docstring_names_is_there() -> None:
    pages = {page.name for page in (*PAGES, *ROOT.glob("*.md"))}
    assert [f"{place}: {name}" for place, text in modules() for name in PAGE.findall(text) if name not in pages] == []


def test_every_section_that_a_comment_or_a_docstring_names_is_a_heading_of_its_page() -> None:
    headings = {(page.name, heading) for page in PAGES for heading in sections(page)}
    cited = [(place, *found) for place, text in modules() for found in CITED.findall(text)]
    assert [f"{place}: {page}, {section}" for place, page, section in cited if (page, section) not in headings] == []


def test_every_test_that_a_page_names_is_there() -> None:
    named = {name for page in PAGES for name in re.findall(r"\btests/[\w/]+\.py\b", page.read_text(encoding="utf-8"))}
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def modules() -> Iterator[tuple[Path, str]]:
    """Every Python file of the project, and its text."""
    for room in ("server", "cli", "tests"):
        for path in sorted((ROOT / room).rglob("*.py")):
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")
