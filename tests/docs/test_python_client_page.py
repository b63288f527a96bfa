"""What docs/python-client.md shows runs, and prints what it says."""

import subprocess
import sys

import pytest
from support.e2e import Place
from support.e2e_peer import PATIENCE
from support.pages import DOCS, blocks, first_column, sections

from abey_cli.client import Client

PAGE = DOCS / "python-client.md"
PROGRAMS = blocks(PAGE, "python")
PRINTED = blocks(PAGE, "text")


@pytest.mark.parametrize("shown", range(len(PROGRAMS)), ids=lambda shown: PROGRAMS[shown].name)
def test_a_program_prints_what_the_page_says(place: Place, shown: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS[shown].text],
        cwd=place.work,
        env=place.env,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, PRINTED[shown].text, "")


def test_the_page_has_every_argument() -> None:
    code = Client.__init__.__code__
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    assert first_column(sections(PAGE)["A session, up to a decision"]) == named
