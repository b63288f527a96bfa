"""Lines that fit a pattern, in the texts of a workspace; in linear time, and within bounds that are told."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from abey.runtime.tools.workspace.files import content_of
from abey.runtime.tools.workspace.globs import glob_of
from abey.runtime.tools.workspace.paths import Own, Refused, Spot, shown
from abey.runtime.tools.workspace.text import harmless, text_of
from abey.runtime.tools.workspace.trees import Found, Interrupted, Tree

MATCHES = 500
LINE_SHOWN = 400
LARGEST = 4 << 20
"""Bytes of a file that is searched."""

LINE_SEARCHED = 10_000
"""Characters at the beginning of a line in which a regular expression is sought."""

_PATTERN_BYTES = 1 << 18
"""Of a compiled pattern: what a line costs is bounded by it."""

Fits = Callable[[str], bool]


@dataclass(slots=True)
class _Tally:
    """What was looked at, and what not."""

    files: int = 0
    lines: list[str] = field(default_factory=list)
    large: int = 0
    unread: int = 0
    long_lines: int = 0
    is_cut: bool = False
    is_over: bool = True


def searched(spot: Spot, arguments: Mapping[str, Any], own: Own, stopped: Callable[[], bool]) -> str:
    """Raises Refused for a pattern that is none."""
    fits, tally = _fits(arguments), _Tally()
    tree = Tree(own, hidden=bool(arguments.get("hidden")), stopped=stopped)
    glob = glob_of(str(arguments.get("files") or "**"))
    if spot.status is None:
        raise Refused(f"{shown(spot.path)} does not exist")
    try:
        if spot.is_folder:
            with closing(tree.below(spot.folder, glob)) as found:
                for one in found:
                    if not one.is_folder and not _search(_below(spot, one), one.status, fits, tally, stopped):
                        break
        else:
            _search(spot, spot.status, fits, tally, stopped)
    except Interrupted:
        tally.is_over = False
    tally.is_cut = tally.is_cut or tree.is_cut
    tally.unread += tree.unread
    return _told(tally)


def _below(spot: Spot, one: Found) -> Spot:
    return Spot(one.folder, one.name, (*spot.parts, *one.path.split("/")), spot.root, one.status)


def _search(spot: Spot, status: os.stat_result, fits: Fits, tally: _Tally, stopped: Callable[[], bool]) -> bool:
    """Whether there is room for more."""
    if status.st_size > LARGEST:
        tally.large += 1
        return True
    try:
        data = content_of(spot)
    except Refused:
        return True  # a link, or what is no file
    except OSError:
        tally.unread += 1
        return True
    text = text_of(data or b"")
    if text is None:
        return True
    tally.files += 1
    for line in _matching(text.plain, fits, tally, stopped):
        if len(tally.lines) >= MATCHES:
            tally.is_cut = True
            return False
        tally.lines.append(f"{shown(spot.path)}:{line}")
    return True


def _matching(text: str, fits: Fits, tally: _Tally, stopped: Callable[[], bool]) -> Iterator[str]:
    lines = text.split("\n")
    for at, line in enumerate(lines, 1):
        if at % 1000 == 0 and stopped():
            raise Interrupted
        tally.long_lines += len(line) > LINE_SEARCHED
        if (line or at < len(lines)) and fits(harmless(line[:LINE_SEARCHED])):
            yield f"{at}: {_short(line)}"


def _short(line: str) -> str:
    cut = f"[… {len(line) - LINE_SHOWN} more characters …]" if len(line) > LINE_SHOWN else ""
    return harmless(line[:LINE_SHOWN]) + cut


def _fits(arguments: Mapping[str, Any]) -> Fits:
    """The engine is that of the schemas of arguments: no pattern and no line keeps it busy for long."""
    from jsonschema_rs import RegexOptions, ValidationError, validator_for

    pattern = str(arguments["pattern"])
    if arguments.get("literal"):
        pattern = re.sub(r"[^\w\s]", lambda found: f"\\x{{{ord(found[0]):x}}}", pattern)
    flags = "(?i)" if arguments.get("ignore_case") else ""
    options = RegexOptions(size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES * 8)
    try:
        validator = validator_for({"type": "string", "pattern": flags + pattern}, pattern_options=options)
    except (ValidationError, ValueError):
        raise Refused(
            "pattern is no regular expression that can be used: it is broken, too large, or has look-around or back "
            "references; literal: true finds a plain text"
        ) from None
    return validator.is_valid


def _told(tally: _Tally) -> str:
    where = f"{tally.files} file{'' if tally.files == 1 else 's'}"
    notes = [
        *(["there are more matches, or files: search more narrowly"] if tally.is_cut else []),
        *([] if tally.is_over else ["the time was over before all was searched"]),
        *([f"{tally.large} files of more than {LARGEST} bytes were not searched"] if tally.large else []),
        *([f"{tally.unread} files or folders could not be read"] if tally.unread else []),
        *([f"{tally.long_lines} long lines: only {LINE_SEARCHED} characters searched"] if tally.long_lines else []),
    ]
    body = tally.lines or [f"no match in {where}"]
    return "\n".join([*body, *(f"[{note}]" for note in notes)])
