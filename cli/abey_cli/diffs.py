"""Unified diffs for people."""

from abey.shared.escaping import escape


def patch_lines(patch: str) -> list[str]:
    """The lines of a patch, escaped."""
    return escape(patch.removesuffix("\n")).split("\n")
