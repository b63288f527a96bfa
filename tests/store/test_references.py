"""Large values and the references in their place."""

import hashlib
import json
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abey.errors import TooLarge
from abey.protocol import journal as j
from abey.protocol.blocks import ProposedCall, TextBlock, ThinkingBlock
from abey.protocol.journal import Record, RecordData
from abey.protocol.outcomes import Approve
from abey.protocol.session import Usage
from abey.protocol.transcript import TextPart
from abey.runtime.store.codec import RECORD_LIMIT, Entry, Foreign, decode, encode_unit
from abey.runtime.store.references import BLOB_ABOVE, BlobLost, Reference

AT = "2025-11-29T12:00:00.000Z"
BIG = "x" * (BLOB_ABOVE + 1)
MANY = [[1, None, "é"]] * 4000


def finished(output: Any) -> j.CallFinished:
    return j.CallFinished(call_id="c", outcome="completed", output=output)


def written(data: RecordData) -> tuple[dict[str, Any], dict[str, bytes], bytes]:
    """The envelope of a record, its blobs and its line."""
    blobs: dict[str, bytes] = {}
    line, _ = encode_unit((Record(1, AT, data),), 0, blobs)
    return json.loads(line[9:]), blobs, line[:-1]


def read_back(line: bytes, blobs: dict[str, bytes]) -> Entry:
    def fetch(reference: Reference) -> bytes:
        if reference.sha256 not in blobs:
            raise BlobLost("missing")
        return blobs[reference.sha256]

    found = decode(line, fetch)
    assert isinstance(found, Entry), found
    return found


def name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_large_string_is_a_blob_and_its_line_names_it() -> None:
    envelope, blobs, line = written(finished(BIG))
    assert envelope == {
        "at": AT,
        "blobs": ["/output"],
        "data": {
            "callId": "c",
            "outcome": "completed",
            "output": {"bytes": len(BIG), "sha256": name(BIG.encode())},
        },
        "first": 1,
        "last": 1,
        "prev": "00000000",
        "rev": 1,
        "type": "call-finished",
        "v": 1,
    }
    assert list(envelope) == sorted(envelope)
    assert blobs == {name(BIG.encode()): BIG.encode()}
    assert read_back(line, blobs).record == Record(1, AT, finished(BIG))


def test_the_limit_is_of_bytes_and_what_has_as_many_stays_in_the_line() -> None:
    fits, over = "é" * (BLOB_ABOVE // 2), "é" * (BLOB_ABOVE // 2) + "x"
    assert [list(written(j.Failed(turn_id="t", end="failed", kind="k", message=text))[1]) for text in (fits, over)] == [
        [],
        [name(over.encode())],
    ]


def test_a_value_of_many_small_parts_is_one_blob_of_json() -> None:
    envelope, blobs, line = written(finished(MANY))
    text = json.dumps(MANY, separators=(",", ":")).encode()
    assert envelope["data"]["output"] == {"bytes": len(text), "json": True, "sha256": name(text)}
    assert blobs == {name(text): text}
    assert read_back(line, blobs).record == Record(1, AT, finished(MANY))


def test_a_large_string_in_a_small_value_is_taken_out_alone() -> None:
    value = {"a/b": [{"~x": BIG}], "n": 1.0, "z": None}
    envelope, blobs, line = written(finished(value))
    reference = {"bytes": len(BIG), "sha256": name(BIG.encode())}
    assert (envelope["blobs"], envelope["data"]["output"]) == (
        ["/output/a~1b/0/~0x"],
        {"a/b": [{"~x": reference}], "n": 1.0, "z": None},
    )
    assert repr(read_back(line, blobs).record) == repr(Record(1, AT, finished(value)))


def test_an_output_that_looks_like_a_reference_is_an_output() -> None:
    value = {"bytes": 3, "sha256": name(b"abc")}
    envelope, blobs, line = written(finished(value))
    assert ("blobs" in envelope, blobs, read_back(line, {name(b"abc"): b"abc"}).record) == (
        False,
        {},
        Record(1, AT, finished(value)),
    )


RECORDS: tuple[tuple[RecordData, list[str]], ...] = (
    (j.Input(turn_id="t", input_id="i", parts=(TextPart(text="a"), TextPart(text=BIG))), ["/parts/1/text"]),
    (
        j.Candidate(
            turn_id="t",
            step_id="s",
            invocation_id="n",
            blocks=(ThinkingBlock(text="a", opaque=MANY), TextBlock(text=BIG)),
            calls=(ProposedCall(call_id=BIG, tool="t", arguments=BIG),),
            finish_reason="stop",
            usage=Usage(),
            attempts=1,
        ),
        ["/blocks/0/opaque", "/blocks/1/text", "/calls/0/arguments", "/calls/0/callId"],
    ),
    (
        j.CallResolved(call_id="c", by="a", outcome=Approve(arguments={"k": MANY, "m": 1}), arguments=BIG),
        ["/arguments", "/outcome/arguments/k"],
    ),
    (
        j.Created(
            session_id="s", agent="a", config=MANY, config_hash="c", cwd="/", title="t", env={"LONG": BIG, "PATH": "/"}
        ),
        ["/config", "/env/LONG"],
    ),
    (j.ToolResults(turn_id="t", step_id="s", call_ids=("c", BIG)), ["/callIds/1"]),
    (j.Stopped(by="a", cancelled_calls=({"callId": BIG, "token": "f"},)), ["/cancelledCalls/0/callId"]),
)


@pytest.mark.parametrize(("data", "pointers"), RECORDS, ids=[data.type for data, _ in RECORDS])
def test_any_string_and_any_json_value_may_stand_in_a_blob_and_is_still_valid_without_it(
    data: RecordData, pointers: list[str]
) -> None:
    envelope, blobs, line = written(data)
    assert envelope["blobs"] == pointers
    assert read_back(line, blobs) == read_back(line, blobs)
    assert read_back(line, blobs).record == Record(1, AT, data)
    without = read_back(line, {})
    assert without.record is not None and without.record != Record(1, AT, data)
    assert len(without.lost) == len(pointers)


def test_a_missing_blob_is_shown_as_missing_and_one_that_never_was_a_value_as_damaged() -> None:
    _, blobs, line = written(finished(MANY))
    (sha256,) = blobs
    assert read_back(line, {}) == read_back(line, {})
    texts = [f"[{how}: blob {sha256}, {len(blobs[sha256])} bytes]" for how in ("missing", "damaged")]
    for found, text in zip((read_back(line, {}), read_back(line, {sha256: b"["})), texts, strict=True):
        assert (found.record, found.lost) == (Record(1, AT, finished(text)), (text,))


def test_a_record_of_many_middling_parts_fits_all_the_same() -> None:
    data = j.Input(
        turn_id="t", input_id="i", parts=tuple(TextPart(text=f"{n}" + "x" * (BLOB_ABOVE - 9)) for n in range(99))
    )
    _, blobs, line = written(data)
    assert (len(line) < RECORD_LIMIT, len(blobs)) == (True, 99)
    assert read_back(line, blobs).record == Record(1, AT, data)


def test_a_record_of_too_many_small_parts_is_refused_with_its_size() -> None:
    parts = tuple(TextPart(text="x" * 1000) for _ in range(1100))
    with pytest.raises(TooLarge) as refused:
        written(j.Input(turn_id="t", input_id="i", parts=parts))
    assert refused.value.data == {
        "kind": "too-large",
        "retryable": False,
        "record": "input",
        "bytes": 1_128_755,
        "limit": RECORD_LIMIT,
    }


def test_what_nests_too_deep_is_refused_in_a_blob_too() -> None:
    value: Any = MANY
    for _ in range(300):
        value = [value]
    with pytest.raises(TooLarge, match="nests deeper than 256 levels"):
        written(finished(value))


def test_brackets_in_a_text_that_is_a_blob_do_not_count_as_depth() -> None:
    text = "[" * (BLOB_ABOVE + 1)
    _, blobs, line = written(finished(text))
    assert read_back(line, blobs).record == Record(1, AT, finished(text))


def test_a_large_value_without_a_place_for_blobs_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for blobs"):
        encode_unit((Record(1, AT, finished(BIG)),), 0)


def test_a_number_that_json_does_not_know_is_refused_in_a_blob_too() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        written(finished([*MANY, float("nan")]))


REFERENCE = {"bytes": 1, "sha256": "a" * 64}


@pytest.mark.parametrize(
    ("pointers", "output"),
    [
        (["/other"], REFERENCE),
        (["output"], REFERENCE),
        ([""], REFERENCE),
        (["/output/0"], REFERENCE),
        (["/output/1"], [REFERENCE]),
        (["/output/-1"], [REFERENCE]),
        (["/output/0/0"], [REFERENCE]),
        (["/output"], "text"),
        (["/output"], {**REFERENCE, "sha256": "../../../../etc/passwd"}),
        (["/output"], {**REFERENCE, "sha256": "A" * 64}),
        (["/output"], {**REFERENCE, "bytes": "1"}),
        (["/output"], {**REFERENCE, "json": False}),
        (["/output"], {**REFERENCE, "more": 1}),
        (["/output", "/output"], REFERENCE),
    ],
)
def test_a_line_that_names_blobs_where_none_stand_is_nobodys(pointers: list[str], output: Any) -> None:
    envelope, _, _ = written(finished(output))
    payload = json.dumps({**envelope, "blobs": pointers}).encode()
    assert isinstance(decode(b"%08x %b" % (zlib.crc32(payload), payload)), Foreign)


any_text = st.text(st.characters(exclude_categories=()), max_size=6)
large_text = st.builds(lambda text, times: (text or "ab") * times, any_text, st.integers(8_000, 20_000))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text
    | large_text,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(any_text, inner, max_size=3)
        | st.builds(lambda one: [one] * 3000, any_text)
    ),
    max_leaves=6,
)


def halves(value: Any) -> Any:
    """A pair of surrogates that stand apart is one character once JSON has written it."""
    return json.loads(json.dumps(value))


@settings(max_examples=120, deadline=None)
@given(json_values)
def test_whatever_is_recorded_comes_back_as_it_was(value: Any) -> None:
    value = halves(value)
    data = j.CallResolved(call_id="c", by="a", outcome=Approve(arguments={"/~": value}))
    envelope, blobs, line = written(data)
    found = read_back(line, blobs)
    assert repr(found.record) == repr(Record(1, AT, data))
    assert (len(line) <= RECORD_LIMIT, line.isascii(), found.lost) == (True, True, ())
    assert envelope.get("blobs", []) == sorted(envelope.get("blobs", []))
    assert all(hashlib.sha256(content).hexdigest() == sha256 for sha256, content in blobs.items())
