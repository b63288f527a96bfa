"""`--thinking`: what a model thinks, as it is recorded, beside the answer that comes of it."""

from collections.abc import Callable
from typing import Any

from abey_cli.context import Context
from abey_cli.failures import usage


def thinking_goes(context: Context) -> str | None:
    """`stdout` or `stderr`, as --thinking says; None where nobody wants it. Raises Failure `usage` where it would stand
    beside the one value of --json."""
    where = getattr(context.options, "thinking", None)
    if where == "stdout" and context.console.json:
        raise usage("--thinking stdout goes without --json: there the result is alone on stdout")
    return None if where == "none" else where


def tell_thinking(context: Context, where: str, item: Any) -> None:
    """The text of an item, if it is what a model thinks."""
    if item is None or item["kind"] != "thinking" or not item.get("text"):
        return
    if where == "stdout":
        context.console.text(item["text"])
    else:
        context.console.err(item["text"])


def as_thinking_goes(context: Context, tell: Callable[[Any], None]) -> Callable[[Any], None]:
    """`tell` of whatever happens, but with `--thinking none` of nothing that a model thinks."""
    if getattr(context.options, "thinking", None) != "none":
        return tell

    def tell_the_rest(told: Any) -> None:
        event = told["event"]
        if "thinking" not in (event.get("kind"), (event.get("item") or {}).get("kind")):
            tell(told)

    return tell_the_rest


def tell_thinking_so_far(context: Context, session_id: str) -> None:
    """All that was thought in a session that has just begun."""
    where = thinking_goes(context)
    if where is None:
        return
    for item in context.request("agents/transcript", sessionId=session_id)["items"]:
        tell_thinking(context, where, item)
