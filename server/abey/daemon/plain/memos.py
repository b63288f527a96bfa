"""What a document of a call was written from: kept beside it, so that an answer is bound to what was shown."""

import json
from dataclasses import dataclass

from abey.daemon.plain.folder import Folder
from abey.language.sessions.names import Name, read_name
from abey.protocol.transcript import Pending

_END = ".shown.json"


@dataclass(frozen=True, slots=True)
class Memo:
    """The call, the hash of what was shown of it, and whether that was a question. Clients never compute the hash
    (security.md, Approval)."""

    token: str
    arguments_hash: str
    asks: bool


def memo_of(pending: Pending) -> Memo:
    return Memo(pending.token, pending.arguments_hash, pending.kind == "question")


def read_memo(folder: Folder, name: Name) -> Memo | None:
    """None where there is none, or nobody could have written it."""
    try:
        match json.loads(folder.read(_file(name)) or "null"):
            case {"token": str(token), "argumentsHash": str(arguments_hash), "asks": bool(asks)}:
                return Memo(token, arguments_hash, asks)
    except ValueError:
        pass
    return None


def write_memo(folder: Folder, name: Name, memo: Memo) -> None:
    known = {"token": memo.token, "argumentsHash": memo.arguments_hash, "asks": memo.asks}
    folder.write(_file(name), json.dumps(known) + "\n")


def remove_memo(folder: Folder, name: Name) -> None:
    folder.remove(_file(name))


def read_memo_name(file: str) -> Name | None:
    """The document that a file is kept beside; None for what is no memo."""
    if not (file.startswith(".") and file.endswith(_END)):
        return None
    return read_name(f"{file[1 : -len(_END)]}.args.json")


def _file(name: Name) -> str:
    return f".{name.session_id}.{name.call}{_END}"
