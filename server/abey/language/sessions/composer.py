"""The composer: all that stands below one line of a session's document is the user's, and nobody else's."""

from dataclasses import dataclass

COMPOSER = "---- Write below this line, then run the code action Send ----"
"""A line of ours: a foreign one never begins at the margin (harmless.py)."""


@dataclass(frozen=True, slots=True)
class Composer:
    """Where in a document the user's part is, in characters, and what stands there, blank edges and all."""

    start: int
    text: str

    @property
    def message(self) -> str:
        """What is to be sent."""
        return self.text.strip()


def composer_of(document: str) -> Composer | None:
    """The user's part; None where the line is gone. The first such line counts: below it everything is the user's."""
    start = 0
    for line in document.splitlines(keepends=True):
        start += len(line)
        if line.rstrip() == COMPOSER:
            return Composer(start, document[start:])
    return None


def with_composer(shown: str, text: str) -> str:
    """A document whose user's part is `text`."""
    return f"{shown}{COMPOSER}\n{text or _ROOM}"


_ROOM = "\n"
"""An empty line to write on."""
