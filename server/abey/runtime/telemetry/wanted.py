"""What the variables of OpenTelemetry ask for; imports none of it."""

import importlib.util
from collections.abc import Mapping

from abey.runtime.extras import way_to

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

Env = Mapping[str, str]


def wants_traces(env: Env) -> bool:
    """Whether traces are to be sent: an exporter is named, or where to send them."""
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = env.get("OTEL_TRACES_EXPORTER", "").strip()
    return exporter != "none" if exporter else any(env.get(name, "").strip() for name in ENDPOINTS)


def wants_content(env: Env) -> bool:
    """Whether what is said to models and tools, and by them, may be in the traces."""
    return env.get(CAPTURE, "").strip().lower() in ("true", "span_only", "span_and_event")


def fault_of(env: Env) -> str | None:
    """Why the traces that are wanted cannot be sent, in a line, or None."""
    exporter = env.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    protocol = next((said for name in PROTOCOLS if (said := env.get(name, "").strip())), "http/protobuf")
    if exporter != "otlp":
        return f"OTEL_TRACES_EXPORTER is {exporter!r}, and only otlp is spoken here"
    if protocol != "http/protobuf":
        return f"the OTLP protocol is to be {protocol!r}, and only http/protobuf is spoken here"
    return None if is_installed() else f"the extra `otel` is not installed: {way_to('otel')}"


def is_installed() -> bool:
    """Whether the extra is there. Imports no more than the folder that it is in."""
    try:
        return importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False
