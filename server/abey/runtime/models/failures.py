"""What a provider's failure means: its status and its words to one of the model codes (protocol.md, Errors)."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from abey.errors import ModelFailed

_BY_STATUS = {
    401: "auth",
    402: "auth",
    403: "auth",
    408: "timeout",
    409: "transient",
    413: "context-overflow",
    425: "transient",
    429: "rate-limited",
    503: "overloaded",
    504: "timeout",
    524: "timeout",
    529: "overloaded",
}

_MAY_BE_THE_KEY = (401, 402, 403, 404)

_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (code, re.compile(pattern, re.IGNORECASE))
    for code, pattern in (
        ("invalid-output", r"tool_use_failed|output_parse_failed|json_validate_failed"),
        (
            "content-policy",
            r"content.?filter|content.?polic|content management policy|responsibleai|data_inspection_failed"
            r"|\bflagged\b|safety system|usage polic|moderation",
        ),
        (
            "context-overflow",
            r"context_length_exceeded|exceed_context_size|context.?(length|window|size|limit)"
            r"|(prompt|input) (is |was )?too long|maximum prompt length|max(imum)? (context|number of (input )?tokens)"
            r"|input token count.*exceed|too many (input )?tokens|reduce the length of",
        ),
        ("rate-limited", r"rate.?limit|too many requests|insufficient_quota|exceeded your current quota|throttl"
                         r"|resource_exhausted|tokens per (minute|day)"),
        ("overloaded", r"overloaded|service.?unavailable|(at|over) capacity|capacity exceeded"
                       r"|insufficient_system_resource|server is busy|no available (server|worker)"),
        ("timeout", r"timeout_error|request.?time.?out|timed out|deadline.?exceeded"),
        (
            "auth",
            r"authentication|invalid_api_key|(invalid|incorrect|missing|no|expired).{0,12}api.?key|api.?key not valid"
            r"|unauthori[sz]ed|permission_(error|denied)|credit balance|insufficient.?(balance|credits|funds)",
        ),
    )
)  # fmt: skip
_STRUCTURED = {
    "request_too_large": "context-overflow",
    "invalid_request_error": "invalid-request",
    "not_found_error": "invalid-request",
    "model_not_found": "invalid-request",
    "billing_error": "auth",
    "api_error": "transient",
    "server_error": "transient",
    "internal_error": "transient",
}


def failure_of(
    status: int | None, body: Any, details: Mapping[str, Any], asked: str = "the provider", key: str = ""
) -> ModelFailed:
    """The failure that an answer with `status`, or an error inside an answer (None), tells of.

    `body` is the answer's JSON value, or its text where it is none. `details` go into the failure's data. `asked` names
    who was asked, `key` says of a refusal whether it was with one. The message is the provider's own: it is not to be
    shown before it was made harmless.
    """
    fault = _fault(body)
    status = _status_in(fault) if status is None else status
    code = _code(status, fault)
    said = _message(fault)
    said = said or ("redirects are not followed; correct baseUrl" if 300 <= (status or 0) < 400 else "")
    words = f": {said}" if said else ""
    shown_key = f" ({key})" if key and status in _MAY_BE_THE_KEY else ""
    answered = "an error in its answer" if status is None else f"status {status}{shown_key}"
    more = {} if status is None else {"httpStatus": status}
    return ModelFailed(code, f"{asked} gave {answered}{words}", **more, **details)


def finish_failure(reason: str) -> ModelFailed | None:
    """The failure that a reason for the end of an answer tells of; None for an answer that counts."""
    word = reason.lower()
    if re.search(r"content.?filter|safety|recitation|prohibited|blocklist|spii|sensitive", word):
        return ModelFailed("content-policy", "the answer was stopped by a content filter")
    if re.search(r"overload|insufficient_system_resource", word):
        return ModelFailed("overloaded", f"the provider broke the answer off: {reason}")
    if word in ("error", "failed", "abort", "network_error"):
        return ModelFailed("transient", f"the provider broke the answer off: {reason}")
    if re.search(r"malformed_(function|tool)_?call", word):
        return ModelFailed("invalid-output", "the provider says that the model made a malformed tool call")
    return None


def cut_off(what: str) -> ModelFailed:
    """An answer that ended before it was whole."""
    return ModelFailed("transient", f"the answer broke off: {what}")


def json_of(data: bytes) -> Any:
    """The JSON value of a body, or its text where it is none."""
    text = data.decode("utf-8", "replace").strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _fault(body: Any) -> Any:
    """The part of a body that tells of the failure."""
    if isinstance(body, list) and body:
        return _fault(body[0])
    if isinstance(body, dict):
        for name in ("error", "errors", "detail"):
            if body.get(name):
                inner = body[name]
                return inner[0] if isinstance(inner, list) else inner
    return body


def _code(status: int | None, fault: Any) -> str:
    """Words first: a 400 may be a context that overflows, a 429 never is anything else than what it says."""
    by_status = _BY_STATUS.get(status or 0)
    if by_status in ("rate-limited", "overloaded", "timeout"):
        return by_status
    for text in (" ".join(_labels(fault)), f"{_message(fault)} {_raw(fault)}"):
        for code, pattern in _WORDS:
            if pattern.search(text) and _plausible(code, status):
                return code
    if by_status is not None:
        return by_status
    for label in _labels(fault):
        if label.lower() in _STRUCTURED:
            return _STRUCTURED[label.lower()]
    if status is None:
        return "transient"
    return "transient" if status >= 500 else "invalid-request"


def _plausible(code: str, status: int | None) -> bool:
    """Whether words of `code` can be meant beside `status`: a server's own fault is not the request's."""
    if status is None:
        return True
    if status in (401, 402):
        return code == "auth"
    return status < 500 or code in ("context-overflow", "overloaded", "timeout", "rate-limited")


def _labels(fault: Any) -> Iterator[str]:
    """The words for machines: type, code, status."""
    if isinstance(fault, dict):
        for name in ("type", "code", "status", "reason"):
            if isinstance(fault.get(name), str):
                yield fault[name]
        if isinstance(fault.get("innererror"), dict):
            yield from _labels(fault["innererror"])


def _message(fault: Any) -> str:
    """The words for people, "" where there are none; a page of HTML is none."""
    if isinstance(fault, str):
        return "" if fault.lstrip().startswith("<") else fault
    if isinstance(fault, dict):
        for name in ("message", "msg", "detail", "error", "error_description", "code", "type"):
            if isinstance(fault.get(name), str | dict) and fault[name]:
                return _message(fault[name])
    return ""


def _raw(fault: Any) -> str:
    """What a provider behind the provider said."""
    metadata = fault.get("metadata") if isinstance(fault, dict) else None
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return raw if isinstance(raw, str) else ""


def _status_in(fault: Any) -> int | None:
    """The HTTP status that an error inside an answer names."""
    if isinstance(fault, dict):
        for name in ("status_code", "code", "status", "http_status"):
            found = fault.get(name)
            if isinstance(found, str) and re.fullmatch(r"[45]\d\d", found):
                found = int(found)
            if isinstance(found, int) and 400 <= found <= 599:
                return found
    return None
