"""What every record of a journal is: data of some type, with its revision and its time."""

from dataclasses import dataclass
from typing import ClassVar

from abey.protocol.base import Int, Timestamp, Wire

FORMAT_VERSION = 1


class RecordData(Wire):
    """The `data` of a record; `type` is its name in the journal."""

    type: ClassVar[str]


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a journal. Order is by `rev` alone; `at` is for people."""

    rev: Int
    at: Timestamp
    data: RecordData
