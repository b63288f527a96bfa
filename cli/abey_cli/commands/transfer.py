"""`abey session export`, `abey session import`: a session to a file and back."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.commands.session import show_started
from abey_cli.context import Context
from abey_cli.failures import refused_input, usage

PIECE = 1 << 16


def export(context: Context) -> int:
    target = context.options.output
    session_id = lookup.session_id(context, context.options.session)
    if target is not None and target != "-":
        result = _export(context, session_id, context.absolute(target))
        context.answer(result, lambda: context.console.note(f"{result['bytes']} bytes in {result['path']}"))
        return EXIT_OK
    with _private_folder() as folder:
        path = os.path.join(folder, "export")
        _export(context, session_id, path)
        with open(path, encoding="utf-8", newline="") as file:
            if context.console.json:
                context.console.value({"bytes": os.path.getsize(path), "text": file.read()})
            else:
                context.console.document(iter(lambda: file.read(PIECE), ""))
    return EXIT_OK


def import_(context: Context) -> int:
    options = context.options
    if options.agent is not None and options.agent_file is not None:
        raise usage("say --agent or --agent-file, not both")
    if options.file == "-" and options.idempotency_key is not None:
        raise usage("with --idempotency-key name a FILE: a repeat reads the same one")
    with _source(context) as path:
        session = context.request(
            "agents/import",
            path=path,
            format=options.format,
            sessionId=options.id,
            cwd=context.absolute(options.cwd) if options.cwd else None,
            agent=options.agent,
            agentFile=context.absolute(options.agent_file) if options.agent_file else None,
            **context.effect,
        )
    context.answer(session, lambda: show_started(context, session))
    return EXIT_OK


def _export(context: Context, session_id: str, path: str) -> Any:
    result = context.request("agents/export", sessionId=session_id, format=context.options.format, path=path)
    if "note" in result:
        context.console.err(f"abey: the export is not whole: {result['note']}")
    return result


@contextmanager
def _source(context: Context) -> Iterator[str]:
    """The file to import; for `-` one of our own that holds stdin."""
    if context.options.file != "-":
        yield context.absolute(context.options.file)
        return
    stdin = context.console.stdin
    if stdin is None:
        raise refused_input("stdin is closed")
    with _private_folder() as folder:
        path = os.path.join(folder, "stdin")
        with open(path, "wb") as file:
            shutil.copyfileobj(stdin.buffer, file)
        yield path


@contextmanager
def _private_folder() -> Iterator[str]:
    """A folder that only this user can look into, gone afterwards."""
    try:
        folder = tempfile.mkdtemp(prefix="abey-")
    except OSError as error:
        raise refused_input(f"no temporary folder can be made: {error.strerror}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
