"""What happens to the journal itself: it is mended, renamed, made from a file of elsewhere, or only noted in."""

from typing import ClassVar

from abey.protocol.base import Flag, Int
from abey.protocol.journal.record import RecordData
from abey.protocol.policy import Rule
from abey.protocol.transcript import Client


class Repaired(RecordData):
    """A torn tail was cut off: whatever is unfinished may have run (journal.md, Recovery).

    `lost`: the first and the last of each run of revisions that are known to be lost to the session.
    """

    type: ClassVar[str] = "repaired"
    offset: Int
    cut_bytes: Int
    may_have_run: Flag
    lost: tuple[tuple[Int, Int], ...] | None = None


class Skipped(RecordData):
    """A newer version's record that an older reader may skip: it counts, and what it tells is not known here."""

    type: ClassVar[str] = "skipped"


class Answered(RecordData):
    """Requests with a key began or ended, and nothing else is to be recorded."""

    type: ClassVar[str] = "answered"
    ignorable: ClassVar[bool] = True


class Updated(RecordData):
    """What a person calls the session, and whether it is put away. An absent member changes nothing."""

    type: ClassVar[str] = "updated"
    title: str | None = None
    archived: Flag | None = None
    client: Client | None = None


class RuleAdded(RecordData):
    """A rule is remembered for this session; durable before it decides anything."""

    type: ClassVar[str] = "rule-added"
    rule: Rule
    client: Client | None = None


class RuleRemoved(RecordData):
    """It decides nothing from here on; what it has decided stays."""

    type: ClassVar[str] = "rule-removed"
    rule_id: str
    client: Client | None = None


class Imported(RecordData):
    """The session was made from a file: what had begun, or was free to, may have run elsewhere.

    `source` is the file's name, for people; `original` its text, where what we keep of it would not give it back, and
    `records` the number of records after this one that tell of it.
    """

    type: ClassVar[str] = "imported"
    format: str
    source: str
    original: str | None = None
    records: Int | None = None
