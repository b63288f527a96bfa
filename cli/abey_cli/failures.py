"""What a command fails with: an error of the daemon, or one of the command line's own."""

from typing import Any

from abey.shared.escaping import escape_line
from abey.shared.kinds import CODES, exit_code


class Failure(Exception):
    """An error for people (`message`) and programs (`wire`); `code` 0 is the command line's own (command-line.md).
    `asked` is the session that the request named, if it named one."""

    def __init__(self, message: str, code: int = 0, data: Any = None, asked: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
        self.asked = asked

    @property
    def kind(self) -> str | None:
        kind = self.data.get("kind")
        return kind if isinstance(kind, str) else None

    @property
    def session_id(self) -> str | None:
        """The session that it is about, where that is known."""
        named = self.data.get("sessionId", self.asked)
        return escape_line(named) if isinstance(named, str) else None

    @property
    def exit_code(self) -> int:
        return exit_code(self.kind)

    @property
    def wire(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "data": self.data}


def answered(error: Any) -> Failure:
    """The failure that an `error` member of a response stands for."""
    if not isinstance(error, dict):
        return Failure(f"the daemon answered an error that is none: {error!r}")
    return Failure(str(error.get("message", "")), int(error.get("code", 0)), error.get("data"))


def usage(message: str) -> Failure:
    return Failure(message, data={"kind": "usage"})


def unreachable(message: str) -> Failure:
    return Failure(message, data={"kind": "daemon/unreachable"})


def timed_out(message: str) -> Failure:
    return Failure(message, data={"kind": "timeout"})


def interrupted() -> Failure:
    """A Ctrl-C, for programs: a person knows."""
    return Failure("interrupted", data={"kind": "interrupted"})


def refused_input(message: str) -> Failure:
    """A file, a command or an editor that was to give us something did not: exit 1, nothing was sent."""
    return Failure(message, data={"kind": "input"})


def too_large(size: int, limit: int) -> Failure:
    """A message that was not sent."""
    data = {"kind": "too-large", "retryable": False, "bytes": size, "limit": limit}
    return Failure(f"this is a message of {size} bytes, and the daemon takes at most {limit}", CODES["too-large"], data)


def unknown_token(message: str) -> Failure:
    return Failure(message, CODES["token/unknown"], {"kind": "token/unknown", "retryable": False})


def unknown_session(message: str) -> Failure:
    return Failure(message, CODES["session/unknown"], {"kind": "session/unknown", "retryable": False})
