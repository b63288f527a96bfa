"""What a shell may put in the place of a word: commands and options of the table, and names that the daemon knows."""

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from argcomplete import autocomplete
from argcomplete.completers import SuppressCompleter
from argcomplete.shell_integration import shellcode

from abey.shared.escaping import cut, escape_line
from abey_cli.channels import open_socket, with_folders
from abey_cli.connection import Connection
from abey_cli.failures import Failure
from abey_cli.options import know_pieces
from abey_cli.parsing import GLOBAL, Argument, Command

PATIENCE_SECONDS = 0.5
"""For a daemon that does not answer at once, as one does within milliseconds."""
NAMES = 200
"""As many sessions are offered, the newest."""
TITLE_SHOWN = 60
FILES = ("FILE", "DIR", "PATH")
"""What the name of a value ends with where files are meant, or begins with."""

Words = Mapping[str, str]
"""What may stand there, each with what is told about it where a shell shows that."""


def script_of(shell: str) -> str:
    """The script for bash, zsh or fish, without the newline at its end."""
    return shellcode(["abey"], shell=shell).strip("\n")


def complete_word(commands: Sequence[Command]) -> None:
    """Answers a shell that asks through the variables of argcomplete, and ends the program."""
    line = os.environ.get("COMP_LINE", "").split()
    autocomplete(_parser(commands, line), always_complete_options=False, default_completer=SuppressCompleter())


def _parser(commands: Sequence[Command], line: Sequence[str]) -> argparse.ArgumentParser:
    """All commands, with the arguments of those alone whose words stand in the line: to make them takes time."""
    top = _with_arguments(argparse.ArgumentParser(prog="abey", allow_abbrev=False), GLOBAL)
    top.add_argument("--version", action="store_true", help="print the version")
    groups: dict[str, Any] = {"": top.add_subparsers()}
    for command in commands:
        group, _, word = command.words.rpartition(" ")
        if group not in groups:
            groups[group] = groups[""].add_parser(group, help=f"{group} …").add_subparsers()
        parser = groups[group].add_parser(word, help=command.help, allow_abbrev=False)
        if set(command.words.split()).issubset(line):
            _with_arguments(parser, (*command.arguments, *GLOBAL))
    return top


def _with_arguments(parser: argparse.ArgumentParser, arguments: Sequence[Argument]) -> argparse.ArgumentParser:
    know_pieces(parser)
    for argument in arguments:
        action: Any = parser.add_argument(*argument.names, **{**argument.settings, "default": argparse.SUPPRESS})
        action.completer = _completer(argument)
    return parser


def _completer(argument: Argument) -> Any:
    """What knows the values of an argument; None where its choices are all there are, or nobody knows."""
    name, metavar = argument.names[-1], str(argument.settings.get("metavar", ""))
    if name in ASKED:
        return _asked(ASKED[name])
    if name == "--session-file":
        return _with_files(_asked(_sessions))
    return _files if metavar.startswith(FILES) or metavar.endswith(FILES) else None


def _with_files(names: Callable[..., Words]) -> Callable[..., Words]:
    def words(prefix: str, **given: Any) -> Words:
        return {**names(prefix=prefix, **given), **_files(prefix)}

    return words


def _files(prefix: str, **_: Any) -> Words:
    """Those of the folder that the prefix names. The completer of the library asks bash, which need not be there, and
    offers nothing where one name is no UTF-8."""
    folder, slash, beginning = prefix.rpartition("/")
    try:
        with os.scandir(os.path.expanduser(f"{folder}{slash}") or ".") as entries:
            found = {entry.name: os.path.isdir(entry) for entry in entries if entry.name.startswith(beginning)}
    except OSError:
        return {}
    shown = sorted(name for name in found if _is_text(name) and (beginning or not name.startswith(".")))
    return {f"{folder}{slash}{name}{'/' if found[name] else ''}": "" for name in shown}


def _is_text(name: str) -> bool:
    """Whether every character of it can be put in a line, and be told to the daemon."""
    return name.isprintable()


def _asked(names: Callable[[Connection, argparse.Namespace], Words]) -> Callable[..., Words]:
    """None are known where no daemon runs, which is not started for this, or it takes too long."""

    def words(parsed_args: argparse.Namespace, **_: Any) -> Words:
        env = with_folders(os.environ, getattr(parsed_args, "state_dir", None))
        try:
            return _ask(env, lambda connection: names(connection, parsed_args))
        except (Failure, TimeoutError):
            return {}

    return words


def _ask(env: Mapping[str, str], names: Callable[[Connection], Words]) -> Words:
    connection = Connection(open_socket(env, start=False))
    connection.deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        connection.initialize({})
        return names(connection)
    finally:
        connection.close()


def _sessions(connection: Connection, _: argparse.Namespace) -> Words:
    items = connection.request("agents/sessions", {"limit": NAMES})["items"]
    return {"@": "the latest of this folder", **{item["sessionId"]: _told(item["title"]) for item in items}}


def _tokens(connection: Connection, _: argparse.Namespace) -> Words:
    items = connection.request("agents/pending", {"limit": NAMES})["items"]
    return {item["token"]: _told(item.get("title") or item["tool"]) for item in items}


def _tokens_and_sessions(connection: Connection, options: argparse.Namespace) -> Words:
    return {**_tokens(connection, options), **_sessions(connection, options)}


def _slugs(connection: Connection, _: argparse.Namespace) -> Words:
    items = connection.request("agents/list", {"cwd": os.getcwd()})["items"]
    return {item["slug"]: _told(item["description"]) for item in items}


def _inputs(connection: Connection, options: argparse.Namespace) -> Words:
    session = connection.request("agents/get", {"sessionId": options.session})["session"]
    return {queued["inputId"]: queued["delivery"] for queued in session["queued"]}


def _rules(connection: Connection, _: argparse.Namespace) -> Words:
    items = connection.request("agents/rules", {"action": "list"})["items"]
    return {item["ruleId"]: _told(item["tool"]) for item in items}


def _told(text: str) -> str:
    return escape_line(cut(text, TITLE_SHOWN))


ASKED: Mapping[str, Callable[[Connection, argparse.Namespace], Words]] = {
    "session": _sessions,
    "--session": _sessions,
    "token": _tokens,
    "subject": _tokens_and_sessions,
    "--agent": _slugs,
    "input": _inputs,
    "rule": _rules,
}
"""What the daemon is asked for, by the name of the argument."""
