"""The arguments of a call in the person's own editor, until they will do or the person gives it up."""

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from abey_cli.context import Context
from abey_cli.failures import Failure, refused_input

Taken = TypeVar("Taken")
MENDABLE = ("input", "arguments/invalid")
"""What another edit may put right: no JSON, or not what the tool takes."""


def edit(context: Context, call: Any, take: Callable[[dict[str, Any]], Taken]) -> Taken | None:
    """What `take` makes of the arguments as the editor leaves them, which are shown before. None where the person gives
    it up after an error; what was written is kept until then. Raises Failure, where nobody can be asked the first."""
    text = json.dumps(call.get("arguments"), indent=2, ensure_ascii=False) + "\n"
    while True:
        try:
            text = edited(context.env, text)
            arguments = parse_arguments(text, "what the editor left")
            if arguments == call.get("arguments"):
                raise refused_input("nothing was edited, and nothing approved")
            show_edited(context, arguments)
            return take(arguments)
        except Failure as failure:
            if failure.kind not in MENDABLE or not context.console.interactive:
                raise
            context.console.err(f"abey: {failure.message}")
        if not _again(context):
            return None


def _again(context: Context) -> bool:
    while (said := context.console.ask("[e]dit again, or [b]ack?")) is not None:
        if said.lower() in ("e", "edit", "b", "back"):
            return said.lower() in ("e", "edit")
    return False


def edited(env: Mapping[str, str], text: str) -> str:
    """`text` as the person's editor leaves it. Raises Failure (exit 1) where that cannot be told."""
    editor = _editor(env)
    with tempfile.TemporaryDirectory(prefix="abey-") as folder:
        path = os.path.join(folder, "arguments.json")
        with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)  # half a character is spelled as JSON spells it
        try:
            status = subprocess.run([*editor, path]).returncode
        except OSError as error:
            raise refused_input(f"the editor {editor[0]!r} cannot be started: {error.strerror}") from error
        if status != 0:
            raise refused_input(f"the editor ended with status {status}: nothing was approved")
        return _read(path)


def _editor(env: Mapping[str, str]) -> list[str]:
    """The words of the command. Raises Failure."""
    named = env.get("VISUAL") or env.get("EDITOR") or "vi"
    try:
        words = shlex.split(named)
    except ValueError as error:
        raise refused_input(f"the editor {named!r} is no command: {error}") from error
    if not words:
        raise refused_input(f"the editor {named!r} is no command")
    return words


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise refused_input(f"what the editor left cannot be read: {error}") from error


def parse_arguments(text: bytes | str, named: str) -> dict[str, Any]:
    """The JSON object in `text`. Raises Failure (exit 1) where there is none."""
    try:
        arguments = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise refused_input(f"{named} is no JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise refused_input(f"{named} is no JSON object")
    return arguments


def show_edited(context: Context, arguments: dict[str, Any]) -> None:
    """The arguments that will run instead of those that were shown."""
    context.console.err("with these arguments instead:")
    for line in json.dumps(arguments, indent=2, ensure_ascii=False).splitlines():
        context.console.err(f"  {line}")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")
