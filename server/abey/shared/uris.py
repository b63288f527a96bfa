"""`file:` URIs and the paths that they mean."""

import os
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

_HERE = ("", "localhost")


def path_of(uri: str) -> Path | None:
    """The absolute path of a `file:` URI, as it is spelled; None for every other URI, and for what is none."""
    try:
        parts = urlsplit(uri)
        path = Path(os.fsdecode(unquote_to_bytes(parts.path)))
    except ValueError:
        return None
    ours = parts.scheme == "file" and parts.netloc.lower() in _HERE and path.is_absolute()
    return path if ours and "\0" not in str(path) else None


def uri_of(path: Path) -> str:
    """The `file:` URI of an absolute path."""
    return path.as_uri()
