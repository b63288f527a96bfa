"""What extensions say of a model's answer (machine.md, Extensions)."""

from typing import Literal

from abey.protocol.base import Wire
from abey.protocol.transcript import Question


class Ruling(Wire):
    """Of one call: it is denied, for this `reason`, or somebody must be asked first. The stricter of it and the policy
    counts."""

    call_id: str
    extension: str
    kind: Literal["deny", "ask"]
    reason: str | None = None
    question: Question | None = None


class Tripwire(Wire):
    """Of the whole: the turn ends (`step`), or the session (`session`)."""

    extension: str
    scope: Literal["step", "session"]
