"""What a failure means, how long to wait after it, and what is never said."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.core.conversation import AssistantMessage, CallMessage, ModelRequest, ResultMessage, UserMessage
from abey.protocol.transcript import TextPart
from abey.runtime.models.failures import failure_of, json_of
from abey.runtime.models.privacy import without_secrets
from abey.runtime.models.waits import MOST_MILLIS, retry_after_ms
from abey.shared.kinds import MODEL_CODES

NOW = datetime.fromisoformat("2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("headers", "millis"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7000),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "0.5"}, 500),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30_000),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:00 GMT"}, 0),
        ({"retry-after": "Thursday, 01-Jan-26 00:01:00 GMT"}, 60_000),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1500),
        ({"retry-after-ms": "0", "retry-after": "1"}, 1000),
        ({"retry-after-ms": "x", "retry-after": "1"}, 1000),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e300"}, MOST_MILLIS),
        ({"retry-after": "99999999999999999999"}, MOST_MILLIS),
        ({"retry-after": "Fri, 01 Jan 9999 00:00:00 GMT"}, MOST_MILLIS),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30"}, 30_000),
    ],
)
def test_how_long_to_wait_is_said_in_many_ways(headers: dict[str, str], millis: int | None) -> None:
    assert retry_after_ms(headers, NOW) == millis


@given(st.text(max_size=30), st.text(max_size=12))
def test_no_header_is_a_surprise(seconds: str, millis: str) -> None:
    found = retry_after_ms({"retry-after": seconds, "retry-after-ms": millis}, NOW)
    assert found is None or 0 <= found <= MOST_MILLIS


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "detail", "code", "type", "metadata", "raw", "status", "errors", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.one_of(st.none(), st.integers(300, 599)), ANY)
def test_every_body_is_some_failure(status: int | None, body: Any) -> None:
    failure = failure_of(status, body, {"retryAfterMs": 1})
    assert failure.model_code in MODEL_CODES
    assert failure.details["retryAfterMs"] == 1


def test_a_status_without_words_has_a_code_of_its_own() -> None:
    special = {
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
    plain = {status: "transient" if status >= 500 else "invalid-request" for status in range(300, 600)}
    assert {status: failure_of(status, "", {}).model_code for status in plain} == plain | special


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"error": {"message": "no such model"}}', ": no such model"),
        (b'{"error": "no such model"}', ": no such model"),
        (b'{"error": {"message": {"detail": "no such model"}}}', ": no such model"),
        (b'[{"error": {"message": "no such model"}}]', ": no such model"),
        (b'{"errors": [{"message": "no such model"}]}', ": no such model"),
        (b'{"detail": [{"msg": "no such model", "loc": []}]}', ": no such model"),
        (b'{"object": "error", "message": "no such model"}', ": no such model"),
        (b'{"error": {"code": "model_not_found"}}', ": model_not_found"),
        (b"no such model\n", ": no such model"),
        (b"<!doctype html><title>404</title>", ""),
        (b'{"error": {}}', ""),
        (b"\xff\xfe", ": \ufffd\ufffd"),
        (b"", ""),
    ],
)
def test_the_providers_own_words_are_passed_on(data: bytes, said: str) -> None:
    failure = failure_of(404, json_of(data), {})
    assert (failure.model_code, failure.message) == ("invalid-request", f"the provider gave status 404{said}")


REQUEST = ModelRequest(
    "You guard the secret recipe of grandmother",
    (
        UserMessage((TextPart(text="my password is hunter2-hunter2"), TextPart(text="CANARY-1"))),
        AssistantMessage((), (CallMessage("c", "t", '{"path": "/home/ada/diary.txt"}'),)),
        ResultMessage("c", "t", {"a": ["dear diary, today was long"]}, False),
    ),
    (),
    0,
)


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("wrong key: sk-abcdefgh12345678", "wrong key: …"),
        ("wrong key: sk-abcdefgh…", "wrong key: ……"),
        ("bad: my password is hunter2-hunter2!", "bad: …!"),
        ("bad: ssword is hunter2-hun", "bad: …"),
        ("bad: dear diary, today was", "bad:…"),
        ("at /home/ada/diary.txt", "at …"),
        ("near CANARY-1 there", "near … there"),
        ("the secret recipe of grandmother", "…"),
        ("This model's maximum context length is 8192", "This model's maximum context length is 8192"),
    ],
)
def test_a_message_repeats_neither_the_key_nor_the_conversation(message: str, left: str) -> None:
    shown = without_secrets(message, "sk-abcdefgh12345678", REQUEST)
    assert shown.replace(" ", "") == left.replace(" ", "")


@given(st.text(min_size=16, max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_sixteen_characters_of_what_was_said_never_come_back(said: str, before: str, after: str) -> None:
    request = ModelRequest(said, (), (), 0)
    shown = without_secrets(f"{before}{said}{after}", None, request)
    assert all(said[at : at + 16] not in shown for at in range(len(said) - 15))
