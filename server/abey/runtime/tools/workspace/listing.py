"""The files of a folder as a model sees them."""

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from itertools import islice
from typing import Any

from abey.runtime.tools.workspace.globs import glob_of
from abey.runtime.tools.workspace.paths import Own, Refused, Spot, shown
from abey.runtime.tools.workspace.text import harmless
from abey.runtime.tools.workspace.trees import Interrupted, Tree

LISTED = 2000
"""Entries in one answer."""


def listed(spot: Spot, arguments: Mapping[str, Any], own: Own, stopped: Callable[[], bool]) -> str:
    """Raises Refused for what is no folder."""
    if not spot.is_folder:
        fault = "is no folder" if spot.status else "does not exist"
        raise Refused(f"{shown(spot.path)} {fault}")
    glob = glob_of(str(arguments.get("pattern") or "*"))
    tree = Tree(own, hidden=bool(arguments.get("hidden")), stopped=stopped)
    lines, is_over = list[str](), False
    with suppress(Interrupted), closing(tree.below(spot.folder, glob)) as below:
        for found in islice(below, LISTED + 1):
            lines.append(_line(found.shown()))
        is_over = True
    notes = [
        *(["there are more: ask for a narrower pattern"] if len(lines) > LISTED or tree.is_cut else []),
        *([] if is_over else ["the time was over before all was looked at"]),
        *([f"{tree.unread} folders could not be read"] if tree.unread else []),
    ]
    body = lines[:LISTED] or ["nothing there" if "pattern" not in arguments else "nothing fits"]
    return "\n".join([*body, *(f"[{note}]" for note in notes)])


def _line(text: str) -> str:
    """A name can hold a newline."""
    return harmless(text).replace("\n", "\\n")
