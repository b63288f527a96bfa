"""The README's session is what the installed programs print, and its commands are true."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", TEXT, re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it prints."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def without_ids(text: str) -> str:
    return re.sub(r"\b[0-9a-f]{32}\b", "TOKEN", re.sub(r"\b[0-9a-hjkmnp-tv-z]{26}\b", "SESSION", text))


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    folders = {f"ABEY_{name.upper()}_DIR": str(tmp_path / name) for name in ("state", "config", "runtime")}
    return {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path), "LANG": "C.UTF-8", **folders}


def test_the_session_in_the_readme_prints_what_it_says(home: dict[str, str], tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(ROOT / "docs" / "examples", work / "docs" / "examples")
    seen: dict[str, str] = {}
    try:
        for command, printed in commands(blocks("console")[0]):
            for shown, real in seen.items():
                command = command.replace(shown, real)
            done = subprocess.run(
                ["bash", "-c", command], cwd=work, env=home, capture_output=True, text=True, timeout=60
            )
            assert without_ids(done.stdout) == without_ids(printed), (command, done.stderr)
            shown_tokens, real_tokens = (re.findall(r"\b[0-9a-f]{32}\b", text) for text in (printed, done.stdout))
            seen |= {shown[:8]: real for shown, real in zip(shown_tokens, real_tokens, strict=True)}
    finally:
        subprocess.run([BIN / "abey", "daemon", "stop"], env=home, capture_output=True, timeout=60, check=True)


def test_the_demo_of_the_readme_runs(home: dict[str, str], tmp_path: Path) -> None:
    block = next(block for block in blocks("sh") if "abey demo" in block)
    command = block.strip().split(" && ")[-1].removeprefix(".venv/bin/")
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=home, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (
        0,
        ["State: LlmTurn (completed)", "Done: the folder was listed at once, and the clock was for you to decide."],
    )


def test_every_file_the_readme_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert [link for link in links if not (ROOT / link).exists()] == []
