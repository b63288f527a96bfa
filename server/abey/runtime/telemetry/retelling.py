"""What libraries of OpenTelemetry log, told again without the values: URLs, headers and answers hold keys."""

import logging
from collections.abc import Mapping

log = logging.getLogger(__name__)

LIBRARIES = ("opentelemetry", "requests", "urllib3")

ELIDED = "..."


class Retelling(logging.Handler):
    """Of a record the words that are the library's own, the numbers, and the kinds of errors."""

    def emit(self, record: logging.LogRecord) -> None:
        kind = f" ({record.exc_info[0].__name__})" if record.exc_info and record.exc_info[0] else ""
        log.log(record.levelno, "%s: %s%s", record.name, _without_values(record), kind)


def retell() -> None:
    """From now on nothing that they log goes any other way."""
    for name in LIBRARIES:
        library = logging.getLogger(name)
        library.handlers[:] = [Retelling()]
        library.propagate = False
    logging.getLogger("urllib3").setLevel(logging.WARNING)  # it has a line for every request


def _without_values(record: logging.LogRecord) -> str:
    words, args = str(record.msg), record.args
    try:
        if isinstance(args, Mapping):
            return words % {name: _harmless(value) for name, value in args.items()}
        return words % tuple(map(_harmless, args or ()))
    except (TypeError, ValueError):  # the words do not fit their values
        return words


def _harmless(value: object) -> object:
    match value:
        case int() | float():
            return value
        case BaseException():
            return type(value).__name__
        case _:
            return ELIDED
