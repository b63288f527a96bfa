"""docs/protocol.md says what the code says."""

import re
from typing import Any

import pytest
from pydantic.alias_generators import to_camel
from support.pages import DOCS, ROOT, first_column, sections

from abey.protocol import handshake, outcomes, session, transcript
from abey.protocol.base import Wire
from abey.protocol.methods import METHODS, Method
from abey.protocol.notifications import CONFIG_CHANGED, DAEMON, EVENT, OVERFLOW, SUMMARY
from abey.rpc.faults import INTERNAL_ERROR, RpcFault
from abey.shared.kinds import CODES, MODEL_CODES

PAGE = DOCS / "protocol.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = sections(PAGE)

SHAPES: dict[str, tuple[type[Wire], set[str]]] = {
    "AgentsClientCapabilities": (handshake.AgentsClientCapabilities, set()),
    "InitializationOptions": (handshake.InitializationOptions, set()),
    "AgentsServerCapabilities": (handshake.AgentsServerCapabilities, set()),
    "Session": (session.Session, set()),
    "Pending": (transcript.Pending, set()),
    "Item": (transcript.Item, set()),
    "ItemCall": (transcript.ItemCall, {"outputBytes"}),
    "Resolution": (outcomes.Resolution, set()),
}
"""The headings that describe a type, and the members which nothing sets yet."""

OUTCOMES = {"approve", "deny", "result", "error", "cancel", "rerun", "answer"}


def members(kind: type[Wire]) -> set[str]:
    return {field.serialization_alias or to_camel(name) for name, field in kind.model_fields.items()}


def test_the_page_names_every_method_and_no_other() -> None:
    named = set(re.findall(r"(?<![\w/])agents/[a-z]+(?:/[a-z]+)?", TEXT, re.IGNORECASE))
    assert named == {method.name for method in METHODS} | {EVENT, SUMMARY, OVERFLOW, CONFIG_CHANGED, DAEMON}


def test_every_method_has_a_section_of_its_own() -> None:
    assert [name for name in SECTIONS if name.startswith("agents/")] == [method.name for method in METHODS]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_section_of_a_method_names_its_params_and_its_result(method: Method[Any, Any]) -> None:
    text = SECTIONS[method.name]
    if "same params as `agents/run`" not in text:
        assert set(first_column(text)) == members(method.params) - {"ifRevision", "idempotencyKey"}
    answer = re.search(r"Answers `\{([^}]*)\}`", text)
    if answer is not None:
        assert set(re.findall(r"\w+", answer[1])) == members(method.result) - {"replayed", "interrupted"}


@pytest.mark.parametrize("heading", SHAPES)
def test_a_shape_has_the_members_of_its_type(heading: str) -> None:
    kind, unset = SHAPES[heading]
    assert set(first_column(SECTIONS[heading])) == members(kind) - unset


def test_the_outcomes_are_those_that_can_be_said() -> None:
    assert set(first_column(SECTIONS["Outcome"])) == OUTCOMES
    assert {kind.model_fields["kind"].default for kind in outcomes.AnyOutcome.__args__} == OUTCOMES


def test_the_page_has_every_error_with_its_code() -> None:
    rows = re.findall(r"^\| (-31\d{3}) \| `([a-z/<>-]+)` \|", TEXT, re.M)
    assert {kind.replace("/<code>", ""): int(code) for code, kind in rows} == CODES


def test_the_page_has_every_error_of_the_plumbing_with_its_kind() -> None:
    rows = re.findall(r"^\| (-32\d{3}) \| `([a-z-]+)` \|", TEXT, re.M)
    faults = {fault.kind: fault.code for fault in RpcFault.__subclasses__()}
    assert {kind: int(code) for code, kind in rows} == {**faults, "internal": INTERNAL_ERROR}


def test_the_page_has_every_model_error() -> None:
    assert re.findall(r"^\| `model/([a-z-]+)` \|", TEXT, re.M) == list(MODEL_CODES)


def test_the_page_has_every_type_of_event() -> None:
    projection = (ROOT / "server/abey/core/projection.py").read_text(encoding="utf-8")
    types = set(re.findall(r'"((?:session|turn|item|pending|input)/[a-z]+|usage|note|tripwire)"', projection))
    assert set(first_column(SECTIONS["Events"])) == types
