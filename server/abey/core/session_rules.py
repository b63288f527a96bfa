"""The rules that a session remembers: the fold of what its journal says of them, and how often they decided."""

from collections.abc import Iterator

from abey.core.session import AnswerEntry, Session
from abey.protocol import journal as j
from abey.protocol.policy import Rule
from abey.shared.values import replace


def with_rules(session: Session, data: j.RuleAdded | j.RuleRemoved, _record: j.Record) -> Session:
    """The session after one of these records; a rule that is there already stays the one it is."""
    match data:
        case j.RuleAdded():
            known = any(one.rule_id == data.rule.rule_id for one in session.rules)
            return session if known else replace(session, rules=(*session.rules, data.rule))
        case j.RuleRemoved():
            return replace(session, rules=tuple(one for one in session.rules if one.rule_id != data.rule_id))


def counted(session: Session) -> tuple[Rule, ...]:
    """The session's rules with the number of calls that each of them has decided."""
    used = list(_used(session))
    return tuple(rule.model_copy(update={"uses": used.count(rule.rule_id)}) for rule in session.rules)


def rules_used(records: tuple[j.Record, ...]) -> tuple[str, ...]:
    """The ids of the rules that decided in these records, once for every call."""
    used: list[str] = []
    for record in records:
        data = record.data
        if type(data) is j.CallDecided or type(data) is j.CallResolved:
            rule_id = rule_used(data)
            if rule_id is not None:
                used.append(rule_id)
    return tuple(used)


def rule_used(data: j.CallDecided | j.CallResolved) -> str | None:
    """The rule that has decided here: none where a person answered, and the rule only came with that."""
    if isinstance(data, j.CallResolved):
        return data.rule_id if data.client is None else None
    rule = data.rule if isinstance(data.rule, dict) else {}
    found = rule.get("ruleId")
    return found if isinstance(found, str) else None


def _used(session: Session) -> Iterator[str]:
    if not session.rules:
        return
    for turn in session.turns:
        for entry in turn.entries:
            for call in entry.calls if isinstance(entry, AnswerEntry) else ():
                for data in (call.verdict, call.resolution):
                    if data is not None and (found := rule_used(data)) is not None:
                        yield found
