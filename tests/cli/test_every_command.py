"""Every command with everything that it takes, as a table: what is there is parsed, and what is not is exit 2."""

import shlex

import pytest

from abey_cli.failures import Failure
from abey_cli.parsing import parse
from abey_cli.table import COMMANDS

PROMPT = "-p a --prompt b -f c --file d --shell e --session-file g --alias h -m i --media 'image/png;j'"
EFFECT = "--timeout 1.5 --if-revision 0 --idempotency-key k"
WAYS = "--until yield --max-steps 3 --events --thinking stderr"

LINES = f"""
demo --yes
run --agent s {PROMPT} --session @ --title t --cwd . {WAYS} {EFFECT}
run --agent-file f --until turn
session start --agent s {PROMPT} --step --id i --title t --cwd . --thinking stdout {EFFECT}
session start --agent-file f
session step @ {PROMPT} --events --thinking none {EFFECT}
session resume @ {WAYS} {EFFECT}
session wait @ --until turn --timeout 1
session pause @ --reason r {EFFECT}
session pending
session pending @ --watch
session complete t f {EFFECT}
session complete t - --resume
session complete t --text x
session complete t --data x
session complete t --error x
session approve t --hash h --edit --resume {EFFECT}
session approve t --arguments f
session approve t --always session
session approve t --always workspace
session approve t --always user
session deny t r --resume {EFFECT}
session reject t r
session answer t v --resume {EFFECT}
session rerun t --hash h --resume {EFFECT}
session run-isolated @ {EFFECT}
session send @ x --interrupt {EFFECT}
session send @ - --queue
session withdraw @ i {EFFECT}
session continue @ {EFFECT}
session cancel @ {EFFECT}
session stop @ --yes {EFFECT}
session reopen @ {EFFECT}
session list
session list q
session show @
session output @
session output @ c
session tail @ -f
session tail @ --follow
session diff t
session record @
session rename @ t {EFFECT}
session fork @ --at 1 {EFFECT}
session rewind @ --to 1 {EFFECT}
session seed f {EFFECT}
session seed -
session delete @ {EFFECT}
session restore i {EFFECT}
session export @ --format jsonl
session export @ --format markdown
session export @ --format agents-exe
session import f {EFFECT}
session import -
agents list
agents check f g
agents new s
agents explain --agent s t '{{"a": 1}}'
agents explain --agent-file f t
trust
trust d
trust --list
trust --remove d
rules list
rules add t --scope user --any-arguments
rules remove r
rpc m
rpc m '{{}}'
rpc m -
rpc - --events --fail
daemon status
daemon start
daemon stop --now
daemon restart
daemon logs -f
doctor
repair i {EFFECT}
gc
schema
schema agent-file
completion bash
completion zsh
completion fish
"""
EACH = LINES.strip().splitlines()
GLOBALS = "--json -q --no-input --state-dir d --transport {}"


@pytest.mark.parametrize("line", EACH)
def test_it_is_parsed_with_the_options_that_every_command_takes(line: str) -> None:
    words = shlex.split(line)
    for transport in ("auto", "socket", "stdio"):
        common = GLOBALS.format(transport).split()
        parsed = parse([*common, *words], COMMANDS)
        assert parsed == parse([*words, *common], COMMANDS)
        assert line.startswith(parsed.command.words)
        assert (parsed.options.json, parsed.options.quiet, parsed.options.no_input) == (True, True, True)
        assert (parsed.options.state_dir, parsed.options.transport) == ("d", transport)


def test_no_command_is_left_out() -> None:
    covered = {parse(shlex.split(line), COMMANDS).command.words for line in EACH}
    assert covered | {"session archive", "session unarchive"} == {command.words for command in COMMANDS}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "session",
        "session nosuch",
        "session step",
        "session step a b",
        "session wait @ --until never",
        "session approve t --always never",
        "session rewind @",
        "run --thinking loudly",
        "run --max-steps 0",
        "session resume @ -p x",
        "session wait @ --thinking stderr",
        "session pause @ --timeout -1",
        "session pause @ --idempotency-key é",
        "session pause @ --if-revision -1",
        "completion tcsh",
        "schema nosuch",
        "doctor --transport pigeon",
    ],
)
def test_what_is_not_there_is_exit_2(abey, line: str) -> None:
    assert abey(*shlex.split(line)).code == 2


def test_all_that_is_said_of_a_kind_of_prompt_keeps_its_order() -> None:
    pieces = parse(shlex.split(f"run {PROMPT}"), COMMANDS).options.pieces
    kinds = ["text", "text", "file", "file", "shell", "session", "alias", "media", "media"]
    assert [kind for kind, _ in pieces] == kinds
    assert "".join(value for _, value in pieces) == "abcdeghiimage/png;j"


def test_an_error_of_parsing_is_json_with_json(abey) -> None:
    ran = abey("completion", "tcsh", "--json")
    assert (ran.code, ran.err) == (2, "")
    assert '"code": 0' in ran.out
    with pytest.raises(Failure):
        parse(["completion", "tcsh"], COMMANDS)
