"""Temporary files: how they are called, so that what a crash left behind can be told from what is meant to stay."""

from pathlib import PurePath

TEMPORARY_SECONDS = 3600
"""What has not changed for so long is nobody's work in progress."""


def is_temporary(path: PurePath) -> bool:
    """Whether a file of this name holds only what was on its way into another one. Among the documents, where users
    have files, too, ours are hidden."""
    return path.name.endswith((".new", ".part")) and (path.parent.name != "documents" or path.name.startswith("."))
