"""Every page under docs/: its links lead somewhere, its JSON is JSON, its agent files load, its shell blocks run."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.e2e import Place
from support.e2e_peer import PATIENCE
from support.pages import PAGES, ROOT, Block, blocks, plain, replacements

from abey.runtime.agents.loading import load_text

SHELLS = ("console", "sh", "bash", "shell")
JSON = re.compile(r"json(?: \w+)?")

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
def test_every_json_block_is_json(page: Path) -> None:
    for block in blocks(page):
        if JSON.fullmatch(block.kind) and block.kind != "json agent":
            json.loads(block.text)


@by_name
def test_every_agent_file_loads_and_there_is_nothing_to_say_about_it(page: Path) -> None:
    loaded = {block.name: load_text(block.text, page) for block in blocks(page, "json agent")}
    assert {name: one.findings for name, one in loaded.items() if one.findings or one.config is None} == {}


@by_name
def test_every_shell_block_runs_and_prints_what_it_says(page: Path, place: Place, named: dict[str, str]) -> None:
    for block in blocks(page, *SHELLS):
        if block.reason is not None:
            continue
        if block.needs is not None and shutil.which(block.needs) is None:
            pytest.skip(f"{block.name} needs {block.needs}")
        if block.kind == "console":
            run_console(block, place, named)
        else:
            done = run(block.text, place)
            assert done.returncode == 0, (block.name, done.stderr)


def run_console(block: Block, place: Place, named: dict[str, str]) -> None:
    """Runs the commands of a block; what the page calls by another name is added to `named`."""
    for command, shown in commands(block.text):
        done = run(here(command, named), place)
        assert plain(done.stdout) == plain(here(shown, named)), (block.name, command, done.stderr)
        for before, after in dict(replacements(shown, done.stdout)).items():
            named |= {before: after, before[:8]: after[:8]}


def here(text: str, named: dict[str, str]) -> str:
    """`text` with what the page names as it is called here, the longest names first."""
    for before in sorted(named, key=len, reverse=True):
        text = text.replace(before, named[before])
    return text


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it prints; `> ` goes on with the line before."""
    parts = re.split(r"^\$ (.*(?:\n> .*)*)\n", text, flags=re.MULTILINE)[1:]
    asked = [command.replace("\n> ", "\n") for command in parts[::2]]
    return list(zip(asked, parts[1::2], strict=True))


def run(script: str, place: Place) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["bash", "-c", script],
        cwd=place.work,
        env=place.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
