"""What journals say of what may never happen, whatever the daemon remembers: they are read by a reader of their own."""

from collections.abc import Iterator, Sequence

from support.e2e_journal import Line

ENDS = ("final", "cancelled", "failed", "stopped")


FINAL = ("deny", "result", "error", "cancel")
"""Outcomes after which a call is over; the others may be followed by one of these."""


def unfinal(lines: Sequence[Line]) -> tuple[set[int], set[str]]:
    """The revisions of resolutions that are not the last word on their call, and the tokens of calls that asked
    somebody: what was answered to these was perhaps no last word either."""
    tokens = {line.data["callId"]: line.data["token"] for line in lines if line.type == "call-decided"}
    resolved = [line for line in lines if line.type == "call-resolved"]
    revisions = {line.record["rev"] for line in resolved if line.data["outcome"]["kind"] not in FINAL}
    asked = [line for line in resolved if line.data.get("answersQuestion")]
    asked += [line for line in lines if line.type == "call-asked"]
    return revisions, {tokens[line.data["callId"]] for line in asked}


def faults_in(lines: Sequence[Line], *, deleted: bool) -> Iterator[str]:
    """What is broken, in sentences. A session that was `deleted` need not have come to its end."""
    yield from _answers(lines)
    yield from _calls(lines)
    yield from _permitted(lines)
    if not deleted:
        yield from _inputs(lines)


def _answers(lines: Sequence[Line]) -> Iterator[str]:
    """An answer is to the request that was asked last, and to none of a turn that has ended."""
    asked = None
    for line in lines:
        match line.type:
            case "model-requested":
                asked = line.data["invocationId"]
            case "candidate" | "model-failed":
                if line.data["invocationId"] != asked:
                    yield f"revision {line.record['rev']} is the answer to a request that is over"
                asked = None
            case "rewound" | "seeded":
                asked = None
            case end if end in ENDS:
                asked = None


def _calls(lines: Sequence[Line]) -> Iterator[str]:
    """A call that somebody denied never starts, and what ends is what was started."""
    started, denied = dict[str, str](), set[str]()
    for line in lines:
        call_id = line.data.get("callId", "")
        match line.type:
            case "call-decided":
                denied.discard(call_id)  # after a rewind it is another call
            case "call-resolved" if line.data["outcome"]["kind"] == "deny":
                denied.add(call_id)
            case "call-started":
                if call_id in denied:
                    yield f"call {call_id} was denied, and starts at revision {line.record['rev']}"
                started[call_id] = line.data["invocationId"]
            case "call-finished" if line.data.get("invocationId"):
                if started.get(call_id) != line.data["invocationId"]:
                    yield f"revision {line.record['rev']} ends what {call_id} was not started as"


def _permitted(lines: Sequence[Line]) -> Iterator[str]:
    """A call starts only where it was judged on this line, and where whoever was to be asked first has let it."""
    judged, wanted = set[str](), dict[str, set[str]]()
    for line in lines:
        call_id = line.data.get("callId", "")
        match line.type:
            case "candidate":
                judged -= {one["callId"] for one in line.data.get("calls", ())}
                wanted = {one["callId"]: {one["kind"]} for one in line.data.get("verdicts", ())}
            case "rewound" | "seeded":
                judged, wanted = set(), {}
            case "call-decided":
                judged.add(call_id)
                if "defer" in (line.data["disposition"], _tag(line.data["disposition"])):
                    wanted.setdefault(call_id, set()).add("approve")
            case "call-resolved":
                answer = "ask" if line.data.get("answersQuestion") else "approve"
                wanted.get(call_id, set()).discard(answer)
            case "call-started":
                if call_id not in judged:
                    yield f"call {call_id} starts at revision {line.record['rev']}, and nobody has judged it"
                if missing := sorted(wanted.get(call_id, ())):
                    yield f"call {call_id} starts at revision {line.record['rev']} in spite of {', '.join(missing)}"


def _tag(disposition: object) -> object:
    return disposition.get("tag") if isinstance(disposition, dict) else None


def _inputs(lines: Sequence[Line]) -> Iterator[str]:
    """In a session that was stopped every input that was queued has come to an end."""
    queued, is_stopped = list[str](), False
    for line in lines:
        named = line.data.get("inputId", "")
        if line.type == "input-queued":
            queued.append(named)
        elif line.type in ("input", "withdrawn") and named in queued:
            queued.remove(named)
        is_stopped = is_stopped or line.type == "stopped"
    if queued and not is_stopped:
        yield f"the queued inputs {', '.join(queued)} have come to no end"
