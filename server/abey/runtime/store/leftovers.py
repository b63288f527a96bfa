"""Temporary files: how they are called, so that what a crash left behind can be told from what is meant to stay."""

TEMPORARY_SECONDS = 3600
"""What has not changed for so long is nobody's work in progress."""


def is_temporary(name: str) -> bool:
    """Whether a file of this name holds only what was on its way into another one."""
    return name.endswith((".new", ".part"))
