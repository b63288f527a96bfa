"""How the documents of sessions are called: `<id>.abey.md`, `<id>.<n>.args.json` (protocol.md, Without a plugin)."""

import re
from dataclasses import dataclass

_NAME = re.compile(r"(?P<id>[0-9a-z][0-9a-z_-]{0,63})(?:\.abey\.md|\.(?P<call>[1-9][0-9]{0,8})\.args\.json)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Name:
    """Of a session's document; with `call`, of the arguments of its n-th call, counted from 1 over all its turns."""

    session_id: str
    call: int | None = None

    def __str__(self) -> str:
        return f"{self.session_id}.abey.md" if self.call is None else f"{self.session_id}.{self.call}.args.json"


def read_name(text: str) -> Name | None:
    """What a file of this name is; None for what is no document of a session."""
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    return Name(found["id"], None if found["call"] is None else int(found["call"]))
