"""Whether a rule is about a call: its tool's name, and what is in its arguments (agent-file.md, Policy)."""

import json
from collections.abc import Iterator
from typing import Any

from abey.core.agent import Tool
from abey.core.calls import base_disposition
from abey.core.globs import fits
from abey.core.once import once
from abey.core.paths import PATH_DOUBT, plain_path
from abey.core.pointers import steps_of
from abey.core.shell import Match, Pattern, ReadCommand, Script
from abey.protocol.base import Json
from abey.protocol.policy import AnyDisposition, Defer, Deny, PolicyRule, Rule
from abey.shared.values import dataclass

_MISSING = object()
_TEXTUAL = ("command", "executables", "http")
"""Kinds of tools whose programs are given every value as a text."""

AnyRule = PolicyRule | Rule


@dataclass(frozen=True, slots=True)
class Link:
    """One rule that was asked: whether it matched, and why in a few words."""

    layer: str
    rule: AnyRule | None
    matched: bool
    why: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A rule's answer. Where it may match, `matched` of the link is false."""

    link: Link
    rule: AnyRule
    match: Match


@dataclass(frozen=True, slots=True)
class Case:
    """A call that a policy is asked about; `script` is what a shell-like tool hands to its shell."""

    tool: Tool
    arguments: Json
    script: Script | None

    @classmethod
    def of(cls, tool: Tool, arguments: Json, read: ReadCommand) -> "Case":
        return cls(tool, arguments, read(tool, arguments) if tool.command is not None else None)

    def says_command(self, rule: AnyRule) -> bool:
        """Whether the rule says which commands it is about, where the tool has a command."""
        script = self.script
        return script is None or any(self._is_command(pointer, script) for pointer in rule.match or {})

    def ask(self, layer: str, rule: AnyRule) -> Asked:
        if not fits(rule.tool, self.tool.name):
            return Asked(Link(layer, rule, False, f"the tool is not {rule.tool}"), rule, Match.NO)
        found = Match.YES
        for pointer, wanted in (rule.match or {}).items():
            value = _at(self.arguments, pointer)
            if value is _MISSING:
                return Asked(Link(layer, rule, False, f"nothing at {pointer}"), rule, Match.NO)
            found = min(found, self._match(rule.disposition, pointer, value, wanted))
            if found is Match.NO:
                return Asked(Link(layer, rule, False, f"{pointer} is another value"), rule, Match.NO)
        if found is Match.MAYBE:
            return Asked(Link(layer, rule, False, self._why_unsure()), rule, found)
        why = f"the tool is {rule.tool}" + (", the arguments match" if rule.match else "")
        return Asked(Link(layer, rule, True, why), rule, found)

    def _match(self, disposition: AnyDisposition, pointer: str, value: Any, wanted: Json) -> Match:
        if self.tool.kind == "workspace" and pointer == "/path" and isinstance(value, str):
            return _of_path(value, wanted)
        script = self.script
        holds_back = isinstance(base_disposition(disposition), Deny | Defer)
        if script is None or not self._is_command(pointer, script):
            alike = holds_back and self.tool.kind in _TEXTUAL and _matches(_as_text(value), _as_text(wanted))
            return Match.YES if alike or _matches(value, wanted) else Match.NO
        if holds_back:
            return Match.YES if _matches(value, wanted) else _in_part(script, wanted)
        if script.plain and (_equals(value, wanted) or any(one.is_plainly(script) for one in _patterns(wanted))):
            return Match.YES
        return Match.MAYBE if _matches(value, wanted) or _in_part(script, wanted) else Match.NO

    def _is_command(self, pointer: str, script: Script) -> bool:
        """Whether what a shell will read is there, or a part of it, or around it."""
        steps = steps_of(pointer)
        return not steps or steps[0] in script.holds or steps[0] == self.tool.command

    def _why_unsure(self) -> str:
        if self.tool.kind == "workspace":
            return f"it may match: {PATH_DOUBT}"
        doubt = self.script.doubt if self.script else None
        return f"it may match: {doubt}" if doubt else "a part may match, and the command is not one plain command"


def _of_path(path: str, wanted: Json) -> Match:
    """However a path is spelled, it is the file that a rule is about."""
    plain = plain_path(path)
    if plain is None:
        return Match.YES if _equals(path, wanted) else Match.MAYBE
    return Match.YES if _matches(plain, wanted) or _equals(path, wanted) else Match.NO


@once
def told_rule(rule: AnyRule) -> Json:
    """A rule as the verdicts have it that it decides."""
    return rule.wire()


def denies(rule: AnyRule) -> bool:
    return type(base_disposition(rule.disposition)) is Deny


def _in_part(script: Script, wanted: Json) -> Match:
    return max((pattern.in_part(script) for pattern in _patterns(wanted)), default=Match.NO)


def _patterns(wanted: Json) -> Iterator[Pattern]:
    """What a match wants of a text, as far as it wants any."""
    for one in wanted if isinstance(wanted, list) else [wanted]:
        if isinstance(one, list):
            yield from _patterns(one)
        elif isinstance(one, dict) and set(one) == {"glob"}:
            yield Pattern(str(one["glob"]), glob=True)
        elif isinstance(one, str):
            yield Pattern(one, glob=False)
        else:
            yield Pattern(json.dumps(one), glob=False)


def _matches(value: Any, wanted: Json) -> bool:
    """Whether `value` is what the rule wants."""
    if isinstance(wanted, list):
        return any(_matches(value, one) for one in wanted)
    if isinstance(wanted, dict) and set(wanted) == {"glob"}:
        return isinstance(value, str) and fits(str(wanted["glob"]), value)
    return _same(value, wanted)


def _equals(value: Any, wanted: Json) -> bool:
    """The same without globs."""
    return any(_equals(value, one) for one in wanted) if isinstance(wanted, list) else _same(value, wanted)


def _as_text(value: Json) -> Json:
    """Numbers and truth values as such a program is given them: it cannot tell 5 from "5". Those in a list each."""
    if isinstance(value, list):
        return [_as_text(one) for one in value]
    return value if value is None or isinstance(value, str | dict) else json.dumps(value)


def _same(one: Json, other: Json) -> bool:
    """Equal as JSON: true is not 1, 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _at(value: Json, pointer: str) -> Any:
    """What the JSON pointer names in `value`, or _MISSING."""
    for step in steps_of(pointer):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _is_index(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return _MISSING
    return value


def _is_index(step: str) -> bool:
    """Python reads no number of thousands of digits, and no list is so long. A pointer writes no number with a zero
    before it."""
    return step.isascii() and step.isdigit() and len(step) < 10 and (step == "0" or step[0] != "0")
