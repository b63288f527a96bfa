"""The records of a journal: what happened to a session, in order (journal.md; machine.md, Write before you act).

Format version 1. A record is never changed or removed; a new member is optional, a new type raises the version
unless it is ignorable.
"""

from abey.protocol.journal.calls import (
    BlobRef,
    CallAsked,
    CallDecided,
    CallExpired,
    CallFinished,
    CallResolved,
    CallStarted,
)
from abey.protocol.journal.lines import Rewound, Seeded
from abey.protocol.journal.record import FORMAT_VERSION, KeyedOutcome, KeyedRequest, Record, RecordData
from abey.protocol.journal.turns import (
    Cancelled,
    Candidate,
    Compacted,
    Continued,
    Created,
    Failed,
    Final,
    Input,
    InputQueued,
    ModelFailure,
    ModelRequested,
    Paused,
    Resumed,
    Stopped,
    ToolResults,
    Waiting,
    Withdrawn,
)
from abey.protocol.journal.upkeep import Answered, Imported, Repaired, RuleAdded, RuleRemoved, Skipped, Updated

__all__ = [
    "FORMAT_VERSION",
    "RECORD_TYPES",
    "Answered",
    "BlobRef",
    "CallAsked",
    "CallDecided",
    "CallExpired",
    "CallFinished",
    "CallResolved",
    "CallStarted",
    "Cancelled",
    "Candidate",
    "Compacted",
    "Continued",
    "Created",
    "Failed",
    "Final",
    "Imported",
    "Input",
    "InputQueued",
    "KeyedOutcome",
    "KeyedRequest",
    "ModelFailure",
    "ModelRequested",
    "Paused",
    "Record",
    "RecordData",
    "Repaired",
    "Resumed",
    "Rewound",
    "RuleAdded",
    "RuleRemoved",
    "Seeded",
    "Skipped",
    "Stopped",
    "ToolResults",
    "Updated",
    "Waiting",
    "Withdrawn",
]

RECORD_TYPES: dict[str, type[RecordData]] = {kind.type: kind for kind in RecordData.__subclasses__()}
"""Every record type of this version by its name in the journal."""
