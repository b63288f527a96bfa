"""One client that has stopped reading is cut off, and nobody else misses anything."""

import re

from support.crowd import READERS, crowd
from support.e2e import Place, until


def test_a_client_that_stops_reading_is_cut_at_8_mib_and_the_others_get_every_event(place: Place) -> None:
    with crowd(place, words=30, chunk_ms=5) as everybody:
        until(lambda: everybody.is_cut, "for the cut")
        until(lambda: place.session(everybody.streamed)["activity"] == "idle")
        page = place.rpc("agents/events", sessionId=everybody.streamed, after=0, limit=1000)
        last = len(page["events"])
    *readers, stalled = everybody.reports
    [unread] = re.findall(r"is cut off: it left (\d+) bytes unread", (place.root / "daemon.log").read_text())
    assert 6 << 20 < int(unread) <= 8 << 20
    assert stalled["replies"] == 0  # not even the first one fits into the buffer of a socket
    for reader in readers:
        assert reader["seqs"] == list(range(reader["attached"] + 1, last + 1))
        assert (reader["replies"] > 0, reader["deltas"] > 0) == (True, True)
    assert len(readers) == READERS
