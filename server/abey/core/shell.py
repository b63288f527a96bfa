"""A shell command as the policy sees it: the commands in it, and whether it is one plain one (agent-file.md,
Shell-like tools)."""

from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import takewhile

from abey.core.agent import Tool
from abey.core.globs import fits
from abey.protocol.base import Json
from abey.shared.values import dataclass


class Match(IntEnum):
    """Whether a rule matches a call. `MAYBE`: only what runs the command could tell."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class Word:
    """One word without its quotes. One that is not `literal` begins with `text`, and only a shell knows the rest; it
    may become several words, or none."""

    text: str
    literal: bool = True


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command that runs, or might: then it is not `sure`."""

    words: tuple[Word, ...]
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Script:
    """What a shell is handed, in the parameters `holds`. `commands` are all that are anywhere in it, those that its
    commands start included.

    `plain`: it is the first of them and nothing else. `doubt` says why there may be more than `commands` has.
    """

    text: str
    commands: tuple[Command, ...] = ()
    plain: bool = False
    doubt: str | None = None
    holds: frozenset[str] = frozenset()


ReadCommand = Callable[[Tool, Json], Script]
"""(a shell-like tool, its arguments) -> what the shell would be handed."""


def unread(_tool: Tool, _arguments: Json) -> Script:
    """A ReadCommand that understands nothing."""
    return Script("", doubt="nothing here reads shell commands")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a rule wants of a command: a glob, or this very text.

    Each word of a glob is a glob for one word. A final `*`, alone or glued to the last word, stands for any number of
    further words.
    """

    text: str
    glob: bool

    def is_plainly(self, script: Script) -> bool:
        """Whether the script is one plain command, and what the glob says."""
        return script.plain and self.glob and self._follow([word.text for word in script.commands[0].words])

    def in_part(self, script: Script) -> Match:
        """Whether any part of the script is it, word by word or as a text."""
        if self._text(script.text.strip()):
            return Match.YES
        found = Match.NO if script.doubt is None else Match.MAYBE
        for command in script.commands:
            match = self._is(command.words) if command.words else Match.NO
            if match is Match.YES and command.sure:
                return match
            found = max(found, min(match, Match.MAYBE))
        return found

    def _is(self, words: Sequence[Word]) -> Match:
        known = list(takewhile(lambda word: word.literal, words))
        if len(known) < len(words):
            sure = self.glob and self.text.endswith("*") and any(map(self._follow, _readings(known)))
            return Match.YES if sure else Match.MAYBE if self._may_follow(words) else Match.NO
        readings = _readings(known)
        return Match.YES if any(self._follow(one) or self._text(" ".join(one)) for one in readings) else Match.NO

    def _text(self, text: str) -> bool:
        return fits(self.text, text) if self.glob else self.text == text

    def _follow(self, words: Sequence[str]) -> bool:
        patterns = self.text.split()
        if not patterns or not self.glob:
            return words == patterns
        *fixed, last = patterns
        if not last.endswith("*"):
            return len(words) == len(patterns) and all(map(fits, patterns, words))
        fixed = [*fixed, last[:-1]] if last != "*" else fixed
        return len(words) >= len(fixed) and all(map(fits, fixed, words))

    def _may_follow(self, words: Sequence[Word]) -> bool:
        """Whether the words before the first that nobody knows are right, and that one begins so."""
        patterns = self.text.split()
        if self.glob and self.text.startswith("*"):
            return True
        for at, (word, pattern) in enumerate(zip(words, patterns, strict=False)):
            texts = (word.text, _name(word.text)) if at == 0 else (word.text,)
            head = pattern.partition("*")[0] if self.glob else pattern
            if not word.literal:
                return any(head.startswith(text) or text.startswith(head) for text in texts)
            glued = pattern[:-1] if pattern.endswith("*") and at == len(patterns) - 1 else pattern
            if not any(fits(one, text) for one in (pattern, glued) for text in texts):
                return False
        return len(words) > len(patterns) and self.text.endswith("*")


def _readings(words: Sequence[Word]) -> list[list[str]]:
    """The words, and the same with the name of the program alone."""
    texts = [word.text for word in words]
    return [texts, [_name(texts[0]), *texts[1:]]] if texts else []


def _name(path: str) -> str:
    return path.rpartition("/")[2]
