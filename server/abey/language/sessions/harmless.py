"""Hostile text in a file that an editor opens (security.md, Prompt text): it can be read, and acts on nothing.

Laws
- Nothing foreign begins a line: what it says of itself, a heading or the composer line cannot be forged.
- No modeline (Vim, Kate, Kakoune), no file-local variable (Emacs), no link to a command, no control or invisible
  character is left as it was.
- A fence is longer than any run of backticks in it.
- In JSON the value stays what it is: only its spelling changes.
- Whatever the text is, it takes time in proportion to its length: while it is looked at, the daemon does nothing else.
"""

import json
import re

from abey.protocol.base import Json
from abey.shared.escaping import SPACES_SHOWN, cut, escape, escape_line

INDENT = "  "
"""Before every foreign line, and before the fence around it, so that a reader of Markdown takes it off again."""

LINE_SHOWN = 200

_MODELINE = r"(?:(?<![^\W_])(?:vi|ex)|vim|vile|elvis|kate|kak)(?:[<=>]*\d+)?:|kate-(?=\w+\()"
_LINK = r"(?:command|vscode(?:-[\w-]{1,60})?):(?=\S)"
_ACTING = re.compile(rf"{_MODELINE}|local\s+variables:|{_LINK}|(?<=-)\*(?=-)", re.IGNORECASE)
"""What would act; to break its last character is to break it."""
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
    return f"{found[0][:-1]}\\{found[0][-1]}"


def _spelled(string: str) -> str:
    """A JSON string with escapes where a character would act or hide."""
    string = _ACTING.sub(_escaped, string)
    string = _BLANKS.sub(lambda found: _units(found[0]), string)
    hidden = {ord(one): _units(one) for one in set(string) if one != escape_line(one)}
    return string.translate(hidden) if hidden else string


def _escaped(found: re.Match[str]) -> str:
    return found[0][:-1] + _units(found[0][-1])


def _units(text: str) -> str:
    """As JSON spells them: UTF-16 code units, each as `\\uXXXX`."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
