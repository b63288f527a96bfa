"""Every error kind a client may see, its JSON-RPC code, and the exit code of the CLI for it."""

CODES: dict[str, int] = {
    "session/unknown": -31001,
    "session/busy": -31002,
    "revision/conflict": -31003,
    "idempotency/conflict": -31004,
    "token/unknown": -31005,
    "arguments/mismatch": -31006,
    "arguments/invalid": -31007,
    "state/invalid": -31008,
    "agent/unknown": -31009,
    "agent/invalid": -31010,
    "overloaded": -31011,
    "record/failed": -31012,
    "protocol/unsupported": -31013,
    "permission/denied": -31014,
    "too-large": -31015,
    "daemon/draining": -31016,
    "model": -31017,
    "session/stopped": -31018,
    "session/damaged": -31019,
    "session/invalid-seed": -31020,
    "daemon/gone": -31021,
    "budget/exhausted": -31022,
}

MODEL_CODES: tuple[str, ...] = (
    "auth",
    "rate-limited",
    "overloaded",
    "timeout",
    "transient",
    "context-overflow",
    "content-policy",
    "invalid-request",
    "invalid-output",
)

RETRIED_MODEL_CODES = frozenset({"rate-limited", "overloaded", "timeout", "transient"})

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_YIELDED = 3
EXIT_UNKNOWN = 4
EXIT_CONFLICT = 5
EXIT_UNREACHABLE = 6
EXIT_NO_ANSWER = 7
EXIT_TIMEOUT = 8
EXIT_INTERRUPTED = 130

_EXIT_BY_KIND: dict[str, int] = {
    "usage": EXIT_USAGE,
    "session/unknown": EXIT_UNKNOWN,
    "token/unknown": EXIT_UNKNOWN,
    "agent/unknown": EXIT_UNKNOWN,
    "session/busy": EXIT_CONFLICT,
    "revision/conflict": EXIT_CONFLICT,
    "idempotency/conflict": EXIT_CONFLICT,
    "arguments/mismatch": EXIT_CONFLICT,
    "session/stopped": EXIT_CONFLICT,
    "model/content-policy": EXIT_NO_ANSWER,  # the one model failure that ends the turn
    "daemon/unreachable": EXIT_UNREACHABLE,
    "daemon/gone": EXIT_UNREACHABLE,
    "timeout": EXIT_TIMEOUT,
    "interrupted": EXIT_INTERRUPTED,
}


def exit_code(kind: str | None) -> int:
    """The exit code of the CLI for an error of `kind`; a kind not named here is 1 (command-line.md, Exit codes)."""
    return _EXIT_BY_KIND.get(kind or "", EXIT_ERROR)
