"""A pending call in words, for hovers and questions: plain text, in which nothing acts."""

from lsprotocol import types as lsp

from abey.language.sessions.harmless import harmless, harmless_line
from abey.language.sessions.page import Waiting
from abey.protocol.transcript import Pending
from abey.shared.escaping import cut

TITLE_SHOWN = 120


def shown_wait(waiting: Waiting) -> str:
    """What waits, since when, where, why, and until when."""
    pending = waiting.pending
    lines = [
        f"call {waiting.n}: {harmless_line(pending.title)}",
        f"waits for: {pending.kind}, since {pending.created_at}",
        f"folder: {harmless_line(pending.cwd)}",
    ]
    if pending.reason:
        lines.append(f"why: {harmless_line(pending.reason)}")
    if pending.started_at:
        lines.append(f"started: {pending.started_at}")
    if pending.expires_at:
        lines.append(f"until: {pending.expires_at}")
    if pending.question is not None:
        lines.append(f"asks: {cut(harmless(pending.question.prompt), 2000)}")
    if pending.diff:
        lines.append(cut(harmless(pending.diff), 4000))
    if pending.output_so_far:
        lines.append(f"has printed:\n{cut(harmless(pending.output_so_far), 2000)}")
    return "\n".join(lines)


def in_a_line(pending: Pending) -> str:
    """What waits and where, in one short line."""
    title = harmless_line(pending.title, TITLE_SHOWN)
    return f"{harmless_line(pending.tool, 60)} waits ({pending.kind}): {title} in {harmless_line(pending.cwd, 120)}"


def hover_of(text: str, range: lsp.Range | None = None) -> lsp.Hover:
    return lsp.Hover(contents=lsp.MarkupContent(kind=lsp.MarkupKind.PlainText, value=text), range=range)
