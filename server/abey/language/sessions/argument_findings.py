"""What is to be said of the document of a call: where it is no JSON, where it does not fit, who answered the call."""

from collections.abc import Iterator

from abey.language.sessions.arguments import schema_of, unwritten
from abey.protocol.transcript import ItemCall, Pending
from abey.runtime.agents.findings import Finding, quoted
from abey.runtime.agents.jsonc import BadSyntax, Document, parse
from abey.runtime.tools.arguments import argument_faults
from abey.shared.escaping import escape_line

ADVICE = {
    "external": "write the result in place of the arguments, then run the code action Complete with this result",
    "uncertain": "it may have run: write its result in place of the arguments, or run it again, or say that it failed",
    "question": "write the answer, then run the code action Answer",
}


def findings(pending: Pending, text: str) -> Iterator[Finding]:
    """Of a call that waits; errors in the order of the text, and what is to be done with it."""
    advice = ADVICE.get(pending.kind)
    if advice is not None and unwritten(pending, text):
        yield Finding(0, _first_line(text), "information", "call/waits", f"{quoted(pending.tool)}: {advice}")
    try:
        document = parse(text)
    except BadSyntax as fault:
        yield Finding(fault.start, fault.end, "error", "json/syntax", fault.message)
        return
    for twice in document.duplicates:
        yield Finding(twice.key.start, twice.key.end, "error", "json/duplicate", "this key stands twice", twice.pointer)
    schema = schema_of(pending)
    if schema is not None:
        yield from _misfits(schema, document)
    elif pending.kind == "approval" and not isinstance(document.value, dict):
        yield Finding(0, len(text), "error", "arguments/invalid", "arguments are a JSON object")


def answered(call: ItemCall | None, text: str) -> Finding:
    """Of a call that waits no more."""
    end = _first_line(text)
    if call is None:
        return Finding(0, end, "warning", "call/unknown", "there is no such call any more: nothing here is sent")
    decision = call.decision
    by = f", decided by {escape_line(decision.by)} at {decision.at}" if decision else ""
    message = f"the call of {quoted(call.tool)} is {call.state}{by}: nothing here is sent any more"
    return Finding(0, end, "warning", "call/answered", message)


def _misfits(schema: dict[str, object], document: Document) -> Iterator[Finding]:
    for fault in argument_faults(schema, document.value):
        span = document.values.get(fault.pointer) or document.values[""]
        if fault.about_key:
            span = document.keys.get(fault.pointer, span)
        yield Finding(span.start, span.end, "error", "arguments/invalid", fault.message, fault.pointer)


def _first_line(text: str) -> int:
    end = text.find("\n")
    return len(text) if end < 0 else end
