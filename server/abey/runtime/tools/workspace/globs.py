"""Globs for paths: a part of the glob is for a name, and `**` for any number of folders."""

import fnmatch
import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Glob:
    """What of a glob may still come, after the names of a path so far: so that no folder is entered in vain."""

    parts: tuple[str, ...]
    at: frozenset[int]

    @property
    def fits(self) -> bool:
        """Whether the path so far is one."""
        return len(self.parts) in self.at

    @property
    def goes_on(self) -> bool:
        """Whether something below it could be one."""
        return any(at < len(self.parts) for at in self.at)

    def after(self, name: str) -> "Glob":
        """Once this name is added to the path."""
        reached = set[int]()
        for at in self.at:
            if at < len(self.parts) and self.parts[at] == "**":
                reached.add(at)
            elif at < len(self.parts) and _pattern(self.parts[at]).match(name):
                reached.add(at + 1)
        return Glob(self.parts, _opened(self.parts, reached))


def glob_of(pattern: str) -> Glob:
    """Of a glob as a model writes it. One that ends with `**` is for all that is below."""
    parts = tuple(part for part in pattern.split("/") if part not in ("", "."))
    if parts and parts[-1] == "**":
        parts = (*parts, "*")
    return Glob(parts, _opened(parts, {0}))


def _opened(parts: tuple[str, ...], reached: set[int]) -> frozenset[int]:
    """`**` may stand for no folder at all."""
    found = set(reached)
    for at in range(len(parts)):
        if at in found and parts[at] == "**":
            found.add(at + 1)
    return frozenset(found)


@lru_cache(maxsize=256)
def _pattern(part: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(part))
