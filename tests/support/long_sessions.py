"""Journals of long sessions, written as fast as they can be."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from abey.protocol import journal as j
from abey.protocol.blocks import ProposedCall, TextBlock
from abey.protocol.journal import Record, RecordData
from abey.protocol.policy import RunSync
from abey.protocol.session import Usage
from abey.protocol.transcript import TextPart
from abey.runtime.store.codec import encode_unit

AT = "2026-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Long:
    """So many turns, each with so many calls of a tool that prints so many characters."""

    turns: int
    calls: int = 2
    output: int = 500


def write_journal(directory: Path, long: Long) -> int:
    """Makes the directory and its journal; the journal's size in bytes."""
    directory.mkdir(parents=True)
    revision, crc, size = 1, 0, 0
    with (directory / "journal.jsonl").open("wb") as file:
        for unit in units(directory.name, long):
            records = tuple(Record(revision + index, AT, data) for index, data in enumerate(unit))
            data, crc = encode_unit(records, crc)
            revision += len(unit)
            size += file.write(data)
    return size


def units(session_id: str, long: Long) -> Iterator[tuple[RecordData, ...]]:
    yield (j.Created(session_id=session_id, agent="a", config={}, config_hash="0" * 64, cwd="/w", title="long"),)
    for turn in range(long.turns):
        yield from _turn(turn, long)


def _turn(turn: int, long: Long) -> Iterator[tuple[RecordData, ...]]:
    turn_id = f"t{turn}"
    usage = Usage(input_tokens=1000, output_tokens=100)
    ids = [f"call_{turn}_{index}" for index in range(long.calls)]
    asked = j.ModelRequested(
        turn_id=turn_id, step_id="s", invocation_id=f"n{turn}", request_hash="0" * 64, config_hash="0" * 64
    )
    answer = j.Candidate(
        turn_id=turn_id, step_id="s", invocation_id=f"n{turn}", finish_reason="stop", usage=usage, attempts=1
    )
    calls = tuple(ProposedCall(call_id=one, tool="bash", arguments='{"command": "make test"}') for one in ids)
    text = (TextBlock(text="All tests pass now; the cause was an off-by-one in the reader."),)
    yield (
        j.Input(turn_id=turn_id, input_id=f"i{turn}", parts=(TextPart(text="Please mend the failing test."),)),
        asked,
    )
    yield (answer.model_copy(update={"calls": calls}), *(_decided(one) for one in ids))
    yield tuple(j.CallStarted(call_id=one, invocation_id=f"v{one}", arguments_hash="0" * 64) for one in ids)
    finished = tuple(_finished(one, long.output) for one in ids)
    yield (*finished, j.ToolResults(turn_id=turn_id, step_id="s", call_ids=tuple(ids)), asked)
    yield (answer.model_copy(update={"blocks": text}), j.Final(turn_id=turn_id, step_id="s"))


def _decided(call_id: str) -> j.CallDecided:
    return j.CallDecided(
        call_id=call_id,
        token=f"{zlib.crc32(call_id.encode()):08x}{call_id}",
        disposition=RunSync(),
        runnable=True,
        policy_hash="0" * 64,
        tool_hash="0" * 64,
        config_hash="0" * 64,
    )


def _finished(call_id: str, size: int) -> j.CallFinished:
    line = f"{call_id}: test_reader.py::test_the_last_line PASSED\n"
    output = (line * (size // len(line) + 1))[:size]
    return j.CallFinished(call_id=call_id, invocation_id=f"v{call_id}", outcome="completed", output=output)
