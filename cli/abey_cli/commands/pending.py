"""`abey session pending`: the calls that wait for somebody."""

import time
from typing import Any

from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.console import TOKEN_SHOWN
from abey_cli.context import Context
from abey_cli.families import pending_below
from abey_cli.render import pending_lines


def pending(context: Context) -> int:
    given = context.options.session
    session_id = None if given is None else lookup.session_id(context, given)
    if context.options.watch:
        from abey_cli.commands.watching import watch  # not on the way of who only looks: that is to be quick

        return watch(context, session_id)
    items = list(lookup.pending(context, sessionId=session_id))
    if session_id is not None:
        items += pending_below(context, items)
    context.answer({"items": items}, lambda: _show(context, items))
    return EXIT_OK


def show_call(context: Context, call: Any) -> None:
    console = context.console
    if console.quiet:
        console.out(call["token"])
    elif console.terminal:
        console.headed([*pending_lines(call, console.token, console.id), *_for_a_person(call)])
    else:
        for line in pending_lines(call, console.token, console.id):
            console.out(line)


def _for_a_person(call: Any) -> list[str]:
    """Since when it waits, and which command answers it."""
    from abey_cli.ages import age  # not on the way of a script
    from abey_cli.way_on import ANSWERS

    answer = ANSWERS.get(call["kind"], "").format(call["token"][:TOKEN_SHOWN])
    return [f"  since: {age(call['createdAt'], time.time())}", *([f"  answer: {answer}"] if answer else [])]


def _show(context: Context, items: list[Any]) -> None:
    if not items:
        context.console.note("no call waits for anybody")
    for call in items:
        show_call(context, call)
