"""Remembered rules as lines of text for people; what others wrote is escaped (security.md, Prompt text)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from abey.shared.escaping import escape_line

if TYPE_CHECKING:
    from abey_cli.protocol_types import Rule

DOES = {"runSync": "runs without asking", "runAsync": "runs in the background without asking", "deny": "is denied"}
WHERE = {"session": "in this session", "workspace": "in {workspace}", "user": "in all your sessions"}


def rule_line(rule: Rule) -> str:
    """What the rule says, in a line: nothing of it is cut."""
    tag = _tag(rule["disposition"])
    where = WHERE.get(rule["scope"], "{scope}").format(workspace=rule.get("workspace", "?"), scope=rule["scope"])
    told = [rule["tool"], *_conditions(rule.get("match")), DOES.get(tag, tag)]
    return escape_line(f"{' '.join(told)}, {where}")


def rule_lines(rule: Rule) -> list[str]:
    """A rule in the list of all."""
    came = f"{rule['origin']}, {rule['createdAt']}; decided {rule['uses']}"
    return [f"{escape_line(rule['ruleId'])}  {rule_line(rule)}", f"  {escape_line(came)}"]


def _conditions(match: dict[str, Any] | None) -> list[str]:
    """Each part of a match in words; None: whatever the arguments are."""
    if not match:
        return ["with whatever arguments"]
    return [f"with {_place(pointer)} {_wanted(wanted)}" for pointer, wanted in match.items()]


def _place(pointer: str) -> str:
    return "arguments" if pointer == "" else pointer


def _wanted(wanted: Any) -> str:
    if isinstance(wanted, dict) and set(wanted) == {"glob"}:
        return f"like {json.dumps(wanted['glob'], ensure_ascii=False)}"
    if isinstance(wanted, list):
        return f"one of {json.dumps(wanted, ensure_ascii=False)}"
    return f"exactly {json.dumps(wanted, ensure_ascii=False)}"


def _tag(disposition: Any) -> str:
    return str(disposition["tag"] if isinstance(disposition, dict) else disposition)
