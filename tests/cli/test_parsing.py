"""A command line becomes a command and its options, or one line that says what is wrong with it."""

import importlib

import pytest

from abey_cli.failures import Failure
from abey_cli.options import parser_of
from abey_cli.parsing import Argument, Options, overview, parse, wants_json, wants_version
from abey_cli.table import COMMANDS


@pytest.mark.parametrize(
    ("line", "command", "options"),
    [
        ("session step x", "session step", {"session": "x", "json": False, "quiet": False, "timeout": None}),
        ("--json session step x", "session step", {"session": "x", "json": True}),
        ("session --json step x -q", "session step", {"session": "x", "json": True, "quiet": True}),
        ("--state-dir /s session step x", "session step", {"session": "x", "state_dir": "/s"}),
        ("--state-dir=/s session step x", "session step", {"session": "x", "state_dir": "/s"}),
        ("session step x --state-dir /s", "session step", {"session": "x", "state_dir": "/s"}),
        ("session complete t --resume f", "session complete", {"token": "t", "file": "f", "resume": True}),
        ("session complete t -", "session complete", {"token": "t", "file": "-"}),
        ("session complete --text x t", "session complete", {"token": "t", "file": None, "text": "x"}),
        ("session reject t no", "session reject", {"token": "t", "reason": "no"}),
        ("session send x -- -v", "session send", {"session": "x", "text": "-v"}),
        ("rpc - --fail", "rpc", {"method": "-", "params": None, "fail": True}),
        ("run -p a -f b -p c", "run", {"pieces": [("text", "a"), ("file", "b"), ("text", "c")]}),
        ("run --timeout 1.5 --max-steps 3", "run", {"timeout": 1.5, "max_steps": 3, "until": "yield"}),
        ("agents check a b", "agents check", {"files": ["a", "b"]}),
    ],
)
def test_a_line_is_a_command_with_options(line: str, command: str, options: dict[str, object]) -> None:
    parsed = parse(line.split(), COMMANDS)
    found = {name: getattr(parsed.options, name) for name in options}
    assert (parsed.command.words, found) == (command, options)


@pytest.mark.parametrize("flags", [[], ["--json"], ["-q", "--no-input"]])
def test_a_line_of_nothing_but_flags_has_what_argparse_makes_of_it(flags: list[str]) -> None:
    plain = [command for command in COMMANDS if all(_may_be_absent(one) for one in command.arguments)]
    read = {command.words: parser_of(command).parse_args(flags, Options()) for command in plain}
    assert {words: parse([*words.split(), *flags], COMMANDS).options for words in read} == read


def _may_be_absent(one: Argument) -> bool:
    required = not one.names[0].startswith("-") and one.settings.get("nargs") not in ("?", "*")
    return not one.settings.get("required", required)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "say what to do; `abey --help` lists the commands"),
        ("fork", "unknown command 'fork'; `abey --help` lists the commands"),
        ("session split x", "unknown command 'session split'; abey session has: start, step, "),
        ("fork", "unknown command 'fork'; `abey --help` lists the commands; did you mean `abey session fork`?"),
        ("agents", "agents: say which: list, check, new, explain"),
        ("--seed session step x", "unknown option '--seed'; see `abey --help`"),
        (
            "session step x --idempotent k",
            "session step: unknown option '--idempotent'; see `abey session step --help`",
        ),
        ("session approve t --alw", "session approve: unknown option '--alw'; see `abey session approve --help`"),
        ("session step x y", "session step: unknown argument 'y'; see `abey session step --help`"),
        ("session step", "session step: the following arguments are required: ID; see `abey session step --help`"),
        ("run --timeout nan", "run: argument --timeout: nan is no number of seconds; see `abey run --help`"),
        ("run --max-steps 0", "run: argument --max-steps: '0' is no whole number above 0; see `abey run --help`"),
        ("run --json=1", "run: argument --json: ignored explicit argument '1'; see `abey run --help`"),
        ("session show \udcff", "an argument is not UTF-8: \\udcff"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(line: str, message: str) -> None:
    with pytest.raises(Failure) as failed:
        parse(line.split(), COMMANDS)
    said = failed.value
    assert (said.message.startswith(message), said.kind, said.exit_code) == (True, "usage", 2), said.message


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("fork @", "session fork"),
        ("sesion lst", "session list"),
        ("aprove 5e940e5c", "session approve"),
        ("demon stop", "daemon stop"),
        ("list", "session list"),
    ],
)
def test_a_command_that_may_have_been_meant_is_named(line: str, meant: str) -> None:
    with pytest.raises(Failure) as failed:
        parse(line.split(), COMMANDS)
    assert failed.value.message.endswith(f"; did you mean `abey {meant}`?")


def test_where_none_looks_like_it_none_is_named() -> None:
    with pytest.raises(Failure, match=r"^unknown command 'xyzzy'; `abey --help` lists the commands$"):
        parse(["xyzzy", "plugh"], COMMANDS)


def test_every_command_has_a_function() -> None:
    missing = [
        command.words
        for command in COMMANDS
        for module, _, name in [command.function.partition(":")]
        if not callable(getattr(importlib.import_module(f"abey_cli.commands.{module}"), name, None))
    ]
    assert missing == []


def test_help_lists_all_commands_or_those_of_a_group() -> None:
    everything = overview(["--help"], COMMANDS)
    agents = overview(["agents", "-h"], COMMANDS)
    assert everything is not None
    assert [command.words for command in COMMANDS if f"  abey {command.words} " not in everything] == []
    assert agents == (
        "  abey agents list     The agents found.\n"
        "  abey agents check    What is wrong with agent files.\n"
        "  abey agents new      Write an agent file to begin with.\n"
        "  abey agents explain  What the policy says of a call, and why.\n"
        "\n"
        "`abey COMMAND --help` says what a command takes."
    )
    assert overview(["run", "--help"], COMMANDS) is None


@pytest.mark.parametrize("columns", [30, 40, 60, 100])
def test_help_is_not_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    everything = overview(["--help"], COMMANDS)
    monkeypatch.setenv("COLUMNS", str(columns))
    narrow = overview(["--help"], COMMANDS)
    assert everything is not None
    assert narrow is not None
    body = narrow.rpartition("\n\n")[0]
    assert max(map(len, body.splitlines())) <= columns
    assert narrow.split() == everything.split()


def test_errors_of_parsing_itself_are_json_where_the_line_says_so() -> None:
    asked = [wants_json(line.split()) for line in ("fork --json", "session send x -- --json", "fork")]
    assert asked == [True, False, False]


def test_the_version_is_asked_for_before_any_command() -> None:
    asked = [wants_version(line.split()) for line in ("--version", "--json --version", "run --version")]
    assert asked == [True, True, False]
