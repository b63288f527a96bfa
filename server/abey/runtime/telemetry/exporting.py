"""Traces that go out by OTLP, where the variables of OpenTelemetry say so."""

import logging
from collections.abc import Mapping

from abey.runtime.telemetry.retelling import retell
from abey.runtime.telemetry.wanted import fault_of, wants_content, wants_traces
from abey.runtime.tracing import NoTracing, Tracing

log = logging.getLogger(__name__)


def make_tracing(env: Mapping[str, str]) -> Tracing:
    """A MakeTracing; `env` is the environment of this process, which OpenTelemetry reads itself. What cannot be sent is
    no reason not to work."""
    if not wants_traces(env):
        return NoTracing()
    fault = fault_of(env)
    if fault is not None:
        log.warning("no traces are sent: %s", fault)
        return NoTracing()
    retell()
    try:
        return _exporting(env)
    except Exception as error:  # noqa: BLE001  the SDK raises what it likes at variables that it does not like
        named = ", ".join(sorted(name for name in env if name.startswith("OTEL_")))
        log.warning("no traces are sent: OpenTelemetry does not take one of %s (%s)", named, type(error).__name__)
        return NoTracing()


def _exporting(env: Mapping[str, str]) -> Tracing:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from abey.runtime.telemetry.spans import SpanTracing

    return SpanTracing(BatchSpanProcessor(OTLPSpanExporter()), wants_content(env))
