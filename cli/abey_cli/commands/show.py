"""`abey session show`: one session as a document, and where it is."""

from typing import Any

from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.call_text import so_far_lines
from abey_cli.context import Context
from abey_cli.document import document_lines
from abey_cli.showing import show_state
from abey_cli.transcript import TEXT_SHOWN, queued_lines


def show(context: Context) -> int:
    result = context.request("agents/get", sessionId=lookup.session_id(context, context.options.session))
    context.answer(result, lambda: _show(context, result["session"]))
    return EXIT_OK


def _show(context: Context, session: Any) -> None:
    console = context.console
    page = context.request("agents/transcript", sessionId=session["sessionId"])
    text = "\n".join(document_lines(session, page, with_revisions=context.options.revisions))
    if console.coloured:
        from abey_cli.markdown import rendered  # rich is slow to load, and nobody else wants it

        text = rendered(text, console.size()[0]).rstrip("\n")
    console.out(f"{text}\n")
    show_state(context, _without_what_was_shown(session, page["items"]))
    for line in queued_lines(session, page.get("queuedTexts", {})):
        console.out(line)
    for call in session["pending"]:
        for line in so_far_lines(call):
            console.out(line)


def _without_what_was_shown(session: Any, items: list[Any]) -> Any:
    """Without the final text, where the transcript has it whole."""
    output = session.get("output")
    shown = output is not None and len(output) <= TEXT_SHOWN and any(item.get("text") == output for item in items)
    return {name: value for name, value in session.items() if name != "output"} if shown else session
