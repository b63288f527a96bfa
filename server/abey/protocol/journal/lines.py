"""Where the line of a session begins anew: from a value of elsewhere, or from an earlier revision of its own."""

from typing import ClassVar

from abey.protocol.base import Int
from abey.protocol.journal.record import RecordData
from abey.protocol.seeds import Seed
from abey.protocol.transcript import Client


class Seeded(RecordData):
    """From here on the session is what this says, whatever it was before. A stopped one goes on so."""

    type: ClassVar[str] = "seeded"
    seed: Seed
    client: Client | None = None


class Rewound(RecordData):
    """The session is again as it was at revision `to`; the journal keeps what came after. `ran` are the calls,
    undecided then, that have started since on any line."""

    type: ClassVar[str] = "rewound"
    to: Int
    ran: tuple[str, ...] = ()
    client: Client | None = None
