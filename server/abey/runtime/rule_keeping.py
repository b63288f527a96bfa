"""The port of who keeps the rules that are not of one session alone."""

from collections.abc import Iterable
from typing import Protocol

from abey.errors import RecordFailed
from abey.protocol.policy import Rule


class RuleKeeper(Protocol):
    def remember(self, rule: Rule) -> None:
        """Durable when it returns; in any thread. Raises RecordFailed."""
        ...

    def used(self, rule_ids: Iterable[str]) -> None:
        """They have decided a call each."""
        ...


class NoRules:
    """A RuleKeeper where nothing is remembered beyond a session."""

    def remember(self, rule: Rule) -> None:
        raise RecordFailed(f"nothing keeps rules of scope {rule.scope} here")

    def used(self, rule_ids: Iterable[str]) -> None:
        pass
