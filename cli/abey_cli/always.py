"""*Always*: the rule that goes with an approval is one that the daemon suggests, and a person sees it before."""

from typing import Any

from abey_cli.context import Context
from abey_cli.failures import refused_input
from abey_cli.rule_lines import rule_line

NO_RULE = "no rule is narrow enough to answer such calls from now on"
BACK = frozenset({"b", "back"})


def narrowest(context: Context, call: Any, scope: str) -> Any:
    """The narrowest rule of this scope, which is shown on stderr. Raises Failure where there is none."""
    rule = next((one for one in call.get("suggestions", ()) if one["scope"] == scope), None)
    if rule is None:
        raise refused_input(f"{NO_RULE}; say it without --always to approve this one alone")
    context.console.err(f"from now on: {rule_line(rule)}")
    return rule


def choose(context: Context, call: Any) -> Any:
    """The rule that the person chooses by its number, None for none. No answer is a default: an empty line asks
    again."""
    offered = list(call.get("suggestions", ()))
    if not offered:
        context.console.err(f"{NO_RULE}; you can approve this one alone")
        return None
    for number, rule in enumerate(offered, 1):
        context.console.err(f"  {number}  {rule_line(rule)}")
    while True:
        answer = context.console.ask(f"which, 1 to {len(offered)}, or [b]ack?")
        if answer is None or answer.lower() in BACK:
            return None
        if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(offered):
            return offered[int(answer) - 1]
