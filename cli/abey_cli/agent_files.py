"""The one thing that a client reads in an agent file: whether it asks for synchronous runs."""

import json
import re
from typing import Any

_STRING_OR_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


def asks_for_synchronous(path: str) -> bool:
    """True where the file says `executionMode: synchronous`; what cannot be read is the daemon's to report."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            config: Any = json.loads(_plain_json(file.read()))
    except (OSError, ValueError):
        return False
    mode = config.get("executionMode") if isinstance(config, dict) else None
    return isinstance(mode, str) and mode.lower() == "synchronous"


def _plain_json(text: str) -> str:
    """`text` without comments and trailing commas (agent-file.md)."""
    bare = _STRING_OR_COMMENT.sub(lambda match: match[1] or " ", text)
    return _STRING_OR_TRAILING_COMMA.sub(lambda match: match[1] or "", bare)
