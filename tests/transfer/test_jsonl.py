"""JSON lines: a session that needs nothing beside its file, out and in again."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.world import World, answer

from abey.core import events as e
from abey.core.invariants import check
from abey.core.machine import Machine
from abey.core.replay import fold, recover
from abey.core.session import open_calls
from abey.core.views import items, session_view
from abey.errors import AbeyError, InvalidArguments, InvalidSeed
from abey.protocol import journal as j
from abey.protocol.base import sha256_hex
from abey.runtime.store.io import FileIO
from abey.runtime.store.store import Store
from abey.runtime.transfer.agents_exe_export import export_text
from abey.runtime.transfer.exporting import export
from abey.runtime.transfer.formats import read_source
from abey.runtime.transfer.jsonl import Journalled, read_lines
from abey.runtime.transfer.markdown import export_document
from abey.runtime.transfer.moving import Arrival, moved, tokens_of

AT = "2026-01-01T00:00:00.000Z"
LATER_ON = "2026-02-01T00:00:00.000Z"
CONFIG = {"slug": "a", "model": {"provider": "scripted", "script": []}}
HASH = sha256_hex(CONFIG)
LATER = {**CONFIG, "description": "later"}
WHOLE = b"all of it\n" * 10
WHOLE_HASH = hashlib.sha256(WHOLE).hexdigest()
IO = FileIO("process")


def story(session_id: str = "s1") -> tuple[j.Record, ...]:
    """A session in the middle of a tool phase: a big result, one with more than the model was told, one call waits."""
    world = World()
    world.start("hello", e.STEP)
    world.model_says(answer(("a", "run", "{}"), ("b", "safe", "{}"), ("c", "ask", "{}"), text="é\ud83d"))
    world.drive()
    world.tool_ends("run", "x" * 100_000)
    world.tool_ends("safe", "short")
    return tuple(j.Record(record.rev, AT, at_home(record.data, session_id)) for record in world.records)


def at_home(data: j.RecordData, session_id: str) -> j.RecordData:
    match data:
        case j.Created():
            return data.model_copy(update={"session_id": session_id, "config": CONFIG, "config_hash": HASH})
        case j.ModelRequested() | j.CallDecided():
            return data.model_copy(update={"config_hash": sha256_hex(LATER)})
        case j.CallFinished(call_id="b"):
            blob = j.BlobRef(sha256=WHOLE_HASH, bytes=len(WHOLE))
            return data.model_copy(update={"whole": blob})
        case _:
            return data


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A state directory with the session s1, its configs and its whole output."""
    store = Store(tmp_path / "state", IO)
    store.save_config(sha256_hex(LATER), LATER)
    journal = store.create("s1", story()[:4], {WHOLE_HASH: WHOLE})
    journal.append(story()[4:])
    journal.close()
    return store


def lines_of(store: Store, session_id: str = "s1") -> bytes:
    return b"".join(export(store, session_id, None, "jsonl").pieces)


def arrival(**more: Any) -> Arrival:
    known: dict[str, Any] = {
        "cwd": "/here",
        "env": {"HOME": "/h"},
        "agent_file": None,
        "agent": None,
        "workspace": None,
    }
    return Arrival(**{**known, "now": AT, "entropy": bytes(32), **more})


IMPORTED = j.Imported(format="jsonl", source="f")


def test_every_line_is_plain_json_and_nothing_lies_beside(store: Store) -> None:
    values = [json.loads(line) for line in lines_of(store).decode("ascii").splitlines()]
    records = [value for value in values if "rev" in value]
    assert [(value["rev"], value["type"]) for value in records] == [
        (record.rev, record.data.type) for record in story()
    ]
    assert {tuple(value) for value in records} == {("v", "rev", "at", "type", "data")}
    assert [value["type"] for value in values if "rev" not in value] == ["config", "whole", "end"]
    assert "x" * 100_000 in {value["data"].get("output") for value in records if value["type"] == "call-finished"}


def test_what_went_out_comes_in_the_same(store: Store) -> None:
    held = read_lines("f", lines_of(store))
    assert held == Journalled(list(story()), {sha256_hex(LATER): LATER}, {WHOLE_HASH: WHOLE})


def test_a_journal_as_it_lies_in_its_folder_comes_in_the_same(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions" / "s1" / "journal.jsonl"
    assert read_source(IO, path, None) == read_lines("f", lines_of(store))


def test_under_the_same_id_the_tokens_stay_and_what_was_open_is_in_doubt(store: Store) -> None:
    records = moved(story(), arrival(now=LATER_ON), IMPORTED, "s1")
    assert tokens_of(records) == tokens_of(story())
    session = fold(records)
    assert session is not None
    assert (records[0].at, session.created_at) == (AT, LATER_ON)  # it was made here when it came
    assert (session.created.cwd, session.created.env, records[-1].data) == ("/here", {"HOME": "/h"}, IMPORTED)
    assert [call.call_id for call in open_calls(session)] == ["c"]


def test_on_whose_trust_an_agent_depends_is_said_by_where_it_lies_here_and_not_by_the_file(store: Store) -> None:
    first = story()[0].data
    assert isinstance(first, j.Created)
    here = (replace(story()[0], data=first.model_copy(update={"workspace": "/theirs"})), *story()[1:])
    arrived = [moved(here, arrival(workspace=one), IMPORTED, "s2")[0].data for one in ("/ours", None)]
    assert [one.workspace for one in arrived if isinstance(one, j.Created)] == ["/ours", None]


def test_under_another_id_every_token_is_another(store: Store) -> None:
    records = moved(story(), arrival(), IMPORTED, "s2")
    assert set(tokens_of(records)).isdisjoint(tokens_of(story()))
    assert len(tokens_of(records)) == len(tokens_of(story()))
    assert all(len(token) == 32 for token in tokens_of(records))


def test_out_in_and_out_again_differs_in_ids_tokens_and_the_mark_alone(store: Store, tmp_path: Path) -> None:
    held = read_lines("f", lines_of(store))
    records = moved(held.records, arrival(), IMPORTED, "s2")
    there = Store(tmp_path / "there", IO)
    for config_hash, config in held.configs.items():
        there.save_config(config_hash, config)
    there.create("s2", records, held.wholes).close()
    again = read_lines("f", lines_of(there, "s2"))
    back = moved(again.records[:-1], arrival(), IMPORTED, "s1")[:-1]
    assert [plain(record) for record in back] == [plain(record) for record in held.records]
    assert (again.configs, again.wholes) == (held.configs, held.wholes)


def plain(record: j.Record) -> j.Record:
    """The record without what a move may change."""
    data = record.data
    match data:
        case j.Created():
            return replace(record, data=data.model_copy(update={"cwd": "", "env": {}}))
        case j.CallDecided():
            return replace(record, data=data.model_copy(update={"token": ""}))
        case _:
            return record


def test_a_stopped_session_names_the_new_tokens_of_what_it_left(store: Store) -> None:
    stopped = j.Stopped(by="me", cancelled_calls=({"callId": "c", "token": tokens_of(story())[-1]},))
    last = story()[-1]
    records = moved((*story(), j.Record(last.rev + 1, AT, stopped)), arrival(), IMPORTED, "s2")
    assert records[-2].data == stopped.model_copy(
        update={"cancelled_calls": ({"callId": "c", "token": tokens_of(records)[-1]},)}
    )


def broken(data: bytes) -> str:
    with pytest.raises(InvalidSeed) as refused:
        read_lines("f.jsonl", data)
    return refused.value.message


def test_every_file_that_was_cut_is_refused(store: Store) -> None:
    data = lines_of(store)
    ends = [at for at, byte in enumerate(data, 1) if byte == 10]
    for cut in {*range(400), *(end + by for end in ends[:-1] for by in (-1, 0, 1)), len(data) - 1}:
        assert broken(data[:cut]).startswith("f.jsonl:")


def test_a_hole_a_repeated_line_and_two_lines_that_changed_places_are_refused_by_their_line(store: Store) -> None:
    lines = [line for line in lines_of(store).splitlines(keepends=True) if b'"rev"' in line]
    assert broken(b"".join([*lines[:2], *lines[3:]])) == "f.jsonl:3: revision 4 stands where 3 belongs"
    assert broken(b"".join([*lines[:2], lines[1]])) == "f.jsonl:3: revision 2 stands where 3 belongs"
    assert broken(b"".join(lines[1:])) == "f.jsonl:1: a session begins with created, not with input"


def test_what_no_line_may_be_is_refused_by_its_line(store: Store) -> None:
    first = lines_of(store).splitlines(keepends=True)[0]
    for line, fact in {
        b"{}": "it has no format version `v`",
        b"[]": "it is no JSON object",
        b"nope": "it is not JSON: Expecting value: line 1 column 1 (char 0)",
        b'{"v":2}': "format version 2 is newer than 1, the newest known here",
        b'{"v":1,"type":"odd"}': "there is no record of type odd",
        b'{"v":1,"type":"final"}': "a record has a revision `rev` and a time `at`",
        b'{"v":1,"type":"final","rev":2,"at":"x","data":{}}': "not a valid final: turnId: Field required",
        b'{"v":1,"type":"config","hash":"00","config":{}}': "the agent config is not the one of its hash",
        b'{"v":1,"type":"whole","sha256":"00","base64":"QQ=="}': "the whole output is not the one of its SHA-256",
        b'{"v":1,"type":"whole","sha256":"00","base64":"?"}': "the whole output is no base64: "
        "Only base64 data is allowed",
        b"\xff": "byte 1 is no UTF-8",
        b'{"v":1,"x":NaN}': "it is not JSON: NaN is not JSON",
        b'{"v":1,"x":' + b"[" * 100_000: "it nests too deep",
    }.items():
        assert broken(first + line + b"\n") == f"f.jsonl:2: {fact}"


def test_what_cannot_have_been_is_refused(store: Store) -> None:
    def changed(at: int, **update: Any) -> str:
        records = list(story())
        record = records[at]
        records[at] = replace(record, data=record.data.model_copy(update=update))
        values = [
            {"v": 1, "rev": one.rev, "at": one.at, "type": one.data.type, "data": one.data.wire()} for one in records
        ]
        values.append({"v": 1, "type": "end", "last": records[-1].rev})
        return broken(b"".join(json.dumps(value).encode() + b"\n" for value in values))

    types = [record.data.type for record in story()]
    decided, finished = types.index("call-decided"), types.index("call-finished")
    assert changed(0, config={}) == "f.jsonl: the agent config of created is not the one of its hash"
    assert changed(decided, expires_at="soon") == f"f.jsonl: revision {decided + 1}: 'soon' is no time"
    assert changed(decided, token=tokens_of(story())[1]) == "f.jsonl: Every call has its own token"
    assert changed(finished, whole=j.BlobRef(sha256="../../x", bytes=1)) == (
        f"f.jsonl: revision {finished + 1}: '../../x' is no SHA-256"
    )
    assert changed(finished, call_id="odd") == (
        f"f.jsonl: record {finished + 1}: call-finished names call odd, which is not open"
    )


def test_an_original_that_is_no_session_file_is_refused() -> None:
    for original, records, fact in (
        ("{}", 1, "x.json: at /turns: nothing stands where a list belongs"),
        ("{", 1, "x.json: it is not JSON: "),
        (None, -1, "-1 is no number of records"),
    ):
        last = story()[-1]
        data = j.Imported(format="agents-exe", source="x.json", original=original, records=records)
        values = [
            {"v": 1, "rev": one.rev, "at": one.at, "type": one.data.type, "data": one.data.wire()}
            for one in (*story(), j.Record(last.rev + 1, AT, data))
        ]
        values.append({"v": 1, "type": "end", "last": last.rev + 1})
        message = broken(b"".join(json.dumps(value).encode() + b"\n" for value in values))
        assert message.startswith(f"f.jsonl: revision {last.rev + 1}: {fact}")


def test_a_journal_that_is_torn_or_damaged_is_refused_by_its_line(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions" / "s1" / "journal.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[:-3])
    with pytest.raises(InvalidSeed, match=r"journal\.jsonl:\d+: the line does not end; nothing of it was imported"):
        read_source(IO, path, None)
    path.write_bytes(data.replace(b"hello", b"jello"))
    with pytest.raises(InvalidSeed, match=r"journal\.jsonl:\d+: the checksum does not match; nothing"):
        read_source(IO, path, "jsonl")


def test_a_damaged_session_goes_out_as_far_as_it_can_be_read_and_says_so(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions" / "s1" / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], lines[4].replace(b'"v":1', b'"v":7'), *lines[5:]]))
    out = export(store, "s1", None, "jsonl")
    offset = sum(map(len, lines[:4]))
    assert out.notes == (f"damaged at byte {offset}: the checksum does not match",)
    assert tuple(read_lines("f", b"".join(out.pieces)).records) == story()[:4]


def test_a_missing_blob_is_missing_in_the_file_and_the_note_says_so(store: Store, tmp_path: Path) -> None:
    for blob in (tmp_path / "state" / "sessions" / "s1" / "blobs").iterdir():
        blob.unlink()
    out = export(store, "s1", None, "jsonl")
    assert out.notes == ("missing or damaged blobs: 1", "missing or damaged whole outputs: 1")
    held = read_lines("f", b"".join(out.pieces))
    assert held.wholes == {}
    assert any("[missing: blob" in str(record.data.wire().get("output")) for record in held.records)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("# A session\n", "a markdown document is for people, and cannot be imported; jsonl and agents-exe can"),
        ("hello", "f is neither JSON nor JSON lines; say its format"),
        ("", "f is neither JSON nor JSON lines; say its format"),
    ],
)
def test_a_file_of_no_format_is_refused(tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(InvalidArguments) as refused:
        read_source(IO, tmp_path / "f", None)
    assert refused.value.message == error


def test_a_mark_at_the_beginning_of_a_file_is_no_part_of_it(store: Store, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf" + lines_of(store))
    assert read_source(IO, tmp_path / "f", None) == read_lines("f", lines_of(store))


def test_a_session_file_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b'{"turns": ["\xff"]}')
    with pytest.raises(AbeyError) as refused:
        read_source(IO, tmp_path / "f", None)
    assert refused.value.message == "f: byte 13 is no UTF-8"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "c", "completed", "runSync", AT]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["kind", "tag", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)
LINES = [{"v": 1, "rev": one.rev, "at": one.at, "type": one.data.type, "data": one.data.wire()} for one in story()]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_stands_in_any_place_of_a_file_is_a_session_that_can_be_shown_or_one_refusal(
    data: st.DataObject,
) -> None:
    values: list[Any] = json.loads(json.dumps([*LINES, {"v": 1, "type": "end", "last": LINES[-1]["rev"]}]))
    place: Any = values
    for _ in range(data.draw(st.integers(1, 6))):
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
        if not isinstance(place[key], dict | list) or not place[key]:
            break
        place = place[key]
    key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
    place[key] = data.draw(JSON)
    try:
        held = read_lines("f", b"".join(json.dumps(value).encode() + b"\n" for value in values))
    except InvalidSeed:
        return
    session = fold(moved(held.records, arrival(), IMPORTED, "s2"))
    assert session is not None
    machine = Machine(recover(session))
    check(machine)
    view = session_view(machine, None)
    assert [item.wire() for item in items(machine.session)] != [] or not session.turns
    assert view.session_id == "s2"
    assert "".join(export_document(session, held.records))
    assert export_text(session, held.records, None)
