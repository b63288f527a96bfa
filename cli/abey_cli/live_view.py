"""What goes on in a session at the moment, as its events tell it: events in, a view out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

TAIL = 8000
"""Characters of a stream that are kept: more than a terminal shows."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The end of what comes in pieces; `at` counts its characters so far."""

    text: str = ""
    at: int = 0

    def grown(self, offset: int, text: str) -> "Stream":
        """A piece that begins before the end makes what came void; one that begins after it shows the gap."""
        before = "" if offset < self.at else self.text if offset == self.at else f"{self.text}\n…\n"
        return Stream((before + text)[-TAIL:], offset + len(text))


@dataclass(frozen=True, slots=True)
class Running:
    """A call that runs since `since` (seconds of the caller's clock). `says` is how far it is, or what it waits for."""

    call_id: str
    tool: str
    arguments: str
    since: float
    printed: Stream = Stream()
    says: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """`began` is since when it does what it does; `thinking` and `answer` are those of the model call under way."""

    began: float
    activity: str = ""
    thinking: Stream = Stream()
    answer: Stream = Stream()
    calls: tuple[Running, ...] = ()
    queued: int = 0
    usage: Any = None


def view_of(session: Any, items: Sequence[Any], now: float) -> View:
    """Of a session as it is."""
    view = _with_session(View(now, session["activity"]), session)
    for item in items:
        view = _with_item(view, item, now)
    for call in session["pending"]:
        if call.get("outputSoFar"):
            view = _with_call(view, call["callId"], printed=Stream(call["outputSoFar"]))
    return view


def seen(view: View, event: Mapping[str, Any], now: float) -> View:
    """After an event of the session, as the member `event` of `agents/event` tells it; `activity` is what a summary
    says."""
    match event["type"]:
        case "item/delta" if event.get("kind") in ("thinking", "answer"):
            return _with_piece(_doing(view, "model", now), event["kind"], event["offset"], event["text"])
        case "item/started" | "item/updated" | "item/completed" if event.get("item"):
            return _with_item(view, event["item"], now)
        case "tool/progress":
            return _with_progress(view, event)
        case "activity":
            return _doing(view, event["activity"], now)
        case "usage":
            return replace(view, usage=event["usage"])
        case "session/updated":
            return _with_session(view, event["session"])
        case _:
            return view


def _doing(view: View, activity: str, now: float) -> View:
    return view if activity == view.activity else replace(view, activity=activity, began=now)


def _with_session(view: View, session: Any) -> View:
    view = replace(view, queued=len(session["queued"]), usage=session["usage"])
    for call in session["pending"]:
        if call.get("childId"):
            view = _with_call(view, call["callId"], says=call.get("reason", ""))
    return view


def _with_item(view: View, item: Any, now: float) -> View:
    if item["kind"] in ("thinking", "answer"):
        return _with_stream(view, item["kind"], Stream())
    call = item.get("call")
    if call is None:
        return view
    others = tuple(one for one in view.calls if one.call_id != call["callId"])
    if call["state"] != "running":
        return replace(view, calls=others)
    if len(others) < len(view.calls):
        return view
    arguments = json.dumps(call.get("effectiveArguments", call.get("arguments")), ensure_ascii=False)
    return replace(view, calls=(*others, Running(call["callId"], call["tool"], arguments, now)))


def _with_piece(view: View, kind: str, offset: int, text: str) -> View:
    stream = view.thinking if kind == "thinking" else view.answer
    return _with_stream(view, kind, stream.grown(offset, text))


def _with_stream(view: View, kind: str, stream: Stream) -> View:
    return replace(view, thinking=stream) if kind == "thinking" else replace(view, answer=stream)


def _with_progress(view: View, event: Mapping[str, Any]) -> View:
    found = next((one for one in view.calls if one.call_id == event["callId"]), None)
    if found is None:
        return view
    if "text" in event:
        return _with_call(view, found.call_id, printed=found.printed.grown(event["offset"], event["text"]))
    done = "" if event.get("progress") is None else f"{event['progress']:g}"
    of = "" if event.get("total") is None else f" of {event['total']:g}"
    return _with_call(view, found.call_id, says=" ".join(filter(None, (event.get("message"), f"{done}{of}"))))


def _with_call(view: View, call_id: str, **changes: Any) -> View:
    return replace(view, calls=tuple(replace(c, **changes) if c.call_id == call_id else c for c in view.calls))
