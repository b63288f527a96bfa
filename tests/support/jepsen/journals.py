"""What the journals of a machine say, as the checker wants it."""

from pathlib import Path

from support import e2e_journal
from support.jepsen.history import Journal, Record, Told

from abey.runtime.event_log import EventLog
from abey.runtime.store.scan import scan


def read_journal(path: Path) -> Journal:
    """The records as they lie on the disk, and the events that follow from them and nothing else."""
    lines, tokens = e2e_journal.read(path), dict[str, str]()
    return Journal(tuple(_record(line, tokens) for line in lines), tuple(_events(lines)))


def _record(line: e2e_journal.Line, tokens: dict[str, str]) -> Record:
    """`tokens` are those of the calls decided up to here, and one more where this record decides one."""
    data = line.data
    if line.type == "call-decided":
        tokens[data["callId"]] = data["token"]
    resolved = tokens[data["callId"]] if line.type == "call-resolved" else ""
    request = line.record.get("request") or data.get("request") or {}
    return Record(line.record["rev"], line.type, data.get("inputId", ""), resolved, request.get("key", ""))


def _events(lines: list[e2e_journal.Line]) -> list[Told]:
    log, found = EventLog(), list[Told]()
    whole = scan(b"".join(line.raw for line in lines))
    assert whole.problem is None, whole.problem
    for records in whole.units:
        before = log.next_seq - 1
        log.add(records)
        events = log.since(before, 1 << 20, lambda _: None)
        assert events is not None
        found += [Told(one.seq or 0, one.revision, one.event["type"], "") for one in events]
    return found
