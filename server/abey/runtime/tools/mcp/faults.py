"""How a server fails, in lines for people and models."""

from abey.shared.escaping import cut, escape_line

_SHOWN = 500


class Gone(Exception):
    """The connection could not be made, or has ended; the message says why."""


class Refused(Exception):
    """The server answers with an error, or with what makes no sense; the message is a line of it."""


def harmless(text: str) -> str:
    """What a server says, as a line that nothing in it can hide from or break out of."""
    return cut(escape_line(text.strip()), _SHOWN)
