"""A view of what goes on, laid out for the lines and columns of a terminal; hostile text is escaped first."""

import io
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from abey.shared.escaping import escape, escape_line
from abey_cli.drawing import Drawn
from abey_cli.live_view import Running, View
from abey_cli.render import usage_text

THINKING_LINES = 3
OUTPUT_LINES = 5
CALLS_SHOWN = 4
ECHO = 2
"""Cells that a terminal needs behind the last line to show a Ctrl-C."""
LEAST_SECONDS = 1
"""A call that runs for less has no time beside it."""


def frame(view: View, now: float, size: tuple[int, int], *, colours: bool) -> list[Drawn]:
    """At most so many lines that all of them are on the screen, each shorter than it is wide; the last says how long it
    has been going on."""
    width, height = max(size[0] - 1, 1), max(size[1] - 1, 1)
    console = Console(
        file=io.StringIO(), width=width, force_terminal=True, color_system="standard" if colours else None
    )
    status = _cut(Text(_status(view, now), style="dim"), max(width - ECHO, 1))
    lines = [*_body(view, now, console, height - 1), status]
    return [_drawn(console, line) for line in lines[-height:]]


def _body(view: View, now: float, console: Console, height: int) -> list[Text]:
    calls = [line for call in view.calls[-CALLS_SHOWN:] for line in _call(call, now, console)]
    if len(view.calls) > CALLS_SHOWN:
        calls.insert(0, _cut(Text(f"… {len(view.calls) - CALLS_SHOWN} more calls run", style="dim"), console.width))
    thinking = _tail(view.thinking.text, console, THINKING_LINES, "~ ", "dim italic")
    room = max(height - len(calls) - len(thinking), 1)
    return [*thinking, *_tail(view.answer.text, console, room), *calls] if height > 0 else []


def _call(call: Running, now: float, console: Console) -> Iterator[Text]:
    took = f" {_seconds(now - call.since)}" if now - call.since >= LEAST_SECONDS else ""
    head = Text.assemble("* ", (escape_line(call.tool), "bold"), " ", escape_line(call.arguments))
    head = _cut(head, max(console.width - len(took), 1))
    yield _cut(Text.assemble(head, (took, "cyan")), console.width)
    if call.says:
        yield _cut(Text(f"    {escape_line(call.says)}", style="cyan"), console.width)
    yield from _tail(call.printed.text, console, OUTPUT_LINES, "    ", "dim")


def _tail(text: str, console: Console, lines: int, indent: str = "", style: str = "") -> list[Text]:
    """The last lines of a text, wrapped."""
    width = max(console.width - len(indent), 1)
    end = escape(text[-width * (lines + 1) :]).rstrip("\n").expandtabs(4)
    wrapped = [*Text(end, style=style).wrap(console, width, overflow="fold")] if end else []
    return [_cut(Text.assemble((indent, style), line), console.width) for line in wrapped[-lines:]]


def _status(view: View, now: float) -> str:
    queued = [f"{view.queued} queued"] if view.queued else []
    usage = [usage_text(view.usage)] if view.usage and view.usage.get("inputTokens") else []
    return ", ".join([f"{escape_line(view.activity) or 'works'} {_seconds(now - view.began)}", *queued, *usage])


def _seconds(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"


def _cut(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis")
    return line


def _drawn(console: Console, line: Text) -> Drawn:
    with console.capture() as captured:
        console.print(line, end="", no_wrap=True, overflow="crop", crop=True)
    return Drawn(captured.get(), cell_len(line.plain))
