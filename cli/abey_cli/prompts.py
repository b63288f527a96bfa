"""The prompt options: text, files, commands and media, in the order given (command-line.md)."""

import os
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from abey_cli.context import Context
from abey_cli.failures import refused_input, usage

INPUT_BYTES = 50 * 1000 * 1000
"""A larger file, or more from a command or stdin, is refused."""

Piece = tuple[str, str]


def prompt_params(context: Context, folder: Callable[[], str]) -> dict[str, Any]:
    """`{}`, `{prompt}` or, with media, `{parts}`; `folder` is where --shell runs.

    Raises Failure (exit 1) for what cannot be read or fails; nothing has been started then.
    """
    return _params(context, context.options.pieces or (), folder)


def prompt_or_stdin(context: Context, folder: Callable[[], str]) -> dict[str, Any]:
    """As `prompt_params`; without any option it is stdin, if that is no terminal and not empty."""
    stdin = context.console.stdin
    if context.options.pieces or stdin is None or stdin.isatty():
        return prompt_params(context, folder)
    text = read_stdin(context)
    return {"prompt": text} if text.strip() else {}


def read_stdin(context: Context) -> str:
    """All of stdin, minus one final newline."""
    stdin = context.console.stdin
    if stdin is None:
        raise refused_input("stdin is closed")
    return _text(stdin.buffer.read(INPUT_BYTES + 1), "stdin")


def read_text(context: Context, path: str) -> str:
    """The text of a file, minus one final newline."""
    return _text(_bytes_of(context.absolute(path), path), path)


def _params(context: Context, pieces: Sequence[Piece], folder: Callable[[], str]) -> dict[str, Any]:
    parts: list[dict[str, str]] = []
    for kind, value in pieces:
        part = _part(context, kind, value, folder)
        if part["kind"] == "text" and parts and parts[-1]["kind"] == "text":
            parts[-1] = {"kind": "text", "text": f"{parts[-1]['text']}\n{part['text']}"}
        else:
            parts.append(part)
    if parts and all(part.get("text") == "" for part in parts):
        raise usage("the prompt is empty")
    if [part["kind"] for part in parts] == ["text"]:
        return {"prompt": parts[0]["text"]}
    return {"parts": parts} if parts else {}


def _part(context: Context, kind: str, value: str, folder: Callable[[], str]) -> dict[str, str]:
    match kind:
        case "file":
            return {"kind": "text", "text": read_text(context, value)}
        case "shell":
            return {"kind": "text", "text": _printed(value, folder())}
        case "media":
            return _medium(context, value)
        case _:
            return {"kind": "text", "text": value}


def _printed(command: str, folder: str) -> str:
    """What a shell command prints, minus one final newline."""
    try:
        done = subprocess.run(command, shell=True, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    except OSError as error:
        raise refused_input(f"--shell {command!r} cannot be run: {error}") from error
    if done.returncode != 0:
        raise refused_input(f"--shell {command!r} failed with status {done.returncode}")
    return _text(done.stdout, f"--shell {command!r}")


def _medium(context: Context, value: str) -> dict[str, str]:
    mime, found, path = value.partition(";")
    if not found:
        mime, path = _guessed(value), value
    if not mime or not path:
        raise usage(f"what kind of medium is {value!r}? say -m 'image/png;PATH'")
    absolute = context.absolute(path)
    _bytes_of(absolute, path)
    return {"kind": "media", "mimeType": mime, "path": absolute}


def _guessed(path: str) -> str:
    import mimetypes

    return mimetypes.guess_type(path)[0] or ""


def _bytes_of(path: str, named: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(INPUT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise refused_input(f"{named} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > INPUT_BYTES:
        raise refused_input(f"{named} is larger than {INPUT_BYTES // 1_000_000} MB")
    return data


def _text(data: bytes, named: str) -> str:
    if len(data) > INPUT_BYTES:
        raise refused_input(f"{named} is larger than {INPUT_BYTES // 1_000_000} MB")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise refused_input(f"{named} is no UTF-8 text") from error
    return text[:-1] if text.endswith("\n") else text


def folder_option(context: Context) -> str:
    """The session's folder: --cwd, or where the command runs. Raises Failure `usage` where it is none."""
    folder = context.absolute(context.options.cwd) if context.options.cwd else context.cwd
    if not os.path.isdir(folder):
        raise usage(f"--cwd {context.options.cwd}: no such folder")
    return folder
