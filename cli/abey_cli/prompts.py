"""The prompt options: texts, files, commands, sessions and media, in the order given (command-line.md)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from abey_cli.context import Context
from abey_cli.failures import refused_input, usage
from abey_cli.reading import INPUT_BYTES, read_bytes, read_stdin, read_text, text_of

Piece = tuple[str, str]
"""What kind of option it is, and its value."""
ALIAS = "alias"
TYPED_IN = "stdin"


class _Said(NamedTuple):
    """Some of the prompt, and the files that its text came from."""

    parts: tuple[dict[str, str], ...] = ()
    files: tuple[str, ...] = ()

    def and_(self, other: _Said) -> _Said:
        return _Said((*self.parts, *other.parts), (*self.files, *other.files))


def prompt_params(context: Context, folder: Callable[[], str]) -> dict[str, Any]:
    """`{}`, `{prompt}` or, with media, `{parts}`; `folder` is where --shell runs.

    Raises Failure: exit 1 for what cannot be read or fails; nothing has been started then.
    """
    return _params(context, context.options.pieces or (), folder)


def prompt_or_stdin(context: Context, folder: Callable[[], str]) -> dict[str, Any]:
    """As `prompt_params`; where no option says a text, it is stdin, if that is no terminal and not empty."""
    pieces, stdin = tuple(context.options.pieces or ()), context.console.stdin
    if any(kind != ALIAS for kind, _ in pieces) or stdin is None or stdin.isatty():
        return prompt_params(context, folder)
    text = read_stdin(context)
    return _params(context, (*pieces, (TYPED_IN, text)) if text.strip() else pieces, folder)


def folder_option(context: Context) -> str:
    """The session's folder: --cwd, or where the command runs. Raises Failure `usage` where it is none."""
    folder = context.absolute(context.options.cwd) if context.options.cwd else context.cwd
    if not os.path.isdir(folder):
        raise usage(f"--cwd {context.options.cwd}: no such folder")
    return folder


def _params(context: Context, pieces: Sequence[Piece], folder: Callable[[], str]) -> dict[str, Any]:
    said = _Said()
    for alias, group in _groups(pieces):
        own = _Said()
        for kind, value in group:
            own = own.and_(_piece_said(context, kind, value, folder))
        if alias is None:
            said = own
        elif own.parts:
            said = said.and_(_through(context, alias, own))
        else:
            said = _through(context, alias, said)
    return _as_params(_joined(said.parts))


def _groups(pieces: Sequence[Piece]) -> list[tuple[str | None, list[Piece]]]:
    """The pieces before the first alias, and then each alias with those that come after it."""
    groups: list[tuple[str | None, list[Piece]]] = [(None, [])]
    for kind, value in pieces:
        if kind == ALIAS:
            groups.append((value, []))
        else:
            groups[-1][1].append((kind, value))
    return groups


def _through(context: Context, alias: str, said: _Said) -> _Said:
    """What an alias makes of it: its template with all texts in place, and then the media."""
    from abey_cli.aliases import filled, needs_content, template_of  # not on the way of who uses none

    template = template_of(context, alias)
    texts = [part["text"] for part in said.parts if part["kind"] == "text"]
    if not said.parts and needs_content(template):
        raise usage(f"--alias {alias} has nothing to work on; say -p TEXT, -f FILE, or another prompt option")
    text = filled(template, "\n".join(texts), said.files)
    return _Said((_text(text), *(part for part in said.parts if part["kind"] != "text")), said.files)


def _joined(parts: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Texts that follow one another are one."""
    joined: list[dict[str, str]] = []
    for part in parts:
        if part["kind"] == "text" and joined and joined[-1]["kind"] == "text":
            joined[-1] = _text(f"{joined[-1]['text']}\n{part['text']}")
        else:
            joined.append(part)
    return joined


def _as_params(parts: list[dict[str, str]]) -> dict[str, Any]:
    if parts and all(part.get("text") == "" for part in parts):
        raise usage("the prompt is empty")
    if [part["kind"] for part in parts] == ["text"]:
        return {"prompt": parts[0]["text"]}
    return {"parts": parts} if parts else {}


def _piece_said(context: Context, kind: str, value: str, folder: Callable[[], str]) -> _Said:
    match kind:
        case "file":
            return _Said((_text(read_text(context, value)),), (value,))
        case "shell":
            return _Said((_text(_printed(value, folder())),))
        case "session":
            from abey_cli.other_sessions import session_text  # not on the way of who names none

            return _Said((_text(session_text(context, value)),))
        case "media":
            return _Said((_medium(context, value),))
        case _:
            return _Said((_text(value),))


def _text(text: str) -> dict[str, str]:
    return {"kind": "text", "text": text}


def _printed(command: str, folder: str) -> str:
    """What a shell command prints, minus one final newline; one that prints more than 50 MB is ended."""
    named = f"--shell {command!r}"
    try:
        process = subprocess.Popen(command, shell=True, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    except OSError as error:
        raise refused_input(f"{named} cannot be run: {error}") from error
    assert process.stdout is not None
    with process:
        printed = process.stdout.read(INPUT_BYTES + 1)
        if endless := len(printed) > INPUT_BYTES:
            process.kill()
    if process.returncode != 0 and not endless:
        raise refused_input(f"{named} failed with status {process.returncode}")
    return text_of(printed, named)


def _medium(context: Context, value: str) -> dict[str, str]:
    mime, found, path = value.partition(";")
    if not found:
        mime, path = _guessed(value), value
    if not mime or not path:
        raise usage(f"what kind of medium is {value!r}? say -m 'image/png;PATH'")
    read_bytes(context, path)
    return {"kind": "media", "mimeType": mime, "path": context.absolute(path)}


def _guessed(path: str) -> str:
    import mimetypes

    return mimetypes.guess_type(path)[0] or ""
