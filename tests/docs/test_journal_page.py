"""docs/journal.md has every record with its members, and every place of the state directory."""

import re
from typing import get_args

from pydantic.alias_generators import to_camel
from support.pages import DOCS, sections

from abey.protocol.base import Wire
from abey.protocol.journal import RECORD_TYPES
from abey.runtime.store.io import Durability

SECTIONS = sections(DOCS / "journal.md")


def members(kind: type[Wire]) -> list[str]:
    """The members as the page writes them, one that may be absent with its mark."""
    return [
        f"`{to_camel(name)}`{'?' if not field.is_required() and field.default is None else ''}"
        for name, field in kind.model_fields.items()
    ]


def test_the_page_has_every_record_with_its_members() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]*) \|", SECTIONS["Records"], re.MULTILINE)
    shown = {kind: cell.split(", ") if cell else [] for kind, cell in rows}
    assert shown == {kind: members(data) for kind, data in RECORD_TYPES.items()}


def test_the_page_has_every_durability() -> None:
    assert re.findall(r"^\| `([a-z]+)`[ ,]", SECTIONS["Durability"], re.MULTILINE) == list(get_args(Durability))
