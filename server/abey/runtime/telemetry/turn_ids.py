"""The ids of the span of a turn: of the session and the turn alone, so that every daemon knows them."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.context import Context
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, Sampler
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from abey.core.session import Session


def span_of(session: Session, turn_id: str, sampler: Sampler) -> SpanContext:
    """The span that a turn has once it ends, whoever takes part in it. A turn that goes on from a revision to which the
    session went back is another one."""
    name = f"{session.id} {len(session.lines)} {turn_id}"
    digest = hashlib.sha256(name.encode()).digest()
    trace_id, span_id = int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")
    sampled = sampler.should_sample(None, trace_id, name).decision is Decision.RECORD_AND_SAMPLE
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)


def within(span: SpanContext) -> Context:
    """Where spans are begun that belong to that one."""
    return set_span_in_context(NonRecordingSpan(span), Context())


class TurnIds(RandomIdGenerator):
    """Chosen by chance, but for the spans of turns."""

    def __init__(self) -> None:
        self._next: SpanContext | None = None

    @contextmanager
    def of(self, span: SpanContext) -> Iterator[None]:
        """The span that is begun meanwhile is that one."""
        self._next = span
        try:
            yield
        finally:
            self._next = None

    def generate_trace_id(self) -> int:
        return super().generate_trace_id() if self._next is None else self._next.trace_id

    def generate_span_id(self) -> int:
        return super().generate_span_id() if self._next is None else self._next.span_id
