"""docs/journal.md has every record with its members, and every place of the state directory."""

import re
from typing import get_args

from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from support.pages import DOCS, sections

from abey.protocol.journal import RECORD_TYPES, RecordData
from abey.runtime.store.io import Durability

SECTIONS = sections(DOCS / "journal.md")


def members(kind: type[RecordData]) -> list[str]:
    """The members as the page writes them, with a mark where they may be absent: by default, or since a record before
    says them. Lists and objects are there, empty or not."""
    return [
        f"`{to_camel(name)}`{'' if _is_there(field) else '?'}{'*' if name in kind.carried else ''}"
        for name, field in kind.model_fields.items()
    ]


def _is_there(field: FieldInfo) -> bool:
    return field.is_required() or isinstance(field.default, tuple | dict)


def test_the_page_has_every_record_with_its_members() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]*) \|", SECTIONS["Records"], re.MULTILINE)
    shown = {kind: cell.split(", ") if cell else [] for kind, cell in rows}
    assert shown == {kind: members(data) for kind, data in RECORD_TYPES.items()}


def test_the_page_has_every_durability() -> None:
    assert re.findall(r"^\| `([a-z]+)`[ ,]", SECTIONS["Durability"], re.MULTILINE) == list(get_args(Durability))
