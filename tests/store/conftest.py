"""A session's records, from prompt to answer with one approved call, and one record of every type."""

from pathlib import Path

import pytest

from abey.protocol import journal as j
from abey.protocol.blocks import ProposedCall, TextBlock, ThinkingBlock
from abey.protocol.journal import Record, RecordData
from abey.protocol.outcomes import Approve, Result
from abey.protocol.policy import Decorate, Defer, Rule, RunSync, Timeout
from abey.protocol.seeds import Seed
from abey.protocol.session import Usage
from abey.protocol.transcript import Client, FilePart, MediaPart, Question, TextPart
from abey.runtime.store.codec import encode_unit

AT = "2025-11-29T12:00:00.000Z"
ODD = 'half \ud83d, \u2028 line, NUL \0, é 😀, \\ " \n {"at":'
THEIRS = {"z": None, "a": {"n": [None, 1.0, 1, 10**40, True]}, ODD: ODD}
SESSION = "01k0"

PERSON = Client(id="c1", name="Ann", kind="vscode")
RULE = Rule(
    rule_id="r1",
    tool=ODD,
    match={f"/{ODD}": THEIRS, "": [1.0, None]},
    disposition=RunSync(),
    scope="workspace",
    workspace=ODD,
    origin=ODD,
    created_at=AT,
    uses=0,
)
CREATED = j.Created(
    session_id=SESSION, agent="fixer", config=THEIRS, config_hash="0" * 64, cwd="/w", title="t", env={"PATH": "/bin"}
)
INPUT = j.Input(turn_id="t1", input_id="i1", parts=(TextPart(text=ODD), FilePart(path="/w/a")), client=PERSON)
REQUESTED = j.ModelRequested(turn_id="t1", step_id="s1", invocation_id="n1", request_hash="r", config_hash="c")
CANDIDATE = j.Candidate(
    turn_id="t1",
    step_id="s1",
    invocation_id="n1",
    blocks=(ThinkingBlock(text=ODD, signature="s", opaque=THEIRS), TextBlock(text="so")),
    calls=(ProposedCall(call_id="c1", tool="bash", arguments='{"b": 1,"a":NaN}', fault="not JSON"),),
    finish_reason="tool_calls",
    usage=Usage(input_tokens=3, output_tokens=4, cost=0.25),
    attempts=2,
)
DECIDED = j.CallDecided(
    call_id="c1",
    token="f" * 32,
    disposition=Decorate(decorators=(Timeout(seconds=3.5),), inner=Defer(reason="asks", expire_seconds=60)),
    rule=None,
    runnable=True,
    policy_hash="p",
    tool_hash="h",
    config_hash="c",
)
WAITING = j.Waiting(turn_id="t1", step_id="s2", call_ids=("c1",))
RESOLVED = j.CallResolved(call_id="c1", by="Ann", client=PERSON, outcome=Approve(arguments=THEIRS), arguments="{}")
STARTED = j.CallStarted(call_id="c1", invocation_id="n2", arguments_hash="a", child_id="child")
FINISHED = j.CallFinished(call_id="c1", invocation_id="n2", outcome="completed", output=[THEIRS], may_have_run=False)
RESULTS = j.ToolResults(turn_id="t1", step_id="s2", call_ids=("c1",))
FINAL = j.Final(turn_id="t1", step_id="s3")

SESSION_DATA: tuple[tuple[RecordData, ...], ...] = (
    (CREATED, INPUT, REQUESTED),
    (CANDIDATE, DECIDED, WAITING),
    (RESOLVED, STARTED),
    (FINISHED, RESULTS, REQUESTED),
    (FINAL,),
)

OTHER_DATA: tuple[RecordData, ...] = (
    j.InputQueued(input_id="i2", delivery="queue", parts=(MediaPart(mime_type="image/png", base64_data="AA=="),)),
    j.ModelFailure(turn_id="t1", step_id="s1", invocation_id="n1", code="timeout", message="m", attempts=1),
    j.CallDecided(**{**dict(DECIDED), "disposition": RunSync(), "rule": THEIRS, "expires_at": AT}),
    j.CallResolved(call_id="c1", by="Ann", outcome=Result(content=None)),
    j.CallExpired(call_id="c1"),
    j.CallAsked(call_id="c1", question=Question(kind="response", prompt="?", schema_={"type": "object", "a": None})),
    j.CallFinished(call_id="c1", outcome="failed", output=None, error="tool/timeout"),
    j.Cancelled(turn_id="t1", by="Ann"),
    j.Failed(turn_id="t1", end="limit", kind="budget/exhausted", message="m"),
    j.Stopped(by="Ann", reason="r", cancelled_calls=({"callId": "c1", "token": "f"},)),
    j.Continued(turn_id="t2", input_id="i3", client=PERSON),
    j.Withdrawn(input_id="i2", client=PERSON),
    j.Seeded(seed=Seed.model_validate({"transcript": [], "context": THEIRS, "turnCount": 2}), client=PERSON),
    j.Rewound(to=4, ran=("c1",), client=PERSON),
    j.Paused(by="Ann"),
    j.Resumed(by="Ann"),
    j.Skipped(),
    j.Answered(),
    j.Repaired(offset=1, cut_bytes=2, may_have_run=True),
    j.Compacted(turn_id="t1", invocation_id="n1", up_to=4, summary=ODD, usage=Usage(cost=0.5), attempts=1),
    j.Updated(title=ODD, archived=True, client=PERSON),
    j.RuleAdded(rule=RULE, client=PERSON),
    j.RuleRemoved(rule_id="r1", client=PERSON),
    j.Imported(format="agents-exe", source=ODD, original=ODD),
    j.CallFinished(call_id="c1", outcome="completed", output="o", whole=j.BlobRef(sha256="0" * 64, bytes=7)),
)


def _units(data: tuple[tuple[RecordData, ...], ...], first: int = 1) -> tuple[tuple[Record, ...], ...]:
    units = []
    for unit in data:
        units.append(tuple(Record(first + index, AT, each) for index, each in enumerate(unit)))
        first += len(unit)
    return tuple(units)


@pytest.fixture(scope="session")
def units() -> tuple[tuple[Record, ...], ...]:
    """Five units, 12 records."""
    return _units(SESSION_DATA)


@pytest.fixture(scope="session")
def every_record() -> tuple[tuple[Record, ...], ...]:
    """Every record type of the format at least once, each in a unit of its own."""
    flat = tuple((data,) for unit in SESSION_DATA for data in unit)
    return _units((*flat, *((data,) for data in OTHER_DATA)))


@pytest.fixture(scope="session")
def chunks(units: tuple[tuple[Record, ...], ...]) -> tuple[bytes, ...]:
    """The bytes of `units`, one write each."""
    crc, written, carried = 0, [], dict[str, str]()
    for unit in units:
        data, crc = encode_unit(unit, crc, carried=carried)
        written.append(data)
    return tuple(written)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the session of `units` belongs; not made yet."""
    return tmp_path / SESSION
