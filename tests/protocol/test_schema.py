"""The schema document tells the truth about what goes over the wire."""

from typing import Any

import pytest
from jsonschema_rs import meta, validator_for

from abey.protocol.base import Wire, sha256_hex
from abey.protocol.journal import CallFinished
from abey.protocol.methods import METHODS
from abey.protocol.outcomes import Answer, Approve, Result
from abey.protocol.policy import Cache, Decorate, Defer, Rule, RunSync
from abey.protocol.requests import CompleteParams, StartParams
from abey.protocol.schema import NOTIFICATIONS, document, schema_hash
from abey.protocol.session import Session, TurnInfo, Usage
from abey.protocol.transcript import FilePart, ItemCall, Pending, TextPart

DOCUMENT = document()

NOW = "2026-01-01T00:00:00.000Z"

RULE = Rule(
    rule_id="r",
    tool="bash",
    disposition=Decorate(decorators=(Cache(key="k"),), inner=Defer(reason="look first")),
    scope="user",
    origin="a person",
    created_at=NOW,
    uses=0,
)
PENDING = Pending(
    token="0" * 32,
    session_id="s",
    turn_id="t",
    call_id="c",
    kind="approval",
    tool="bash",
    title="bash",
    arguments=None,
    arguments_hash="h",
    editable=True,
    cwd="/tmp",
    reason="look first",
    suggestions=(RULE,),
    created_at=NOW,
)
SESSION = Session(
    session_id="s",
    agent="demo",
    title="",
    cwd="/tmp",
    state="partialUserTurn",
    activity="idle",
    revision=7,
    turn=TurnInfo(turn_id="t", n=1, started_at=NOW),
    pending=(PENDING,),
    driven_by="step",
    execution_mode="asynchronous",
    usage=Usage(),
    created_at=NOW,
    updated_at=NOW,
    config_hash="h",
    config_state="ok",
)


def faults(name: str, value: Any) -> list[str]:
    validator = validator_for({**DOCUMENT, "$ref": f"#/$defs/{name}"})
    return [error.message for error in validator.iter_errors(value)]


def test_the_document_is_a_json_schema() -> None:
    meta.validate(DOCUMENT)
    assert DOCUMENT["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_document_names_every_method_and_notification() -> None:
    assert list(DOCUMENT["methods"]) == [method.name for method in METHODS]
    assert list(DOCUMENT["notifications"]) == list(NOTIFICATIONS)


def test_a_type_that_is_sent_and_received_has_one_schema() -> None:
    assert [name for name in DOCUMENT["$defs"] if not name.isalnum()] == []


def test_the_hash_is_that_of_the_document() -> None:
    assert schema_hash() == sha256_hex(DOCUMENT)


@pytest.mark.parametrize(
    "value",
    [
        SESSION,
        RULE,
        ItemCall(call_id="c", tool="bash", arguments=None, disposition=RunSync(), state="proposed"),
        StartParams(agent="demo", parts=(TextPart(text="hi"), FilePart(path="/tmp/a"))),
        CompleteParams(token="t", outcome=Approve(arguments={"deep": {"null": None}}), arguments_hash="h"),
        CompleteParams(token="t", outcome=Answer(value=None)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_written_is_what_the_schema_describes_and_reads_back(value: Wire) -> None:
    assert faults(type(value).__name__, value.wire()) == []
    assert type(value).model_validate(value.wire()) == value


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Disposition", "decorate", 1),
        ("Disposition", "runSync", 0),
        ("Disposition", {"tag": "defer", "reason": "ask"}, 0),
        ("Disposition", {"tag": "defer", "why": "ask"}, 1),
        ("Outcome", {"arguments": {}}, 1),
        ("State", "running", 1),
        ("SessionParams", {"sessionId": "s", "more": 1}, 1),
        ("AgentsClientCapabilities", {"protocolVersions": ["1.0"], "newer": 1}, 0),
    ],
)
def test_the_schema_refuses_what_the_daemon_refuses(name: str, value: Any, expected: int) -> None:
    assert len(faults(name, value)) == expected


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Result(content=None), {"kind": "result", "content": None}),
        (Result(content={"a": None}), {"kind": "result", "content": {"a": None}}),
        (
            CallFinished(call_id="c", outcome="completed", output=None),
            {"callId": "c", "outcome": "completed", "output": None},
        ),
        (Defer(), {"tag": "defer"}),
    ],
)
def test_a_member_that_must_be_there_may_be_null_and_one_that_need_not_is_left_out(value: Wire, written: Any) -> None:
    assert value.wire() == written
    assert type(value).model_validate(written) == value
