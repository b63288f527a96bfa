"""The command line as a table, and how a line becomes a command with its options."""

import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from abey_cli.failures import Failure, usage


class Argument(NamedTuple):
    """One positional (a bare name) or option, as argparse takes it."""

    names: tuple[str, ...]
    settings: dict[str, Any]


class Command(NamedTuple):
    """`words` select it; `function` is `module:function` in abey_cli.commands, so that only one module is loaded."""

    words: str
    function: str
    help: str
    arguments: tuple[Argument, ...]


class Options(SimpleNamespace):
    """What a line gives, by name."""


class Line(NamedTuple):
    command: Command
    options: Options


PIECE = "piece"  # the action of what is a part of the prompt
STDOUT = 1
WIDTH = 80
NARROWEST = 24
"""Columns of a text that is wrapped."""
ALIKE = 0.7
"""How much of a word, in 0 to 1, is in another one that may have been meant."""


def arg(*names: str, **settings: Any) -> Argument:
    return Argument(names, settings)


def _dest(names: Sequence[str]) -> str:
    """As argparse makes it of the names."""
    return names[-1].lstrip("-").replace("-", "_")


GLOBAL = (
    arg("--json", action="store_true", help="one JSON value on stdout: the result, or the error"),
    arg("-q", "--quiet", action="store_true", help="say less"),
    arg("--no-input", action="store_true", help="never ask"),
    arg("--state-dir", metavar="DIR", help="where sessions are kept"),
    arg("--transport", choices=("auto", "socket", "stdio"), help="auto starts the shared daemon, stdio has its own"),
)
_FLAGS = {
    name: _dest(argument.names) for argument in GLOBAL if "action" in argument.settings for name in argument.names
}
_VALUED = {name for argument in GLOBAL if "action" not in argument.settings for name in argument.names}


def parse(argv: Sequence[str], commands: Sequence[Command]) -> Line:
    """The command that `argv` names, with its options. Raises Failure `usage`; SystemExit 0 after `--help`."""
    before, rest = _split_globals(argv)
    for argument in argv:
        _check_text(argument)
    command, rest = _choose(rest, commands)
    given = [*before, *rest]
    options = _plain(given, command) or _read(given, command)
    for one in (*command.arguments, *GLOBAL):
        if _is_empty(one, options):
            raise usage(f"{command.words}: {_name(one)} is empty; see `abey {command.words} --help`")
    return Line(command, options)


def _plain(given: Sequence[str], command: Command) -> Options | None:
    """The options of a line that has but flags of GLOBAL, as many lines do; None where argparse has to be asked."""
    if not _FLAGS.keys() >= set(given):
        return None
    options = Options()
    for names, settings in (*command.arguments, *GLOBAL):
        if settings.get("required") or not (names[0].startswith("-") or settings.get("nargs") == "?"):
            return None
        untouched = False if settings.get("action") == "store_true" else None
        setattr(options, settings.get("dest", _dest(names)), settings.get("default", untouched))
    for name in given:
        setattr(options, _FLAGS[name], True)
    return options


def _read(given: Sequence[str], command: Command) -> Options:
    from abey_cli.options import parser_of  # not on the way of a plain line: that is to be quick

    parser, options = parser_of(command), Options()
    _, unknown = parser.parse_known_intermixed_args(given, options)
    if unknown:
        raise usage(f"{command.words}: {_unknown(unknown[0], command)}; see `{parser.prog} --help`")
    return options


def without_help_word(argv: Sequence[str]) -> list[str]:
    """`abey help WORDS` is `abey WORDS --help`; every other line is as it was."""
    before, rest = _split_globals(argv)
    return [*before, *rest[1:], "--help"] if rest[:1] == ["help"] else list(argv)


def command_words(argv: Sequence[str]) -> str:
    """The words that select a command, as they were given."""
    words = [word for word in _split_globals(argv)[1][:2] if not word.startswith("-")]
    return " ".join(words)


def overview(argv: Sequence[str], commands: Sequence[Command]) -> str | None:
    """The list of commands, all or those of one group, where `argv` asks for it with --help."""
    _, rest = _split_globals(argv)
    group = "" if rest[:1] in (["-h"], ["--help"]) else rest[0] if rest[1:2] in (["-h"], ["--help"]) else None
    if group is None or any(command.words == group for command in commands):
        return None
    listed = [c for c in commands if c.words.startswith(f"{group} ".lstrip())]
    width = max((len(command.words) for command in listed), default=0)
    lines = [line for command in listed for line in _beside(f"  abey {command.words:<{width}}  ", command.help)]
    return "\n".join([*lines, "", "`abey COMMAND --help` says what a command takes."]) if listed else None


def _beside(name: str, text: str) -> list[str]:
    """A name with the text in a column beside it, or where that would be narrow below it."""
    import textwrap  # nobody else needs it

    room = columns() - len(name)
    if room >= NARROWEST:
        first, *more = textwrap.wrap(text, room)
        return [f"{name}{first}", *(f"{'':{len(name)}}{line}" for line in more)]
    return [name.rstrip(), *(f"{'':6}{line}" for line in textwrap.wrap(text, max(columns() - 6, NARROWEST)))]


def wants_version(argv: Sequence[str]) -> bool:
    return _split_globals(argv)[1][:1] == ["--version"]


def wants_json(argv: Sequence[str]) -> bool:
    """Whether an error of parsing itself is to be JSON."""
    return "--json" in (argv[: argv.index("--")] if "--" in argv else argv)


def columns() -> int:
    """As $COLUMNS or the terminal says; 80 of what is none."""
    named = os.environ.get("COLUMNS", "")
    if named.isascii() and named.isdigit() and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size(STDOUT).columns or WIDTH
    except OSError:
        return WIDTH


def piece(kind: str, *names: str, **settings: Any) -> Argument:
    return arg(*names, action=PIECE, const=kind, dest="pieces", **settings)


def _split_globals(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The global options among the words of the command, and the rest from the first other thing on."""
    before: list[str] = []
    words: list[str] = []
    rest = list(argv)
    while rest and len(words) < 2:
        name = rest[0].partition("=")[0]
        if rest[0] in _FLAGS or (name in _VALUED and "=" in rest[0]):
            before.append(rest.pop(0))
        elif name in _VALUED:
            before += rest[:2]
            rest = rest[2:]
        elif rest[0].startswith("-"):
            break
        else:
            words.append(rest.pop(0))
    return before, [*words, *rest]


def _choose(rest: list[str], commands: Sequence[Command]) -> tuple[Command, list[str]]:
    first, second = (*rest, "", "")[:2]
    for command in commands:
        if command.words == f"{first} {second}":
            return command, rest[2:]
    for command in commands:
        if command.words == first and first:
            return command, rest[1:]
    raise _no_such_command(first, second, commands)


def _no_such_command(first: str, second: str, commands: Sequence[Command]) -> Failure:
    inside = [command.words.split()[1] for command in commands if command.words.startswith(f"{first} ")]
    if not first:
        return usage("say what to do; `abey --help` lists the commands")
    if first.startswith("-"):
        return usage(f"unknown option {first!r}; see `abey --help`")
    if not inside:
        meant = _meant((f"{first} {second}", first), commands)
        return usage(f"unknown command {first!r}; `abey --help` lists the commands{meant}")
    if not second or second.startswith("-"):
        return usage(f"{first}: say which: {', '.join(inside)}")
    return usage(f"unknown command {f'{first} {second}'!r}; abey {first} has: {', '.join(inside)}")


def _meant(given: Sequence[str], commands: Sequence[Command]) -> str:
    """A question whether the command that looks most like it was meant, by all its words or by the last one alone."""
    import difflib  # nobody else needs it

    known = {command.words.split()[-1]: command.words for command in reversed(commands)}
    known |= {command.words: command.words for command in commands}
    close = [name for one in given for name in difflib.get_close_matches(one, known, n=1, cutoff=ALIKE)]
    return f"; did you mean `abey {known[close[0]]}`?" if close else ""


_BLANKS = frozenset({"query", "text", "title", "reason"})
"""Positional arguments that are often several words."""
_NEVER_EMPTY = frozenset({"FILE", "DIR", "ID", "SLUG"})


def _unknown(given: str, command: Command) -> str:
    if given.startswith("-"):
        return f"unknown option {given!r}"
    quote = any(argument.names[0] in _BLANKS for argument in command.arguments)
    return f"unknown argument {given!r}{' (words that belong together go in quotes)' if quote else ''}"


def _is_empty(argument: Argument, options: Options) -> bool:
    """Whether what must be a name was given as an empty text."""
    names, settings = argument
    required = not names[0].startswith("-") and "nargs" not in settings
    if not required and not _NEVER_EMPTY.intersection(settings.get("metavar", "").split("|")):
        return False
    value = getattr(options, _dest(names), None)
    return value == "" or (isinstance(value, list) and "" in value)


def _name(argument: Argument) -> str:
    name = argument.names[-1]
    return name if name.startswith("-") else str(argument.settings.get("metavar", name))


def _check_text(argument: str) -> None:
    try:
        argument.encode()
    except UnicodeEncodeError as error:
        raise usage(f"an argument is not UTF-8: {argument.encode(errors='backslashreplace').decode()}") from error
