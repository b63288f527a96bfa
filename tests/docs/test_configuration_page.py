"""docs/configuration.md has every file of the config directory that the code knows."""

import re

from support.pages import DOCS, ROOT, first_column, sections

FILES = sections(DOCS / "configuration.md")["Files"]
ELSEWHERE = {"trust.json", "leftovers.json"}
"""Files of the state directory: docs/journal.md."""
PASSING = {"arguments.json", "demo.json"}
"""Files in temporary folders."""


def test_the_page_has_every_file_that_is_read() -> None:
    rooms = (ROOT / "server", ROOT / "cli/abey_cli")
    sources = [path.read_text(encoding="utf-8") for room in rooms for path in room.rglob("*.py")]
    known = {name for source in sources for name in re.findall(r'"([a-z]+\.json)"', source)} - {"schema.json"}
    assert set(first_column(FILES)) == {"agents/"} | known - ELSEWHERE - PASSING


def test_the_files_of_the_state_directory_are_on_their_own_page() -> None:
    text = sections(DOCS / "journal.md")["Where state lives"]
    assert {name for name in ELSEWHERE if f"`{name}`" not in text} == set()
