"""Every page, docs or not: its links lead somewhere, nothing in its blocks is wrong, and what it shows happens.

A page is a story on a machine of its own: commands run and print what it says, requests are answered as it says, files
are written where it says so. What a block of each form may be is in `tests/support/reading.py`. A block that is not run
says why on the line before, and is read all the same.
"""

import re
import shutil
from pathlib import Path

import pytest
from support.e2e import Place
from support.pages import PAGES, ROOT, blocks
from support.reading import faults
from support.shell_lines import spoken_of
from support.telling import Story

NOT_RUN: dict[str, list[str]] = {
    "CONTRIBUTING.md": [
        "installs packages, and runs all tests",
    ],
    "README.md": [
        "installs packages",
        "installs packages, and runs all tests",
        "downloads models and programs",
        "downloads servers",
        "downloads editors",
        "downloads VS Code and a browser",
    ],
    "clients/vscode/test/README.md": [
        "downloads VS Code and a browser",
        "needs VS Code and a browser",
    ],
    "docs/command-line.md": [
        "it takes two machines",
    ],
    "docs/extensions.md": [
        "it would change the environment of whoever runs the tests",
    ],
    "docs/how-to/mcp-servers.md": [
        "installs packages",
    ],
    "docs/how-to/models.md": [
        "needs a key, and asks a provider",
    ],
    "docs/how-to/recover-a-session.md": [
        "there is no backup in this example",
    ],
    "docs/operations.md": [
        "installs packages",
        "it needs a receiver",
        "it changes the services of whoever runs it",
        "it ends the daemon of whoever runs it",
    ],
    "docs/protocol.md": [
        "it stays in the environment of the shell",
        "only some machines have a sandbox",
    ],
    "docs/tutorial.md": [
        "installs packages",
        "needs VS Code, and a file that `npm run package` makes",
    ],
    "docs/vscode.md": [
        "needs VS Code, and files that a release has",
        "needs npm and its packages",
    ],
}
"""The blocks that are not run, by their page and their reason."""

by_name = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def anchors(page: Path) -> set[str]:
    """What a link into a page may name, as hosts of code make it of its headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@by_name
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", link):
            file, _, anchor = link.partition("#")
            target = (page.parent / file).resolve() if file else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                dead.append(link)
    assert dead == []


@by_name
def test_every_fence_is_closed(page: Path) -> None:
    fences = re.findall(r"^```", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) == 2 * len(blocks(page))


@by_name
def test_nothing_is_wrong_with_a_block(page: Path) -> None:
    assert {block.name: found for block in blocks(page) if (found := faults(block))} == {}


@by_name
def test_every_command_that_is_spoken_of_is_there(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert {said: found for said in re.findall(r"`(abey [^`]+)`", text) if (found := spoken_of(said))} == {}


def test_what_is_not_run_is_listed() -> None:
    found = {str(page.relative_to(ROOT)): [one.reason for one in blocks(page) if one.reason] for page in PAGES}
    assert {page: reasons for page, reasons in found.items() if reasons} == NOT_RUN


@by_name
def test_what_the_page_shows_happens(page: Path, place: Place, named: dict[str, str]) -> None:
    with Story(place, named) as story:
        for block in blocks(page):
            if block.reason is not None:
                continue
            if block.needs is not None and shutil.which(block.needs) is None:
                pytest.skip(f"{block.name} needs {block.needs}")
            story.tell(block)
