"""What is generated says what the protocol says."""

import subprocess
import sys
from pathlib import Path

import pytest

from abey.daemon.generate import embedded, generated

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", generated())
def test_the_generated_file_is_fresh(name: str) -> None:
    stale = f"{name} is stale: python -m abey.daemon.generate"
    assert (ROOT / name).read_text(encoding="utf-8") == generated()[name], stale


@pytest.mark.parametrize("name", embedded(ROOT))
def test_the_generated_part_of_the_page_is_fresh(name: str) -> None:
    stale = f"{name} is stale: python -m abey.daemon.generate"
    assert (ROOT / name).read_text(encoding="utf-8") == embedded(ROOT)[name], stale


def test_the_command_writes_every_file_with_a_first_line_that_names_it(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "abey.daemon.generate", str(tmp_path)], cwd=ROOT, check=True)
    written = {name: (tmp_path / name).read_text(encoding="utf-8") for name in generated()}
    assert written == generated()
    assert [
        name for name, text in written.items() if "python -m abey.daemon.generate" not in text.splitlines()[0]
    ] == []
