"""A call as a person sees it before and after it is answered: whole, on stderr."""

import json
from typing import Any

from abey.shared.escaping import cut
from abey_cli import lookup
from abey_cli.call_text import call_lines, hash_line
from abey_cli.context import Context
from abey_cli.diffs import patch_lines
from abey_cli.failures import Failure

OUTCOME_SHOWN = 400
"""Characters of an output that stand in the line about it."""


def show_call(context: Context, call: Any) -> None:
    """The whole call."""
    context.console.err_labelled(call_lines(call))
    if call.get("diff"):
        show_diff(context, call["diff"])
    context.console.err_labelled([hash_line(call)])


def show_diff(context: Context, diff: str) -> None:
    """What the call would make of a file."""
    context.console.err_labelled(["diff:"])
    context.console.err_patch(patch_lines(diff), "  ")


def show_outcome(context: Context, result: Any, token: str) -> None:
    """What came of a call that was let run, in a line."""
    try:
        call = lookup.recorded_call(context, result["session"]["sessionId"], token)
    except Failure:
        return  # the answer is recorded; only what is said about it is missing
    if call is not None and "output" in call:
        output = call["output"] if isinstance(call["output"], str) else json.dumps(call["output"])
        told = f": {cut(output.strip(), OUTCOME_SHOWN)}" if output.strip() else ", without output"
        context.console.note(f"{call['tool']} {call['state']}{told}")
