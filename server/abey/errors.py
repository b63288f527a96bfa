"""Every error a client may see.

AbeyError
 ├─ Unknown             UnknownSession · UnknownToken · UnknownAgent
 ├─ Conflict            SessionBusy · SessionStopped · RevisionConflict · IdempotencyConflict · ArgumentsMismatch
 ├─ Refused             InvalidState · InvalidArguments · InvalidAgent · InvalidSeed · PermissionDenied · TooLarge
 │                      · BudgetExhausted · UnsupportedProtocol
 ├─ Unavailable         Overloaded · DaemonDraining · DaemonGone
 ├─ RecordFailed        the journal could not be written
 ├─ SessionDamaged      the journal cannot be read past a byte
 ├─ ModelFailed         model/<code>
 └─ Replayed            the recorded failure of a request, told to a repeat of it
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from abey.shared.kinds import CODES, RETRIED_MODEL_CODES


class AbeyError(Exception):
    """An expected failure: `message` is for people, `data` (JSON values) goes to the client with `kind`."""

    kind: str = ""
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = data

    @property
    def code(self) -> int:
        return CODES[self.kind]

    @property
    def data(self) -> dict[str, Any]:
        return {"kind": self.kind, "retryable": self.retryable, **self.details}


class Unknown(AbeyError):
    """Nothing has this name."""


class UnknownSession(Unknown):
    kind = "session/unknown"


class UnknownToken(Unknown):
    kind = "token/unknown"


class UnknownAgent(Unknown):
    kind = "agent/unknown"


class Conflict(AbeyError):
    """Somebody else, or an earlier request, was first."""


class SessionBusy(Conflict):
    kind = "session/busy"
    retryable = True


class SessionStopped(Conflict):
    kind = "session/stopped"


class RevisionConflict(Conflict):
    kind = "revision/conflict"


class IdempotencyConflict(Conflict):
    kind = "idempotency/conflict"


class ArgumentsMismatch(Conflict):
    kind = "arguments/mismatch"


class Refused(AbeyError):
    """The request itself cannot be carried out."""


class InvalidState(Refused):
    kind = "state/invalid"


class InvalidArguments(Refused):
    kind = "arguments/invalid"


class InvalidAgent(Refused):
    kind = "agent/invalid"


class InvalidSeed(Refused):
    kind = "session/invalid-seed"


class PermissionDenied(Refused):
    kind = "permission/denied"


class TooLarge(Refused):
    kind = "too-large"


class BudgetExhausted(Refused):
    kind = "budget/exhausted"


class UnsupportedProtocol(Refused):
    kind = "protocol/unsupported"


class Unavailable(AbeyError):
    """Nothing is wrong with the request; it may succeed later."""

    retryable = True


class Overloaded(Unavailable):
    kind = "overloaded"


class DaemonDraining(Unavailable):
    kind = "daemon/draining"


class DaemonGone(Unavailable):
    kind = "daemon/gone"


class RecordFailed(AbeyError):
    kind = "record/failed"


class SessionDamaged(AbeyError):
    kind = "session/damaged"


class ModelFailed(AbeyError):
    """A model call that gave no answer; `model_code` is one of MODEL_CODES (protocol.md, Errors)."""

    def __init__(self, model_code: str, message: str, **data: Any) -> None:
        super().__init__(message, **data)
        self.model_code = model_code
        self.kind = f"model/{model_code}"

    @property
    def code(self) -> int:
        return CODES["model"]

    @property
    def data(self) -> dict[str, Any]:
        return {"kind": self.kind, "retryable": self.model_code in RETRIED_MODEL_CODES, **self.details}


class Replayed(AbeyError):
    """How a request with a key failed, as its journal has it; a try of its own needs another key."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any]) -> None:
        super().__init__(message, **data)
        self.kind = str(data.get("kind", ""))
        self._code = code

    @property
    def code(self) -> int:
        return self._code

    @property
    def data(self) -> dict[str, Any]:
        return {**self.details, "replayed": True}
