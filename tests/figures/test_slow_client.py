"""How long others wait while one client has stopped reading and four take long answers and streams."""

import statistics
import time
from contextlib import closing
from pathlib import Path

import pytest
from support.crowd import READERS, crowd
from support.e2e import Place, until
from support.e2e_crash import Nursery
from support.figures import Figures

pytestmark = pytest.mark.figures


def test_a_status_is_answered_soon_whoever_reads_or_does_not(
    tmp_path: Path, nursery: Nursery, figures: Figures
) -> None:
    asked = figures.size(300, 3000)
    took: list[float] = []
    with closing(Place(tmp_path / "machine")) as place, nursery.wake(place) as peer:
        with crowd(place, words=asked, chunk_ms=20) as everybody:
            for _ in range(asked):
                began = time.perf_counter()
                peer.request("agents/status")
                took.append(time.perf_counter() - began)
                time.sleep(0.01)
            until(lambda: everybody.is_cut, "for who reads nothing to be cut off")
        replies = sum(reader["replies"] for reader in everybody.reports[:-1])
    p50, p99 = statistics.median(took) * 1000, statistics.quantiles(took, n=100)[98] * 1000
    size = f"{asked} requests; 1 client stalled and cut off, {READERS} got {replies} answers of 2 MB and a stream"
    figures.note(
        "`agents/status` while others read much and one nothing, p99, ms", f"{p99:.1f} (median {p50:.1f})", size
    )
