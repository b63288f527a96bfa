"""docs/command-line.md has every command with all that it takes, and nothing else."""

import re
import subprocess
import sys
from pathlib import Path

from support.pages import DOCS, ROOT, blocks, first_column, sections

from abey.shared import kinds
from abey_cli.parsing import GLOBAL, Argument, Command
from abey_cli.table import AGENT, COMMANDS, PROMPT

PAGE = DOCS / "command-line.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = sections(PAGE)


def synopsis(command: Command) -> str:
    """A command as the page writes it."""
    own = [one for one in command.arguments if one not in (*AGENT, *PROMPT)]
    places = [shown(one) for one in own if not one.names[0].startswith("-")]
    options = [shown(one) for one in own if one.names[0].startswith("-")]
    session = [one for one in places if one == "ID"]
    agent = ["[AGENT]"] if AGENT[0] in command.arguments else []
    prompt = ["[PROMPT]"] if PROMPT[0] in command.arguments else []
    others = [one for one in places if one != "ID"]
    return " ".join(["abey", command.words, *session, *agent, *prompt, *others, *options])


def shown(argument: Argument) -> str:
    settings = argument.settings
    metavar = settings.get("metavar") or "|".join(settings.get("choices", ()))
    if argument.names[0].startswith("-"):
        option = f"{argument.names[-1]}{f' {metavar}' if metavar else ''}"
        return option if settings.get("required") else f"[{option}]"
    return {None: metavar, "?": f"[{metavar}]", "+": f"{metavar}...", "*": f"[{metavar}...]"}[settings.get("nargs")]


def table(heading: str) -> set[str]:
    """The options in the table whose first heading cell is this one."""
    return set(first_column(TEXT[TEXT.index(f"| {heading} |") :]))


def names(arguments: tuple[Argument, ...]) -> set[str]:
    return {name for argument in arguments for name in argument.names}


def test_the_page_has_every_command_with_its_arguments_and_no_other() -> None:
    lines = [line for block in blocks(PAGE, "text") for line in block.text.splitlines()]
    assert sorted(lines) == sorted(synopsis(command) for command in COMMANDS)


def test_the_tables_have_every_shared_option() -> None:
    assert set(first_column(SECTIONS["Common options"])) == names(GLOBAL)
    assert table("option of AGENT") == names(AGENT)
    assert table("option of PROMPT") == names(PROMPT)
    assert table("option of a command with an effect") == {"--timeout", "--if-revision", "--idempotency-key"}


def test_every_option_that_is_spoken_of_exists() -> None:
    known = names(GLOBAL) | {name for command in COMMANDS for name in names(command.arguments)}
    spoken = set(re.findall(r"`(--[a-z-]+)", TEXT)) - set(first_column(SECTIONS["abey-daemon"]))
    assert spoken - known - {"--help", "--version"} == set()


def test_the_page_has_the_options_of_the_daemon() -> None:
    printed = subprocess.run(
        [Path(sys.executable).parent / "abey-daemon", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert set(first_column(SECTIONS["abey-daemon"])) == set(re.findall(r"^  (--[a-z-]+)", printed, re.MULTILINE))


def test_the_page_has_every_exit_code() -> None:
    rows = {int(code) for code in re.findall(r"^\| (\d+) \|", SECTIONS["Exit codes"], re.MULTILINE)}
    assert rows == {value for name, value in vars(kinds).items() if name.startswith("EXIT_")}


def test_the_page_has_every_variable_that_is_read() -> None:
    sources = [path.read_text(encoding="utf-8") for room in ("server", "cli") for path in (ROOT / room).rglob("*.py")]
    read = {name for source in sources for name in re.findall(r"ABEY_[A-Z]+(?:_[A-Z]+)*", source)}
    assert set(first_column(SECTIONS["Environment"])) == read
