"""Markdown as a terminal shows it. Nothing of its text is hidden: no HTML, no targets of links out of sight."""

import io

from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import Markdown
from rich.theme import Theme

WIDEST = 100
"""Columns: longer lines are hard to read."""
HIDING = ("entity", "html_block", "html_inline", "reference")
"""Rules by which text would stand for another one, or for none."""
_STYLES = Theme({"markdown.block_quote": "none", "markdown.code": "bold", "markdown.h1": "bold underline"})


def rendered(text: str, columns: int) -> str:
    """The text, escaped before, for a terminal of so many columns, in colours."""
    document = Markdown("", code_theme="ansi_dark", hyperlinks=False)
    document.parsed = MarkdownIt().enable(["strikethrough", "table"]).disable(HIDING).parse(text)
    console = Console(
        file=io.StringIO(),
        width=min(columns, WIDEST),
        force_terminal=True,
        color_system="standard",
        theme=_STYLES,
    )
    with console.capture() as captured:
        console.print(document)
    return captured.get()
