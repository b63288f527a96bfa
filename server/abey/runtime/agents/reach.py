"""Which calls a rule can still decide: those that no rule before it takes, and that the schemas let there be."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from abey.core.calls import base_disposition
from abey.core.globs import fits
from abey.protocol.base import Json, canonical_json
from abey.protocol.policy import Defer, Deny, PolicyRule
from abey.runtime.tools.arguments import broken_schema, check_arguments

_OPEN = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "not", "patternProperties")
"""Keywords whose meaning is not looked into: with them, everything may be."""

MOST_RULES = 500
"""Of more, nobody compares each with each."""


def shadow(
    rules: Sequence[PolicyRule], at: int, names: Sequence[str], *, all_known: bool, commands: frozenset[str]
) -> tuple[int, ...]:
    """The rule that takes every call which rule `at` would decide, or several that do so together; none, if it can.

    `names` are those of the known tools that it fits; `all_known` says that there can be no others. `commands` are the
    pointers at which a shell command may stand.
    """
    rule = rules[at]
    if len(rules) > MOST_RULES:
        return ()
    before = [
        n
        for n, other in enumerate(rules)
        if _may_share(other.tool, rule.tool) and _goes_before(rules, n, at) and _covers(other, rule, commands)
    ]
    whole = next((n for n in before if fits(rules[n].tool, rule.tool)), None)
    if whole is not None:
        return (whole,)
    takers = [next((n for n in before if fits(rules[n].tool, name)), None) for name in names if all_known]
    return () if None in takers else tuple(sorted({n for n in takers if n is not None}))


def may_hold(schema: Any, steps: Sequence[str], wanted: Json, *, unnamed: bool = True) -> bool:
    """Whether arguments of this schema can have at the pointer of `steps` what a match wants; in doubt, they can.

    Without `unnamed` what a schema neither names nor forbids counts as absent: the model knows only what is named.
    """
    if not isinstance(schema, Mapping) or any(word in schema for word in _OPEN):
        return schema is not False
    if not steps:
        return _may_be(schema, wanted)
    kinds = _kinds(schema)
    return ("object" in kinds and _member_may(schema, steps, wanted, unnamed)) or (
        "array" in kinds and _element_may(schema, steps, wanted, unnamed)
    )


def denies(rule: PolicyRule) -> bool:
    return isinstance(base_disposition(rule.disposition), Deny)


def _may_share(one: str, other: str) -> bool:
    """Whether two patterns may fit the same name; a quick look."""
    return one == other or "*" in one or "*" in other


def _goes_before(rules: Sequence[PolicyRule], one: int, other: int) -> bool:
    """Whether of two rules that both match the first decides: any deny, else the earlier one."""
    if one == other or (denies(rules[other]) and not denies(rules[one])):
        return False
    return one < other or (denies(rules[one]) and not denies(rules[other]))


def _covers(wide: PolicyRule, narrow: PolicyRule, commands: frozenset[str]) -> bool:
    """Whether every call that `narrow` matches is one that `wide` matches, too. Of commands a rule that lets them run
    matches plain ones only, and any other one all that have such a part."""
    wanted = narrow.match or {}
    if _is_lax(wide) and not _is_lax(narrow) and any(pointer in commands for pointer in wide.match or {}):
        return False
    return all(
        pointer in wanted and _covers_value(value, wanted[pointer], globs=pointer not in commands)
        for pointer, value in (wide.match or {}).items()
    )


def _is_lax(rule: PolicyRule) -> bool:
    return not isinstance(base_disposition(rule.disposition), Deny | Defer)


def _covers_value(wide: Json, narrow: Json, *, globs: bool) -> bool:
    """Whether every value that `narrow` wants is one that `wide` wants, too; in doubt, not."""
    if isinstance(narrow, list):
        return all(_covers_value(wide, one, globs=globs) for one in narrow)
    if isinstance(wide, list):
        return any(_covers_value(one, narrow, globs=globs) for one in wide)
    pattern, text = _glob(wide), _glob(narrow) or narrow
    if globs and pattern is not None and isinstance(text, str):
        return fits(pattern, text)
    return canonical_json(wide) == canonical_json(narrow)


def _member_may(schema: Mapping[str, Any], steps: Sequence[str], wanted: Json, unnamed: bool) -> bool:
    named = schema.get("properties", {})
    if not isinstance(named, Mapping):
        return True
    if steps[0] in named:
        return may_hold(named[steps[0]], steps[1:], wanted, unnamed=unnamed)
    others = schema.get("additionalProperties", unnamed or not named)
    return may_hold(others, steps[1:], wanted, unnamed=unnamed)


def _element_may(schema: Mapping[str, Any], steps: Sequence[str], wanted: Json, unnamed: bool) -> bool:
    if not (steps[0].isascii() and steps[0].isdigit()):
        return False
    first, items = schema.get("prefixItems", ()), schema.get("items", True)
    if isinstance(first, list) and int(steps[0][:9]) < len(first):
        return may_hold(first[int(steps[0][:9])], steps[1:], wanted, unnamed=unnamed)
    return isinstance(items, list) or may_hold(items, steps[1:], wanted, unnamed=unnamed)


def _may_be(schema: Mapping[str, Any], wanted: Json) -> bool:
    if isinstance(wanted, list):
        return any(_may_be(schema, one) for one in wanted)
    pattern = _glob(wanted)
    if pattern is None:
        return broken_schema(schema) is not None or check_arguments(schema, wanted) is None
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    fitting = not isinstance(values, list) or any(isinstance(one, str) and fits(pattern, one) for one in values)
    return fitting and "string" in _kinds(schema)


def _kinds(schema: Mapping[str, Any]) -> Iterable[Any]:
    kinds = schema.get("type", ("object", "array", "string"))
    return [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list | tuple) else ()


def _glob(wanted: Json) -> str | None:
    found = wanted.get("glob") if isinstance(wanted, dict) and len(wanted) == 1 else None
    return found if isinstance(found, str) else None
