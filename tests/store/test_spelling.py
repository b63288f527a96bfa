"""What a line leaves out: members that have their default, and those that a record before it says."""

import json
import shutil
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from abey.core.replay import apply, fold
from abey.protocol import journal as j
from abey.protocol.base import Wire
from abey.protocol.blocks import ProposedCall, TextBlock, ThinkingBlock
from abey.protocol.journal import Record, RecordData, Skipped
from abey.protocol.outcomes import Approve, DenyCall, Rerun, Result
from abey.protocol.policy import Decorate, Defer, Deny, Label, PolicyRule, RunIsolated, RunSync, Timeout
from abey.protocol.session import Usage
from abey.protocol.transcript import Client, FilePart, TextPart
from abey.runtime.store.codec import Entry, Foreign, decode, encode_unit
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import Journal
from abey.runtime.store.recovery import Opened, load_journal, open_journal
from abey.runtime.store.references import BLOB_ABOVE, Deflater
from abey.runtime.store.scan import End, scan
from abey.runtime.store.spelling import deflated, plain, spelled

AT = "2025-11-29T12:00:00.000Z"
BEFORE = Path(__file__).parents[1] / "data" / "session-v1-spelled-out" / "s"
DISK = FileIO("process")


def made(model: type[Any], /, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(members).map(lambda found: model(**found))


ids = st.sampled_from(["a", "b", "é"])
text = st.text(st.characters(exclude_categories=()), max_size=4)
json_values = st.recursive(st.none() | st.booleans() | st.integers() | text, lambda inner: st.lists(inner, max_size=2))
clients = st.none() | made(Client, id=ids, name=text, kind=ids)
usages = made(Usage, input_tokens=st.integers(0, 2), cost=st.none() | st.floats(0, 1))
bare = made(RunSync) | made(Defer, reason=st.none() | text) | made(Deny) | made(RunIsolated)
decorators = st.lists(made(Timeout, seconds=st.floats(1, 9)) | made(Label, label=text), max_size=2).map(tuple)
dispositions = bare | made(Decorate, decorators=decorators, inner=bare)
rules = (
    made(PolicyRule, tool=ids, disposition=dispositions, serial=st.none() | st.booleans()).map(PolicyRule.wire)
    | st.builds(lambda name: {"extension": name}, ids)
    | json_values
)
blocks = made(TextBlock, text=text) | made(ThinkingBlock, text=text, opaque=json_values)
calls = made(ProposedCall, call_id=ids, tool=text, arguments=text, fault=st.none() | text)
outcomes = (
    made(Approve, arguments=st.none() | st.dictionaries(text, json_values, max_size=2))
    | made(Result, content=json_values)
    | made(DenyCall)
    | made(Rerun)
)
parts = st.lists(made(TextPart, text=text) | made(FilePart, path=text), max_size=2).map(tuple)
drivers = st.sampled_from(["step", "run"])
some = {"turn_id": ids, "step_id": ids}


def as_judged(data: j.CallDecided) -> j.CallDecided:
    """What a rule decided says what that says."""
    rule = PolicyRule(tool="t", disposition=data.disposition, expire_seconds=1)
    return data.model_copy(update={"reason": getattr(data.disposition, "reason", None), "rule": rule.wire()})


RECORDS: st.SearchStrategy[RecordData] = st.one_of(
    made(j.Input, turn_id=ids, input_id=ids, parts=parts, client=clients, repairs=st.none() | st.booleans()),
    made(j.ModelRequested, **some, invocation_id=ids, request_hash=ids, config_hash=ids, driven_by=drivers),
    made(
        j.Candidate,
        **some,
        invocation_id=ids,
        blocks=st.lists(blocks, max_size=2).map(tuple),
        calls=st.lists(calls, max_size=2).map(tuple),
        finish_reason=ids,
        usage=usages,
        attempts=st.integers(0, 2),
    ),
    made(
        j.CallDecided,
        call_id=ids,
        token=ids,
        disposition=dispositions,
        reason=st.none() | text,
        rule=rules,
        runnable=st.booleans(),
        policy_hash=ids,
        tool_hash=ids,
        config_hash=ids,
        idempotent=st.booleans(),
        isolation=st.none() | made(RunIsolated),
    ).flatmap(lambda data: st.sampled_from([data, as_judged(data)])),
    made(j.CallResolved, call_id=ids, by=ids, client=clients, outcome=outcomes, answers_question=st.booleans()),
    made(j.CallStarted, call_id=ids, invocation_id=ids, arguments_hash=ids),
    made(
        j.CallFinished,
        call_id=ids,
        invocation_id=st.none() | ids,
        outcome=st.just("completed"),
        output=json_values,
        may_have_run=st.none() | st.booleans(),
    ),
    made(j.ToolResults, **some, call_ids=st.lists(ids, max_size=2).map(tuple)),
    made(j.Waiting, **some, call_ids=st.lists(ids, max_size=2).map(tuple), driven_by=drivers),
    made(j.Final, **some),
    made(j.Cancelled, turn_id=ids, by=ids, attempts=st.integers(0, 1)),
    made(j.Repaired, offset=st.just(1), cut_bytes=st.just(1), may_have_run=st.booleans(), lost=st.just(((1, 2),))),
)


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def slowly(data: RecordData) -> dict[str, Any]:
    """What pydantic makes of it, without members that have their default, or that it says twice; lists and objects are
    there."""
    told, fields = data.wire(), type(data).model_fields
    lean = {
        field.serialization_alias or name: told[field.serialization_alias or name]
        for name, field in fields.items()
        if field.is_required() or isinstance(field.default, tuple | dict) or getattr(data, name) != field.default
    }
    return judged_once(lean) if isinstance(data, j.CallDecided) and data.runnable else lean


def judged_once(told: dict[str, Any]) -> dict[str, Any]:
    disposition, rule = told["disposition"], told.get("rule")
    if isinstance(disposition, dict) and "reason" in disposition:
        told = {**told, "reason": told.get("reason")}
        told = {key: value for key, value in told.items() if key != "reason" or value != disposition["reason"]}
    if isinstance(rule, dict) and rule.get("disposition") == disposition:
        told = {**told, "rule": {key: value for key, value in rule.items() if key != "disposition"}}
    return told


@settings(max_examples=300, deadline=None)
@given(RECORDS)
def test_a_record_is_spelled_as_pydantic_spells_it_without_what_has_its_default(data: RecordData) -> None:
    told = spelled(data, {})
    assert (as_json(told), list(told)) == (as_json(slowly(data)), sorted(told))


@settings(max_examples=100, deadline=None)
@given(RECORDS)
def test_where_nothing_is_large_a_record_is_spelled_alike_with_blobs(data: RecordData) -> None:
    deflater = Deflater(BLOB_ABOVE)
    assert json.dumps(deflated(data, {}, deflater)) == json.dumps(spelled(data, {}))
    assert (deflater.blobs, deflater.pointers) == ({}, [])


def test_every_record_type_is_spelled_as_pydantic_spells_it(every_record: tuple[tuple[Record, ...], ...]) -> None:
    for (record,) in every_record:
        assert as_json(spelled(record.data, {})) == as_json(slowly(record.data))


def test_what_stands_in_a_record_is_spelled_as_it_goes_over_the_wire(
    every_record: tuple[tuple[Record, ...], ...],
) -> None:
    inside = [value for (record,) in every_record for value in dict(record.data).values() if isinstance(value, Wire)]
    assert [as_json(plain(value)) for value in inside] == [as_json(value.wire()) for value in inside]


def exactly(units: Iterable[Sequence[Record]]) -> list[list[str]]:
    """All of every record: to Python, 1 is true."""
    return [
        [repr(replace(one, data=Skipped())) + json.dumps(one.data.wire(), sort_keys=True) for one in unit]
        for unit in units
    ]


def numbered(data: Iterable[Sequence[RecordData]]) -> list[tuple[Record, ...]]:
    found, rev = list[tuple[Record, ...]](), 1
    for unit in data:
        found.append(tuple(Record(rev + index, AT, each) for index, each in enumerate(unit)))
        rev += len(unit)
    return found


def written(units: Sequence[Sequence[Record]]) -> tuple[bytes, list[End]]:
    """The journal of these units, and where each of them ends."""
    data, end, carried, ends = b"", End(), dict[str, str](), list[End]()
    for unit in units:
        chunk, crc = encode_unit(unit, end.crc, {}, carried)
        data += chunk
        end = End(len(data), crc, unit[-1].rev, dict(carried))
        ends.append(end)
    return data, ends


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(RECORDS, min_size=1, max_size=3), min_size=1, max_size=6), st.data())
def test_a_journal_comes_back_as_it_was_from_its_beginning_and_from_the_end_of_any_unit(
    data: list[list[RecordData]], chosen: st.DataObject
) -> None:
    units = numbered(data)
    journal, ends = written(units)
    place = chosen.draw(st.integers(0, len(units)))
    found, rest = scan(journal), scan(journal, ends[place - 1] if place else End())
    assert (exactly(found.units), found.problem) == (exactly(units), None)
    assert exactly(rest.units) == exactly(units[place:])
    assert (found.end.carried, rest.end.carried) == (ends[-1].carried, ends[-1].carried)


def test_a_member_is_left_out_where_the_last_record_that_has_it_says_the_same() -> None:
    asked = j.ModelRequested(
        turn_id="t", step_id="s", invocation_id="n", request_hash="r", config_hash="c", driven_by="run"
    )
    said = j.Candidate(turn_id="t", step_id="s", invocation_id="n", finish_reason="stop")
    other = said.model_copy(update={"invocation_id": "m", "usage": Usage(input_tokens=1), "attempts": 2})
    waits = j.Waiting(turn_id="t", step_id="s", call_ids=(), driven_by="step")
    journal, _ = written(numbered([(asked,), (said,), (other,), (waits,)]))
    assert [json.loads(line[9:])["data"] for line in journal.splitlines()] == [
        {"configHash": "c", "drivenBy": "run", "invocationId": "n", "requestHash": "r", "stepId": "s", "turnId": "t"},
        {"blocks": [], "calls": [], "finishReason": "stop"},
        {
            "attempts": 2,
            "blocks": [],
            "calls": [],
            "finishReason": "stop",
            "invocationId": "m",
            "usage": {"inputTokens": 1, "outputTokens": 0},
        },
        {"callIds": [], "drivenBy": "step"},
    ]


def lines(*data: RecordData) -> list[dict[str, Any]]:
    return [json.loads(line[9:])["data"] for line in written(numbered([data]))[0].splitlines()]


DECIDED = j.CallDecided(
    call_id="c",
    token="k",
    disposition=Defer(reason="why"),
    reason="why",
    rule={"tool": "t", "disposition": {"tag": "defer", "reason": "why"}, "serial": True},
    policy_hash="p",
    tool_hash="h",
    config_hash="f",
)


def test_every_verdict_has_the_hashes_from_which_anybody_can_work_out_that_of_the_arguments() -> None:
    first, second = lines(DECIDED, DECIDED)
    told = {
        "callId": "c",
        "disposition": {"reason": "why", "tag": "defer"},
        "policyHash": "p",
        "rule": {"serial": True, "tool": "t"},
        "token": "k",
        "toolHash": "h",
    }
    assert (first, second) == ({**told, "configHash": "f"}, told)


def test_a_reason_of_a_verdict_is_left_out_where_its_disposition_says_it() -> None:
    reasons = ["why", "other", None]
    decided = [DECIDED.model_copy(update={"reason": reason}) for reason in reasons]
    bare = DECIDED.model_copy(update={"disposition": Defer(), "reason": None})
    assert [line.get("reason", "absent") for line in lines(*decided, bare)] == ["absent", "other", None, "absent"]
    [unit] = scan(written(numbered([[*decided, bare]]))[0]).units
    assert [one.data for one in unit] == [*decided, bare]


def test_a_rule_says_its_disposition_where_it_is_another_and_what_an_extension_says_has_none() -> None:
    rules: list[Any] = [DECIDED.rule, {"tool": "t", "disposition": "runSync"}, {"extension": "e"}, None]
    decided = [DECIDED.model_copy(update={"rule": rule}) for rule in rules]
    told = [{"tool": "t", "serial": True}, {"tool": "t", "disposition": "runSync"}, {"extension": "e"}, None]
    assert [line.get("rule") for line in lines(*decided)] == told
    [unit] = scan(written(numbered([decided]))[0]).units
    assert [one.data for one in unit] == decided


def test_a_large_reason_that_stands_three_times_is_one_blob_and_comes_back_to_all_of_them() -> None:
    reason = "x" * (BLOB_ABOVE + 1)
    decided = as_judged(DECIDED.model_copy(update={"disposition": Defer(reason=reason)}))
    blobs = dict[str, bytes]()
    line, _ = encode_unit((Record(1, AT, decided),), 0, blobs)
    found = decode(line[:-1], fetch=lambda reference: blobs[reference.sha256])
    assert (json.loads(line[9:])["blobs"], list(blobs.values())) == (["/disposition/reason"], [reason.encode()])
    assert isinstance(found, Entry)
    assert found.record.data == decided


def test_a_verdict_on_a_call_that_cannot_run_here_says_all() -> None:
    """As every line did once: what it lacks is not there."""
    decided = DECIDED.model_copy(update={"runnable": False})
    silent = decided.model_copy(update={"reason": None})
    assert [(line.get("reason"), line["rule"]) for line in lines(decided, silent)] == [
        ("why", DECIDED.rule),
        (None, DECIDED.rule),
    ]
    [unit] = scan(written(numbered([[decided, silent]]))[0]).units
    assert [one.data for one in unit] == [decided, silent]


def test_a_client_is_told_whole_where_the_last_one_was_another() -> None:
    ann, bob = Client(id="1", name="Ann", kind="cli"), Client(id="2", name="Bob", kind="cli")
    told = [line["client"] for line in lines(*(j.Withdrawn(input_id="i", client=one) for one in (ann, ann, bob, ann)))]
    assert told == [ann.wire(), {"id": "1"}, {"id": "2", "name": "Bob"}, {"id": "1", "name": "Ann"}]


@settings(max_examples=200, deadline=None)
@given(
    RECORDS,
    st.dictionaries(
        st.sampled_from(["turnId", "stepId", "invocationId", "drivenBy", "client.kind", "client.name"]), ids
    ),
)
def test_a_line_that_says_all_is_what_it_says_whatever_was_said_before(data: RecordData, said: dict[str, str]) -> None:
    """So every line was written once."""
    told = {
        "at": AT,
        "data": data.wire(),
        "first": 1,
        "last": 1,
        "prev": "00000000",
        "rev": 1,
        "type": data.type,
        "v": 1,
    }
    payload = json.dumps(told).encode()
    found = decode(b"%08x %b" % (zlib.crc32(payload), payload), carried=said)
    assert isinstance(found, Entry)
    assert repr(found.record) == repr(Record(1, AT, data))


def test_a_line_that_lacks_what_no_record_before_it_says_is_nobodys() -> None:
    line, _ = encode_unit((Record(1, AT, j.Final(turn_id="t", step_id="s")),), 0, None, {"turnId": "t", "stepId": "s"})
    assert decode(line[:-1], carried={"turnId": "t"}) == Foreign("not a valid final: stepId: Field required")
    alone = decode(line[:-1])
    assert isinstance(alone, Entry)
    assert alone.record.data == j.Final(turn_id="", step_id="")


def test_a_journal_in_which_every_line_says_all_opens_as_it_did() -> None:
    """It was written before anything was left out: what its lines say is what its records are."""
    journal = (BEFORE / "journal.jsonl").read_bytes()
    found = scan(journal)
    told = [json.loads(line[9:])["data"] for line in journal.splitlines()]
    records = [record for unit in found.units for record in unit]
    assert ([as_json(record.data.wire()) for record in records], found.problem) == (told, None)


def test_a_journal_of_before_goes_on_and_opens_from_its_snapshot_as_from_its_beginning(tmp_path: Path) -> None:
    directory = shutil.copytree(BEFORE, tmp_path / "s")
    opened = open_journal(DISK, directory, AT)
    assert isinstance(opened, Opened)
    last = opened.records[-1]
    again = Record(last.rev + 1, AT, last.data)
    opened.journal.append((again,))
    opened.journal.close()
    line = (directory / "journal.jsonl").read_bytes().splitlines()[-1]
    assert json.loads(line[9:])["data"] == {"callIds": ["call_9_1"]}
    reopened, loaded = open_journal(DISK, directory, AT), load_journal(DISK, directory, AT)
    assert isinstance(reopened, Opened) and isinstance(loaded, Opened)
    assert reopened.records == (*opened.records, again)
    session = loaded.base.snapshot.session if loaded.base.snapshot else None
    for record in loaded.records:
        session = apply(session, record)
    assert session == fold(reopened.records)


def test_a_journal_goes_on_from_a_snapshot_that_does_not_know_what_was_said(tmp_path: Path) -> None:
    """Who opens it from there says all of it once more."""
    units = numbered([(j.Created(session_id="s", agent="a", config={}, config_hash="c", cwd="/", title="t"),)])
    asked = j.ModelRequested(turn_id="t", step_id="s", invocation_id="n", request_hash="r", config_hash="c")
    Journal.create(DISK, tmp_path / "s", units[0]).close()
    path = tmp_path / "s" / "journal.jsonl"
    whole = path.read_bytes()
    end = scan(whole).end
    journal = Journal(DISK, path, End(end.size, end.crc, end.revision), whole)
    journal.append((Record(2, AT, asked),))
    assert json.loads(path.read_bytes().splitlines()[1][9:])["data"]["configHash"] == "c"
    assert scan(path.read_bytes()).units[1] == (Record(2, AT, asked),)
    journal.close()
