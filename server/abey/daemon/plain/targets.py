"""What the argument of a command names: a session by its id or its document, or params as an object."""

import os
from pathlib import Path
from typing import Any

from abey.language.sessions.names import Name, read_name
from abey.protocol.base import Json
from abey.rpc.faults import InvalidParams
from abey.shared.escaping import cut, escape_line
from abey.shared.uris import path_of

SHOWN = 100


def params_of(command: str, arguments: list[Json], folder: Path) -> dict[str, Json]:
    """The params of a session command, from its one argument. Raises InvalidParams, which says what it can be."""
    match arguments:
        case [dict() as params]:
            return dict(params)
        case [str() as text] if (name := document_name(text, folder)) is not None:
            return {"sessionId": name.session_id}
        case [str() as text] if text and "/" not in text:
            return {"sessionId": text}
    raise refusal(command, arguments, 'a session id, the path or uri of its document, or {"sessionId": "…"}')


def document_name(text: str, folder: Path) -> Name | None:
    """The document that a uri or a path is of, also by way of a link to the folder; None for every other text."""
    path = path_of(text) if text.startswith("file:") else Path(text)
    name = read_name(path.name) if path is not None and path.is_absolute() else None
    return name if path is not None and name is not None and _is_it(path.parent, folder) else None


def _is_it(path: Path, folder: Path) -> bool:
    try:
        return path == folder or os.path.realpath(path) == str(folder)
    except ValueError:  # no path can be spelled so
        return False


def member(command: str, params: dict[str, Json], name: str, kind: type, what: str) -> Any:
    """A member of ours that no method knows, taken out of the params. Raises InvalidParams."""
    value = params.pop(name, None)
    if value is not None and type(value) is not kind:
        raise refusal(command, [value], what)
    return value


def refusal(command: str, arguments: list[Json], wanted: str) -> InvalidParams:
    """Says what the command can be given."""
    given = ", ".join(cut(escape_line(str(one)), SHOWN) for one in arguments[:2]) or "nothing"
    message = f"{command} takes one argument: {wanted}; it was given {given}"
    return InvalidParams(message, errors=[{"loc": ["arguments"], "msg": message, "type": "command_arguments"}])
