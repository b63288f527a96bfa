"""Params and result of `agents/rules` (protocol.md, agents/rules)."""

from typing import Literal, Self

from pydantic import model_validator

from abey.protocol.base import Repeatable
from abey.protocol.params import Name
from abey.protocol.policy import AskedRule, Rule
from abey.protocol.requests import Effect


class RulesParams(Effect):
    """`rule` is what to add, `ruleId` what to remove. With `sessionId` the rules of that session are meant as well: a
    rule of its scope is recorded there, and only such a request can have a key or a revision."""

    action: Literal["list", "add", "remove"]
    rule: AskedRule | None = None
    rule_id: Name | None = None
    session_id: Name | None = None

    @model_validator(mode="after")
    def _names_a_rule(self) -> Self:
        if (self.rule is not None) != (self.action == "add"):
            raise ValueError("rule is required with add, and with nothing else")
        if (self.rule_id is not None) != (self.action == "remove"):
            raise ValueError("ruleId is required with remove, and with nothing else")
        if self.session_id is None and (self.idempotency_key is not None or self.if_revision is not None):
            raise ValueError("idempotencyKey and ifRevision belong to a session: sessionId is missing")
        return self


class RulesResult(Repeatable):
    """`items`, oldest first: of every workspace and of the user, and of the session that was named. `damaged`: why the
    file cannot be read in which they are kept; none of it counts then."""

    items: tuple[Rule, ...]
    damaged: str | None = None
