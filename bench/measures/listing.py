"""Lists of many sessions, and the start of a daemon that has them, beside the start of one that has none."""

import time
from pathlib import Path
from statistics import median
from typing import Any

from bench.client import Client, Refused
from bench.copies import copy_session
from bench.figures import Figures
from bench.machine import Machine
from bench.measures.daemon import Driver
from bench.measures.starting import started
from bench.sizes import Size


def measure(size: Size, folder: Path) -> Figures:
    empty, full = Machine(folder / "empty"), Machine(folder / "full")
    with full.serving() as (_, client):
        driver = Driver(full, client)
        session_id = driver.begin()
        driver.turn(session_id)
    journal = full.state / "sessions" / session_id / "journal.jsonl"
    copy_session(journal, [f"c{number:06d}" for number in range(size.listed - 1)])
    with full.serving() as (_, client):
        indexed = _timed(_until_indexed, client, size.listed)
    starts = [(started(empty), started(full)) for _ in range(max(1, size.tries // 4))]
    with full.serving() as (_, client):
        first = _timed(_list, client)
        lists = [_timed(_list, client) for _ in range(size.tries)]
    return {
        "list": median(lists),
        "list.first": first,
        "list.indexing": indexed,
        "list.start": median(many.answered for _, many in starts) / median(none.answered for none, _ in starts),
    }


def _timed(what: Any, *arguments: Any) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    what(*arguments)
    return (time.perf_counter() - began) * 1000


def _list(client: Client) -> int:
    """How many sessions the first page shows."""
    return len(client.request("agents/sessions", limit=100)["items"])


def _until_indexed(client: Client, number: int) -> None:
    """Every journal has been looked at, and what a list shows is all there is."""
    asked, cursor = 0, None
    while True:
        page = client.request("agents/sessions", limit=1000, **({"cursor": cursor} if cursor else {}))
        asked, cursor = asked + len(page["items"]), page.get("nextCursor")
        if cursor is None:
            break
    if asked != number:
        raise Refused(f"{asked} of {number} sessions are listed")
