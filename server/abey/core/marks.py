"""What a session has counted, at the revisions where it changed: so that it can go back to them."""

from abey.shared.values import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """The counts after the record `rev`; `steps` are those of its turn."""

    rev: int
    tries: int = 0
    steps: int = 0
    context_tokens: int | None = None
