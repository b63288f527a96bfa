"""Words for a hover or a completion in which nothing out of a file can act (security.md, Prompt text)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lsprotocol import types as lsp

from abey.shared.escaping import cut, escape, escape_line

_LINE, _BLOCK = 200, 4000
_TICKS = re.compile("`+")


@dataclass(frozen=True, slots=True)
class Markup:
    """What a client can show. Texts of a file go in through `code` and `block` only; all other words are ours."""

    markdown: bool

    def code(self, text: str) -> str:
        """A word or a line of a file."""
        shown = cut(escape_line(text), _LINE)
        if not self.markdown:
            return f"`{shown}`"
        fence = "`" * (_most_ticks(shown) + 1)
        space = " " if not shown.strip() or shown.startswith("`") or shown.endswith("`") else ""
        return f"{fence}{space}{shown}{space}{fence}"

    def block(self, text: str, language: str = "") -> str:
        """Lines of a file."""
        shown = cut(escape(text), _BLOCK)
        fence = "`" * max(3, _most_ticks(shown) + 1)
        return f"{fence}{language}\n{shown}\n{fence}" if self.markdown else shown

    def strong(self, words: str) -> str:
        return f"**{words}**" if self.markdown else words

    def content(self, paragraphs: Iterable[str]) -> lsp.MarkupContent:
        kind = lsp.MarkupKind.Markdown if self.markdown else lsp.MarkupKind.PlainText
        return lsp.MarkupContent(kind, "\n\n".join(part for part in paragraphs if part))


def for_hover(capabilities: lsp.ClientCapabilities) -> Markup:
    hover = capabilities.text_document.hover if capabilities.text_document else None
    return _of(hover.content_format if hover else None)


def for_completion(capabilities: lsp.ClientCapabilities) -> Markup:
    item = completion_item(capabilities)
    return _of(item.documentation_format if item else None)


def completion_item(capabilities: lsp.ClientCapabilities) -> lsp.ClientCompletionItemOptions | None:
    completion = capabilities.text_document.completion if capabilities.text_document else None
    return completion.completion_item if completion else None


def _of(formats: Iterable[lsp.MarkupKind | str] | None) -> Markup:
    return Markup(lsp.MarkupKind.Markdown in list(formats or ()))


def _most_ticks(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
