"""`abey`: parse, dispatch, and turn every end into an exit code."""

import gc
import importlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TextIO

from abey.shared.kinds import EXIT_INTERRUPTED, EXIT_OK
from abey.shared.version import VERSION
from abey_cli.channels import Channel, open_socket, with_folders
from abey_cli.connection import Connection
from abey_cli.console import Console
from abey_cli.context import Context, Which
from abey_cli.failures import Failure, interrupted, unreachable, usage
from abey_cli.parsing import (
    Line,
    command_words,
    overview,
    parse,
    wants_json,
    wants_version,
    without_help_word,
)
from abey_cli.table import COMMANDS
from abey_cli.wording import in_words

COMPLETING = "_ARGCOMPLETE"
"""The variable by which a shell asks for words, and runs nothing (`abey completion`)."""
HANDSHAKE_SECONDS = 30
TRIES = 3
"""A daemon that ends just as we connect closes before the handshake; the next try finds or starts another."""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code (command-line.md, Exit codes) of one command line."""
    if COMPLETING in os.environ:
        from abey_cli.shells import complete_word  # nobody else needs it

        complete_word(COMMANDS)
    if argv is None:
        gc.freeze()  # a program: what it has imported stays to the end, and need not be looked at even then
    arguments = without_help_word(sys.argv[1:] if argv is None else argv)
    console = Console(sys.stdin, sys.stdout or _nowhere(), sys.stderr or _nowhere(), os.environ)
    console.json = wants_json(arguments)
    try:
        return _run(arguments, console)
    except Failure as failure:
        return _report(failure, console, command_words(arguments))
    except KeyboardInterrupt:
        return _report(interrupted(), console, "") if console.json else EXIT_INTERRUPTED


def _nowhere() -> TextIO:
    """In place of a stream that was closed before we began."""
    return open(os.devnull, "w", encoding="utf-8")


def _run(argv: list[str], console: Console) -> int:
    if wants_version(argv):
        console.out(f"abey {VERSION}")
        return EXIT_OK
    if text := overview(argv, COMMANDS):
        console.out(text)
        return EXIT_OK
    line = parse(argv, COMMANDS)
    console.quiet = line.options.quiet
    console.interactive = console.interactive and not line.options.no_input
    env = with_folders(os.environ, line.options.state_dir)
    context = Context(line.options, console, env, _folder(), _connect)
    try:
        return function_of(line)(context)
    finally:
        context.close()


def function_of(line: Line) -> Callable[[Context], int]:
    """What a command does; loads its module and no other command's."""
    module, _, name = line.command.function.partition(":")
    function: Callable[[Context], int] = getattr(importlib.import_module(f"abey_cli.commands.{module}"), name)
    return function


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise usage(f"the current folder is gone: {error.strerror}") from error


def _connect(context: Context, which: Which) -> Connection:
    for tries in range(1, TRIES + 1):
        client = Connection(_open(context, which), _progress(context.console))
        client.deadline = context.deadline or time.monotonic() + HANDSHAKE_SECONDS
        try:
            client.initialize(context.env)
            client.deadline = context.deadline
            _compare_builds(context, client)
            return client
        except KeyboardInterrupt:
            client.close()  # a daemon of our own ends with us
            raise
        except Failure as failure:
            client.close()
            if failure.kind == "timeout" and context.deadline is None:
                raise unreachable(f"the daemon has not answered for {HANDSHAKE_SECONDS} seconds") from failure
            if failure.kind != "daemon/unreachable" or _is_private(context, which) or tries == TRIES:
                raise
    raise unreachable("the daemon closed the connection")


def _compare_builds(context: Context, client: Connection) -> None:
    """Says once a command that the daemon is of another build."""
    build = client.daemon.get("daemon", {}).get("buildId", VERSION)
    if build != VERSION and not context.builds_told and not context.console.json:
        context.builds_told = True
        way_out = "`abey daemon restart` makes them one, and sessions stay"
        context.console.note(f"abey: the daemon is of build {build}, this is {VERSION}; {way_out}")


def _open(context: Context, which: Which) -> Channel:
    if _is_private(context, which):
        from abey_cli.private import open_private  # not on the way to the shared daemon

        return open_private(context.env)
    start = which == "shared" or (which == "any" and context.transport == "auto")
    return open_socket(context.env, start, context.turn)


def _is_private(context: Context, which: Which) -> bool:
    return which == "any" and context.transport == "stdio"


def _progress(console: Console) -> Callable[[bool], None]:
    return lambda slow: console.progress("waiting for the daemon …" if slow else "")


def _report(failure: Failure, console: Console, words: str) -> int:
    if console.json:
        console.value({"error": failure.wire})
    else:
        console.err(f"abey: {in_words(failure, words)}")
    return failure.exit_code
