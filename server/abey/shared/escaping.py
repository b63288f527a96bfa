"""Makes hostile text harmless on a terminal and in an approval (security.md, Prompt text)."""

import re
from functools import cache

SPACES_SHOWN = 32
"""A longer run of blanks is shown as a count, so that nothing can be pushed out of sight."""

_CONTROLS = r"\x00-\x1f\x7f-\x9f"
_INVISIBLE = (
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_LINE = f"[{_CONTROLS}{_INVISIBLE}]"
_TEXT = f"(?![\t\n]){_LINE}"
_BLANKS = rf"[ \t\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]{{{SPACES_SHOWN + 1},}}"
_TOO_MANY = " " * (SPACES_SHOWN + 1)


def escape(text: str) -> str:
    """`text` with what could act on a terminal, or hide, spelled out: C0/C1 but tab and newline, ESC, CR, bidi,
    zero-width, tags, lone surrogates; a long run of blanks becomes its count."""
    return text if _is_plain(text) else _pattern(_BLANKS).sub(_counted, _pattern(_TEXT).sub(_spelled, text))


def escape_line(text: str) -> str:
    """As `escape`, for a place of one line: tab and newline are spelled out, too."""
    return text if _is_plain(text) else _pattern(_BLANKS).sub(_counted, _pattern(_LINE).sub(_spelled, text))


def whole_characters(text: str) -> str:
    """The text with U+FFFD in the place of every lone surrogate."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def cut(text: str, limit: int) -> str:
    """The first `limit` characters of `text`, saying how many more there are."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def _is_plain(text: str) -> bool:
    """Whether nothing in it is to be looked for, as in most."""
    return text.isascii() and text.isprintable() and _TOO_MANY not in text


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    """Made for the first text that needs it: that takes milliseconds, of which a command line has few."""
    return re.compile(pattern)


def _spelled(match: re.Match[str]) -> str:
    character = match.group()
    short = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}.get(character)
    code = ord(character)
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def _counted(match: re.Match[str]) -> str:
    return f"[{len(match.group())} spaces]"
