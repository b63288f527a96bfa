"""What the daemon logs, in lines: one a record for programs, or for people, where what goes on is indented."""

import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import TextIO

from abey.daemon.settings import LogFormat, Settings
from abey.shared.escaping import escape_line
from abey.shared.logs import LOG_BYTES, old_logs, open_log, put_away
from abey.shared.places import log_path

log = logging.getLogger(__name__)

OUTPUTS = (1, 2)
INDENT = "    "


class TextLines(logging.Formatter):
    """`TIME LEVEL LOGGER: MESSAGE`, times as everywhere in the protocol. No line but the first of a record begins with
    anything but an indent: what is logged cannot pass for a record of its own. What could act on a terminal is spelled
    out."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return f"\n{INDENT}".join(map(escape_line, super().format(record).splitlines()))


class JsonLines(TextLines):
    """An object a record: `at`, `level`, `logger`, `message`, and `error` with the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "at": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        error = {"error": self.formatException(record.exc_info)} if record.exc_info else {}
        return json.dumps({**told, **error})


class LogStream(logging.StreamHandler[TextIO]):
    """Writes to stderr. Where that is the file at `path`, it is put away once it is longer than `most` bytes, and what
    else is printed goes to the next one, too. One that was put away since this program was started is left."""

    def __init__(self, path: Path, most: int = LOG_BYTES) -> None:
        super().__init__(sys.stderr)
        self._path = path
        self._most = most
        self._outputs = [number for number in OUTPUTS if any(_is_at(number, at) for at in (path, *old_logs(path)))]
        self._is_old = 2 in self._outputs and not _is_at(2, path)

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        if 2 in self._outputs and (self._is_old or os.fstat(2).st_size > self._most):
            self._begin_anew()

    def _begin_anew(self) -> None:
        """A log that somebody else has moved is only left. Where none can be put away, all goes on as it was."""
        try:
            if _is_at(2, self._path):
                put_away(self._path)
            following = open_log(self._path)
        except OSError as error:
            self._outputs = []
            log.error("the log cannot be put away: %s", error)
            return
        for number in self._outputs:
            os.dup2(following, number)
        os.close(following)
        self._is_old = False


def begin_logging(settings: Settings) -> None:
    """pygls is kept quiet: its info messages hold whole payloads."""
    handler = LogStream(log_path(settings.state_dir))
    handler.setFormatter(_LINES[settings.log_format]())
    logging.basicConfig(handlers=[handler], level=settings.log_level.upper())
    logging.getLogger("pygls").setLevel(logging.WARNING)


_LINES: dict[LogFormat, type[TextLines]] = {"text": TextLines, "json": JsonLines}


def _is_at(number: int, path: Path) -> bool:
    """Whether what has that number is the file there."""
    try:
        return os.path.samestat(os.fstat(number), os.stat(path))
    except OSError:
        return False
