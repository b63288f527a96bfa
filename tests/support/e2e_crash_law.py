"""What a session is after a crash, told from its journal by machine.md alone: it shares no code with the daemon."""

from dataclasses import dataclass
from typing import Any

from support.e2e_journal import Line

FINAL = ("completed", "failed", "denied", "cancelled")
PENDING = {"deferred": "approval", "external": "external", "uncertain": "uncertain"}
SHOWN = {"undecided": "ready", "external": "deferred"}


@dataclass(frozen=True, slots=True)
class Expected:
    """The session's state, the state of every call, the kinds of what is pending, how many notes of a cut request."""

    state: str
    calls: tuple[str, ...]
    pending: tuple[str, ...]
    interrupted: int


def after_a_crash(lines: list[Line]) -> Expected:
    """For journals of one turn without cancels, stops and expiries, of tools that are not idempotent."""
    states: dict[str, str] = {}
    for line in lines:
        states |= _calls_of(line, states)
    found = tuple("uncertain" if state == "running" else state for state in states.values())
    types = [line.type for line in lines]
    asked, answered = types.count("model-requested"), types.count("candidate")
    pending = tuple(PENDING[state] for state in found if state in PENDING)
    shown = tuple(SHOWN.get(state, state) for state in found)
    return Expected(_state(types, found), shown, pending, asked - answered)


def _calls_of(line: Line, states: dict[str, str]) -> dict[str, str]:
    """The calls that this record changes, and what to."""
    data: dict[str, Any] = line.data
    match line.type:
        case "candidate":
            return {call["callId"]: "undecided" for call in data.get("calls", ())}
        case "call-decided":
            tag = data["disposition"] if isinstance(data["disposition"], str) else data["disposition"]["tag"]
            waits = ("deferred" if tag == "defer" else "ready") if data.get("runnable", True) else "external"
            return {data["callId"]: waits}
        case "call-resolved":
            kinds = {"approve": "approved", "result": "completed", "error": "failed", "deny": "denied"}
            return {data["callId"]: kinds[data["outcome"]["kind"]]}
        case "call-started":
            return {data["callId"]: "running"}
        case "call-finished":
            return {data["callId"]: data["outcome"]}
        case "repaired":
            return {one: "uncertain" for one, state in states.items() if state not in (*FINAL, "undecided")}
        case _:
            return {}


def _state(types: list[str], calls: tuple[str, ...]) -> str:
    if "input" not in types or (types.count("candidate") and not _last_batch_is_open(types)):
        return "completed"
    if "undecided" in calls:
        return "llmTurn"
    return "partialUserTurn" if any(state not in FINAL for state in calls) else "userTurn"


def _last_batch_is_open(types: list[str]) -> bool:
    """False once the model has answered without asking for anything: in these journals, the second time."""
    return types.count("candidate") < 2
