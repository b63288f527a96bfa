"""docs/protocol.md says what editors without a plugin are offered, and no more."""

import re

from support.pages import DOCS, ROOT, sections
from support.session_pages import pending

from abey.language.sessions.arguments import DECISIONS, offered, title
from abey.language.sessions.composer import COMPOSER

SECTIONS = sections(DOCS / "protocol.md")
PLAIN = ROOT / "server/abey/daemon/plain"
NAMED = ("sessions/offers.py", "agent_files/starting.py")
"""Where else commands have their names."""


def rows(heading: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    lines = [line for line in SECTIONS[heading].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_of_commands_has_every_command() -> None:
    files = (*sorted(PLAIN.glob("*.py")), *(ROOT / "server/abey/language" / name for name in NAMED))
    commands = set(re.findall(r'"(abey\.[a-z]+)"', "".join(file.read_text(encoding="utf-8") for file in files)))
    assert {row[0] for row in rows("Commands")} == {f"`{name}`" for name in commands}


def test_the_table_of_decisions_has_what_is_offered_for_each_kind_of_call() -> None:
    found = {
        (f"`{kind}`", f"*{title(pending(kind=kind), decision)}*", f"`{decision}`")
        for kind in ("approval", "external", "uncertain", "question")
        for decision in offered(pending(kind=kind))
    }
    told = {
        (kind, action, decision)
        for kinds, action, decision, _ in rows("Documents of calls")
        for kind in kinds.split(", ")
    }
    assert told == found
    assert {decision.strip("`") for _, _, decision in told} == set(DECISIONS)


def test_the_composer_line_is_shown_as_it_is() -> None:
    page = (DOCS / "protocol.md").read_text(encoding="utf-8")
    assert f"```text\n{COMPOSER}\n```" in page
