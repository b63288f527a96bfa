"""A word of a shell command without its quotes, as far as it can be known before a shell has read it."""

import re

from abey.core.shell import Word

_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|([abeEfnrtv\\'\"?]))"
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_EXPANDS = re.compile(r"\$[A-Za-z0-9_{(\[*@#?!$-]")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)")


def unquoted(text: str) -> Word:
    """The word that stands for `text`, which has no blanks outside of quotes."""
    if text in ("[", "[[", "]", "]]"):
        return Word(text)
    reader = _Reader(text)
    literal = reader.all()
    return Word("".join(reader.found), literal)


class _Reader:
    """One pass over one word; each step says whether what it read is literal."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open = 0
        self.found: list[str] = []

    def all(self) -> bool:
        while self.at < len(self.text):
            if not self._step(self.text[self.at]):
                return False
        return True

    def _step(self, char: str) -> bool:
        match char:
            case "'":
                return self._raw()
            case '"':
                return self._quoted()
            case "\\":
                return self._escaped()
            case "$":
                return self._dollar()
            case "{":
                self.open += 1
                return not _BRACES.match(self.text, self.at) and self._take()
            case "}":
                # zsh ends a group with one that closes nothing
                self.open -= 1
                return self.open >= 0 and self._take()
            case "~":
                return self.at > 0 and self.text[self.at - 1].isalnum() and self._take()
            case "=":
                # zsh puts the path of a program in the place of `=name`
                return (self.at > 0 or self.text == "=") and self._take()
            case _:
                return char not in "*?[`()<>|&;\n" and self._take()

    def _take(self, count: int = 1) -> bool:
        self.found.append(self.text[self.at : self.at + count])
        self.at += count
        return True

    def _raw(self) -> bool:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            return False
        self.found.append(self.text[self.at + 1 : end])
        self.at = end + 1
        return True

    def _escaped(self) -> bool:
        if self.at + 1 >= len(self.text):
            return False
        self.at += 1
        return self._take()

    def _dollar(self) -> bool:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "'":
            return self._ansi()
        if following == '"':
            self.at += 1
            return True
        return not _EXPANDS.match(self.text, self.at) and self._take()

    def _quoted(self) -> bool:
        self.at += 1
        while self.at < len(self.text):
            char, following = self.text[self.at], self.text[self.at + 1 : self.at + 2]
            if char == '"':
                self.at += 1
                return True
            if char == "`" or _EXPANDS.match(self.text, self.at):
                return False
            if char == "\\" and following and following in '"\\$`':
                self.at += 1
            self._take()
        return False

    def _ansi(self) -> bool:
        self.at += 2
        while self.at < len(self.text) and self.text[self.at] != "'":
            if self.text[self.at] != "\\":
                self._take()
                continue
            escape = _ANSI.match(self.text, self.at)
            if escape is None:
                return False
            char = _character(escape)
            if char == "\0":
                return False  # bash ends the word there, zsh does not
            self.found.append(char)
            self.at = escape.end()
        self.at += 1
        return self.at <= len(self.text)


def _character(escape: re.Match[str]) -> str:
    hexadecimal = escape[1] or escape[2] or escape[3]
    if hexadecimal:
        return chr(min(int(hexadecimal, 16), 0x10FFFF))
    return chr(int(escape[4], 8)) if escape[4] else _LETTERS.get(escape[5], escape[5])
