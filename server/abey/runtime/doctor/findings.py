"""What a check has to say; stdlib only, so that it can be said where nothing else can be imported."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["ok", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is so and, unless that is ok, what to do about it."""

    check: str
    severity: Severity
    message: str
    advice: str | None = None
    session_id: str | None = None


def counted(number: int, noun: str) -> str:
    """So many of them, in words."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ok(check: str, message: str) -> Finding:
    return Finding(check, "ok", message)


def info(check: str, message: str, advice: str, session_id: str | None = None) -> Finding:
    return Finding(check, "info", message, advice, session_id)


def warning(check: str, message: str, advice: str, session_id: str | None = None) -> Finding:
    return Finding(check, "warning", message, advice, session_id)


def error(check: str, message: str, advice: str, session_id: str | None = None) -> Finding:
    return Finding(check, "error", message, advice, session_id)
