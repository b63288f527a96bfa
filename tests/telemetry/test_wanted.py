"""When traces are sent: what the variables of OpenTelemetry say, and whether the extra is there."""

import logging
import subprocess
import sys

import pytest

from abey.runtime.extras import way_to
from abey.runtime.telemetry import exporting, wanted
from abey.runtime.telemetry.retelling import retell
from abey.runtime.telemetry.spans import SpanTracing
from abey.runtime.telemetry.wanted import fault_of, wants_content, wants_traces
from abey.runtime.tracing import NoTracing

CREDENTIALS = "OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER"
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("env", "wants"),
    [
        ({}, False),
        (ENDPOINT, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "True"}, False),
        ({"OTEL_SERVICE_NAME": "abey"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
    ],
)
def test_traces_are_wanted_where_an_exporter_or_an_endpoint_is_named(env: dict[str, str], wants: bool) -> None:
    assert wants_traces(env) is wants


@pytest.mark.parametrize(
    ("said", "wants"),
    [("true", True), ("SPAN_ONLY", True), ("span_and_event", True), ("EVENT_ONLY", False), ("", False), ("1", False)],
)
def test_content_is_told_only_where_the_variable_says_so(said: str, wants: bool) -> None:
    assert wants_content({wanted.CAPTURE: said}) is wants
    assert not wants_content({})


def test_what_cannot_be_sent_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fault_of(ENDPOINT) is None
    assert fault_of({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": " "}) is None
    zipkin = {"OTEL_TRACES_EXPORTER": "zipkin"}
    assert fault_of(zipkin) == "OTEL_TRACES_EXPORTER is 'zipkin', and only otlp is spoken here"
    grpc = {**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    assert fault_of(grpc) == "the OTLP protocol is to be 'grpc', and only http/protobuf is spoken here"
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    assert fault_of(ENDPOINT) == f"the extra `otel` is not installed: {way_to('otel')}"


async def test_a_daemon_works_without_what_cannot_be_sent(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        made = [exporting.make_tracing(env) for env in ({}, {"OTEL_TRACES_EXPORTER": "zipkin"})]
    assert [type(one) for one in made] == [NoTracing, NoTracing]
    assert caplog.messages == ["no traces are sent: OTEL_TRACES_EXPORTER is 'zipkin', and only otlp is spoken here"]
    sends = exporting.make_tracing(ENDPOINT)
    assert isinstance(sends, SpanTracing)
    await sends.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [("OTEL_BSP_MAX_QUEUE_SIZE", "0"), ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "canary"), (CREDENTIALS, "canary")],
)
def test_a_daemon_works_with_variables_that_opentelemetry_does_not_take(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert isinstance(exporting.make_tracing({**ENDPOINT, name: value}), NoTracing)
    (said,) = caplog.messages
    named = ", ".join(sorted([*ENDPOINT, name]))
    assert said.startswith(f"no traces are sent: OpenTelemetry does not take one of {named} (")
    assert "canary" not in said


async def test_what_opentelemetry_logs_is_told_without_the_values(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "canary")
    await exporting.make_tracing(ENDPOINT).close()
    (said,) = caplog.messages
    assert said.startswith("opentelemetry.util.re: Header format invalid!")
    assert "canary" not in said


def test_numbers_and_kinds_of_errors_are_no_values(caplog: pytest.LogCaptureFixture) -> None:
    retell()
    exporter = logging.getLogger("opentelemetry.exporter")
    exporter.error("code: %s, reason: %s, %r in %.2fs", 401, "canary", OSError("canary"), 1.5)
    exporter.error("%(code)d %(reason)s", {"code": 500, "reason": "canary"})
    exporter.error("of %d", "canary")
    try:
        raise ValueError("canary")
    except ValueError:
        exporter.exception("failed")
    assert caplog.messages == [
        f"opentelemetry.exporter: {said}"
        for said in ("code: 401, reason: ..., 'OSError' in 1.50s", "500 ...", "of %d", "failed (ValueError)")
    ]


def test_nothing_of_it_is_imported_unless_traces_are_wanted() -> None:
    code = (
        "import sys; from abey.daemon.world import WORLD; WORLD.tracing({});"
        "print([name for name in sys.modules if name.startswith('opentelemetry.sdk')])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
