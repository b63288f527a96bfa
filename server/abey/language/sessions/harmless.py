"""Hostile text in a file that an editor opens (security.md, Prompt text): it can be read, and acts on nothing.

Laws
- Nothing foreign begins a line: what it says of itself, a heading or the composer line cannot be forged.
- No modeline (Vim, Kate, Kakoune), no file-local variable (Emacs), no link to a command, no control or invisible
  character is left as it was.
- A fence is longer than any run of backticks in it.
- In JSON the value stays what it is: only its spelling changes.
"""

import json
import re

from abey.protocol.base import Json
from abey.shared.escaping import SPACES_SHOWN, cut, escape, escape_line

INDENT = "  "
"""Before every foreign line, and before the fence around it, so that a reader of Markdown takes it off again."""

LINE_SHOWN = 200

_MODELINE = r"(?:(?<![^\W_])(?:vi|ex)|vim|vile|elvis|kate|kak)(?:[<=>]*\d+)?(?:-[\w-]+(?:\([^)\n]*\))?)?"
_LINK = r"(?:command|vscode(?:-[\w-]+)?)(?=:\S)"
_ACTING = re.compile(rf"(?P<before>{_MODELINE}|local\s+variables|{_LINK}):|(?<=-)(?P<star>\*)(?=-)", re.IGNORECASE)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BLANK = r"[ \t\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]"
_BLANKS = re.compile(rf"{_BLANK}{{{SPACES_SHOWN + 1},}}")
_TICKS = re.compile("`+")


def harmless(text: str) -> str:
    """`text`, lines and all, with what would act or hide spelled out."""
    return _ACTING.sub(_broken, escape(text))


def harmless_line(text: str, limit: int = LINE_SHOWN) -> str:
    """The same as one line of at most about `limit` characters."""
    return cut(_ACTING.sub(_broken, escape_line(text)), limit)


def code(text: str, limit: int = LINE_SHOWN) -> str:
    """A line as a code span of Markdown: in it nothing is markup, a link, an image or HTML."""
    line = harmless_line(text, limit)
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if not line or line[0] in "` " or line[-1] in "` " else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def block(text: str, language: str = "text") -> str:
    """Lines in a fence that nothing in them can close."""
    lines = harmless(text).split("\n")
    fence = "`" * max(3, _longest_run(text) + 1)
    return "\n".join(f"{INDENT}{line}".rstrip(" ") for line in (f"{fence}{language}", *lines, fence)) + "\n"


def json_text(value: Json) -> str:
    """`value` as JSON of many lines: read back it is the same value, whatever stands in it."""
    return _STRING.sub(lambda found: _spelled(found[0]), json.dumps(value, indent=2, ensure_ascii=False))


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)


def _broken(found: re.Match[str]) -> str:
    if found["star"]:
        return "\\*"
    return f"{found['before']}\\:"


def _spelled(string: str) -> str:
    """A JSON string with escapes where a character would act or hide."""
    string = _ACTING.sub(_escaped, string)
    string = _BLANKS.sub(lambda found: _units(found[0]), string)
    if string == escape_line(string):
        return string
    return "".join(one if one == escape_line(one) else _units(one) for one in string)


def _escaped(found: re.Match[str]) -> str:
    if found["star"]:
        return _units("*")
    return found["before"] + _units(":")


def _units(text: str) -> str:
    """As JSON spells them: UTF-16 code units, each as `\\uXXXX`."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
