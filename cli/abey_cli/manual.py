"""The manual page abey(1), in roff, made of the table of commands."""

from collections.abc import Iterator, Sequence

from abey.shared import kinds
from abey.shared.version import VERSION
from abey_cli.parsing import GLOBAL, Argument, Command

DESCRIPTION = (
    "abey holds sessions with LLM agents. A session moves one durable step at a time, and stops by itself where a"
    " person or a program must decide; it goes on from any shell, script or editor. A daemon keeps the sessions and is"
    " started when there is none; this program is a client of it. Results go to stdout; words for people, questions and"
    " errors go to stderr."
)

EXITS = {
    kinds.EXIT_OK: "the command did what it says",
    kinds.EXIT_ERROR: "any other error, a failed model call too; the session is kept",
    kinds.EXIT_USAGE: "usage",
    kinds.EXIT_YIELDED: "calls wait for somebody, or the session is paused",
    kinds.EXIT_UNKNOWN: "no such session, agent or token",
    kinds.EXIT_CONFLICT: "conflict: busy, another revision, already answered, stopped",
    kinds.EXIT_UNREACHABLE: "no daemon can be reached",
    kinds.EXIT_NO_ANSWER: "the turn ended without an answer",
    kinds.EXIT_TIMEOUT: "--timeout",
    kinds.EXIT_INTERRUPTED: "interrupted by Ctrl-C",
}

ENVIRONMENT = {
    "ABEY_STATE_DIR": "where sessions are; else $XDG_STATE_HOME/abey, else ~/.local/state/abey",
    "ABEY_CONFIG_DIR": "where agents are; else $XDG_CONFIG_HOME/abey, else ~/.config/abey",
    "ABEY_RUNTIME_DIR": "where the socket is; else $XDG_RUNTIME_DIR/abey",
    "ABEY_AGENT": "the agent, where no option names one",
    "ABEY_TRANSPORT": "as --transport",
    "ABEY_LOG": "what a daemon logs that is started: debug, info, warning or error",
    "NO_COLOR": "no colours",
}

FILES = {
    "~/.config/abey/agents/": "agent files",
    "~/.local/state/abey/sessions/": "the journals of the sessions",
    "~/.local/state/abey/logs/daemon.log": "what the daemon wrote; abey daemon logs shows it",
}


def manual(commands: Sequence[Command]) -> str:
    """The whole page."""
    return "\n".join(_lines(commands)) + "\n"


def _lines(commands: Sequence[Command]) -> Iterator[str]:
    yield f'.TH ABEY 1 "" "abey {VERSION}" "User Commands"'
    yield from (".SH NAME", r"abey \- durable sessions of LLM agents, approved from any shell or editor")
    yield from (".SH SYNOPSIS", r".B abey", r"\fICOMMAND\fR [\fIOPTION\fR]...")
    yield from (".SH DESCRIPTION", _plain(DESCRIPTION))
    yield ".SH COMMANDS"
    for command in commands:
        yield from (".SS " + _plain(f"abey {command.words}"), _plain(command.help))
        yield from (line for one in command.arguments for line in _argument(one))
    yield from (".SH COMMON OPTIONS", "Every command takes them.")
    yield from (line for one in GLOBAL for line in _argument(one))
    yield from (".SH EXIT STATUS", *_table({str(code): said for code, said in EXITS.items()}))
    yield from (".SH ENVIRONMENT", *_table(ENVIRONMENT))
    yield from (".SH FILES", *_table(FILES))


def _argument(argument: Argument) -> Iterator[str]:
    names, settings = argument
    value = settings.get("metavar") or "|".join(settings.get("choices", ()))
    yield ".TP"
    if names[0].startswith("-"):
        shown = ", ".join(rf"\fB{_plain(name)}\fR" for name in names)
        yield rf"{shown} \fI{_plain(value)}\fR" if value else shown
    else:
        yield rf"\fI{_plain(value or names[0])}\fR"
    yield _plain(settings.get("help") or "")


def _table(rows: dict[str, str]) -> Iterator[str]:
    for name, said in rows.items():
        yield from (".TP", rf"\fB{_plain(name)}\fR", _plain(said))


def _plain(text: str) -> str:
    """Text that is no roff: on one line, and with nothing at its beginning that would be a request."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("\n", " ")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) or not escaped else escaped
