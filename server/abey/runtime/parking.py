"""Keeps few journals open: a daemon of a thousand sessions must not run out of descriptors."""

from collections import OrderedDict

from abey.runtime.live import Live

OPEN_JOURNALS = 64


class Parking:
    """Remembers which sessions wrote last; the descriptors of the others are given up."""

    def __init__(self, most: int = OPEN_JOURNALS) -> None:
        self._most = most
        self._open: OrderedDict[Live, None] = OrderedDict()

    def wrote(self, live: Live) -> None:
        """Its journal is open now, and nobody writes to it. One that is written to, or is about to be, stays open:
        where all the others are such, it is this one that is given up."""
        self._open[live] = None
        self._open.move_to_end(live)
        surplus = len(self._open) - self._most
        if surplus > 0:
            for other in [one for one in self._open if not one.writing][:surplus]:
                other.journal.park()
                del self._open[other]

    def leave(self, live: Live) -> None:
        """The session rests: its descriptor is given up."""
        self.forget(live)
        live.journal.park()

    def forget(self, live: Live) -> None:
        """The session is gone."""
        self._open.pop(live, None)
