"""The pages of the project as tests read them: their blocks, their sections, the names in their tables."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = tuple(
    sorted(
        [
            *ROOT.glob("*.md"),
            *DOCS.rglob("*.md"),
            *(ROOT / "clients/vscode").glob("*.md"),
            *(ROOT / "clients/vscode/walkthrough").glob("*.md"),
            ROOT / "clients/vscode/test/README.md",
        ]
    )
)

REST = "…"
"""A member or an element with this name stands for all that a page leaves out."""

_BLOCK = re.compile(
    r"^(?:<!-- (?:not run: (?P<reason>[^\n]+)|needs: (?P<needs>\S+)) -->\n)?"
    r"```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_HASH = re.compile(r"\b[0-9a-f]{64}\b")
_TOKEN = re.compile(r"\b[0-9a-f]{32}\b")
_ULID = re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}\b")
_VOLATILE = (
    ("time", re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")),
    ("hash", _HASH),
    ("token", _TOKEN),
    ("ulid", _ULID),
    ("socket", re.compile(r"(?<=/)[0-9a-f]{16}\b")),
    ("pid", re.compile(r"\bpid \d+")),
)
_NUMBERS = ("pid", "rssBytes")
"""Members whose value no two runs share."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `kind` is all after the fence, `reason` says why it is not run, `needs` names a program.

    The last word of `kind` may name a file, which a reader is told to write; `form` is what comes before.
    """

    page: Path
    line: int
    kind: str
    text: str
    reason: str | None
    needs: str | None

    @property
    def form(self) -> str:
        return self.kind.removesuffix(f" {self.file}") if self.file else self.kind

    @property
    def file(self) -> str | None:
        last = self.kind.split(" ")[-1]
        return last if re.search(r"[./]", last) else None

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path, *kinds: str) -> tuple[Block, ...]:
    """The blocks of these kinds, in order; of every kind where none is named."""
    text = page.read_text(encoding="utf-8")
    found = (
        Block(page, text.count("\n", 0, match.start("kind")) + 1, **match.groupdict())
        for match in _BLOCK.finditer(text)
    )
    return tuple(block for block in found if not kinds or block.kind in kinds)


def sections(page: Path) -> dict[str, str]:
    """The text below every heading, up to the next one."""
    parts = re.split(r"^#+ (.*)\n", _BLOCK.sub("", page.read_text(encoding="utf-8")), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def first_column(text: str) -> tuple[str, ...]:
    """The names in backticks that begin the rows of the first table in `text`."""
    rows = re.search(r"(?:^\|.*\n)+", text, re.M)
    cells = [row.split("|")[1] for row in rows[0].splitlines()[2:]] if rows else []
    return tuple(name for cell in cells for name in re.findall(r"`([^`]+)`", cell))


def plain(text: str) -> str:
    """`text` with what no two runs share replaced by its kind."""
    for kind, pattern in _VOLATILE:
        text = pattern.sub(f"<{kind}>", text)
    return text


def replacements(shown: Any, real: Any) -> Iterator[tuple[str, str]]:
    """What stands in `real` where `shown` has a token, a hash or an id; both are JSON values or texts alike."""
    match shown, real:
        case dict(), dict():
            for name in shown.keys() & real.keys():
                yield from replacements(shown[name], real[name])
        case list(), list():
            for one, other in zip(shown, real, strict=False):
                yield from replacements(one, other)
        case str(), str():
            for pattern in (_HASH, _TOKEN, _ULID):
                yield from zip(pattern.findall(shown), pattern.findall(real), strict=False)


def shown_part(shown: Any, real: Any) -> Any:
    """As much of `real` as `shown` shows of it, with the volatile in it made plain."""
    match shown, real:
        case dict(), dict():
            names = [*shown, *real] if REST not in shown else shown
            return {name: _member(name, shown, real) for name in names if name == REST or name in real}
        case list(), list():
            kept = len(shown) - 1 if shown[-1:] == [REST] and len(real) >= len(shown) else None
            whole = [shown_part(one, other) for one, other in zip(shown, real, strict=False)]
            extra = [shown_part(other, other) for other in real[len(shown) :]]
            return [*whole[:kept], REST] if kept is not None else whole + extra
        case _, str():
            return plain(real)
        case _:
            return real


def _member(name: str, shown: Mapping[str, Any], real: Mapping[str, Any]) -> Any:
    if name == REST:
        return REST
    return 0 if name in _NUMBERS else shown_part(shown.get(name, real[name]), real[name])
