"""One connection: its life cycle, its requests in flight, and that it is nobody else's business."""

import asyncio
import json
import logging
from typing import Any

import pytest
from support.raw_peer import Message, Stage, connected, greeted, until

from abey.rpc.connection import LIMITS
from abey.rpc.framing import frame


def result(request_id: Any, value: Any) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


KINDS = {
    -32700: "parse-error",
    -32600: "invalid-request",
    -32601: "method-not-found",
    -32602: "invalid-params",
    -32002: "not-initialized",
    -32800: "cancelled",
}


def error(request_id: Any, code: int, message: str, more: Any = None) -> Message:
    """One of JSON-RPC's own has its kind; `more` is the rest of its data."""
    own = {"kind": KINDS[code], "retryable": False} if code in KINDS else {}
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "error": {"code": code, "message": message, "data": {**own, **(more or {})}},
    }


async def test_nothing_is_answered_before_initialize_but_initialize() -> None:
    async with connected(Stage()) as link:
        before = await link.peer.reply("agents/echo", {})
        await link.peer.initialize()
        after = await link.peer.reply("agents/echo", {})
    assert (before, after) == (error("own", -32002, "the first request is initialize"), result("own", {"value": None}))


async def test_initialize_is_answered_once() -> None:
    async with greeted(Stage()) as link:
        assert await link.peer.initialize() == error("own", -32600, "initialize was answered before")


async def test_requests_may_follow_initialize_at_once() -> None:
    async with connected(Stage()) as link:
        link.peer.ask(1, "initialize", {"capabilities": {}})
        link.peer.ask(2, "agents/echo", {"value": 2})
        assert [(await link.peer.message())["id"] for _ in range(2)] == [1, 2]


async def test_shutdown_is_answered_null_and_then_only_exit_is_taken() -> None:
    async with greeted(Stage()) as link:
        bye = await link.peer.reply("shutdown")
        late = await link.peer.reply("agents/echo", {})
        link.peer.notify("exit")
        end = await link.peer.message()
    assert (bye, late, end, await link.end) == (
        result("own", None),
        error("own", -32600, "nothing but exit comes after shutdown"),
        None,
        0,
    )


async def test_exit_without_shutdown_is_code_1() -> None:
    async with greeted(Stage()) as link:
        link.peer.notify("exit")
        assert await link.end == 1


async def test_the_end_of_the_stream_is_code_0() -> None:
    async with greeted(Stage()) as link:
        link.peer.hang_up()
        assert await link.end == 0


async def test_what_is_quick_is_answered_after_the_end_of_the_stream() -> None:
    async with greeted(Stage()) as link:
        link.peer.ask(1, "agents/echo", {"value": 1})
        link.peer.writer.write_eof()
        assert await link.peer.message() == result(1, {"value": 1})


async def test_the_exit_of_one_client_leaves_the_other_alone() -> None:
    stage = Stage()
    async with greeted(stage) as one, greeted(stage) as other:
        one.peer.notify("exit")
        await one.end
        assert await other.peer.reply("agents/echo", {"value": 1}) == result("own", {"value": 1})
    assert len(stage.joined) == len(stage.left) == 2


@pytest.mark.parametrize(
    "value",
    [
        {"class": 1, "_x": 2, "a-b": 3, "$schema": 4, "count": 5, "type_name": "not ident", "self": None, "": []},
        {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"jsonrpc": "2.0", "result": 1}},
        {"b": 1, "a": [None, {"z": None, "y": 1.5e300, "x": 10**400}], "model_dump": "x", "wire": False},
        "\ud83d \u202e \x00 é",
    ],
)
async def test_a_value_passes_through_byte_true(value: Any) -> None:
    async with greeted(Stage()) as link:
        link.peer.ask("own", "agents/echo", {"value": value})
        body = await link.peer.body()
    assert body is not None
    assert body == json.dumps(result("own", {"value": value}), separators=(",", ":")).encode()


async def test_params_that_are_absent_are_none_and_unknown_members_of_a_message_are_passed_over() -> None:
    async with greeted(Stage()) as link:
        link.peer.send({"jsonrpc": "2.0", "id": 1, "method": "agents/echo", "trace": "x"})
        assert await link.peer.message() == result(1, {"value": None})


async def test_ids_of_both_kinds_are_told_apart() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        link.peer.ask(1, "agents/wait")
        link.peer.ask("1", "agents/wait")
        await until(lambda: stage.waiting == 2)
        stage.release.set()
        answers = [await link.peer.message(), await link.peer.message()]
    assert answers == [result(1, {}), result("1", {})]


async def test_an_id_that_is_in_flight_is_refused_and_can_be_used_again_after() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        link.peer.ask("own", "agents/wait")
        refused = await link.peer.reply("agents/echo", {"value": 1})
        stage.release.set()
        waited = await link.peer.message()
        again = await link.peer.reply("agents/echo", {"value": 2})
    assert (refused, waited, again) == (
        error("own", -32600, "a request with this id is in flight"),
        result("own", {}),
        result("own", {"value": 2}),
    )


async def test_cancel_ends_the_wait() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        link.peer.ask(1, "agents/wait")
        await until(lambda: stage.waiting == 1)
        link.peer.notify("$/cancelRequest", {"id": 1})
        assert await link.peer.message() == error(1, -32800, "the request was cancelled")
    assert stage.waiting == 0


async def test_a_request_that_is_cancelled_before_it_began_is_answered() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        wait = b'{"jsonrpc":"2.0","id":1,"method":"agents/wait"}'
        cancel = b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}'
        link.peer.raw(frame(wait) + frame(cancel))
        assert await link.peer.message() == error(1, -32800, "the request was cancelled")


@pytest.mark.parametrize("params", [None, {}, {"id": None}, {"id": [1]}, {"id": 99}, {"id": True}, [1], "x"])
async def test_a_cancel_that_names_nothing_changes_nothing(params: Any) -> None:
    stage = Stage()
    async with greeted(stage) as link:
        link.peer.ask(1, "agents/wait")
        link.peer.notify("$/cancelRequest", params)
        assert await link.peer.reply("agents/echo", {"value": 1}) == result("own", {"value": 1})
        assert stage.waiting == 1


async def test_requests_beyond_the_limit_are_told_to_come_again() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        for number in range(LIMITS.requests_in_flight):
            link.peer.ask(number, "agents/wait")
        over = await link.peer.reply("agents/echo", {"value": 1})
        link.peer.notify("$/cancelRequest", {"id": 0})
        cancelled = await link.peer.message()
        room = await link.peer.reply("agents/echo", {"value": 2})
    data = {"kind": "overloaded", "retryable": True, "retryAfterMs": 250}
    assert over == error("own", -31011, "256 requests of this client are in flight", data)
    assert (cancelled["error"]["code"], room) == (-32800, result("own", {"value": 2}))


async def test_a_client_that_leaves_ends_its_waits() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        link.peer.ask(1, "agents/wait")
        await until(lambda: stage.waiting == 1)
        link.peer.notify("exit")
        assert await link.peer.message() == error(1, -32800, "the client left")
    assert stage.waiting == 0


async def test_a_daemon_that_stops_says_so_to_who_waits() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        link.peer.ask(1, "agents/wait")
        await until(lambda: stage.waiting == 1)
        link.end.cancel()
        answer = await link.peer.message()
        with pytest.raises(asyncio.CancelledError):
            await link.end
        link.end = asyncio.create_task(_nothing())
    data = {"kind": "daemon/gone", "retryable": True}
    assert answer == error(1, -31021, "the daemon ended before this did; what of it was recorded stays", data)


async def _nothing() -> int:
    return 0


async def test_an_expected_failure_keeps_its_code_kind_and_data() -> None:
    async with greeted(Stage()) as link:
        answer = await link.peer.reply("agents/miss")
    data = {"kind": "session/unknown", "retryable": False, "sessionId": "x"}
    assert answer == error("own", -31001, "no session is called x", data)


async def test_an_unexpected_failure_shows_the_client_a_reference_and_the_log_the_rest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with greeted(Stage()) as link:
        answer = await link.peer.reply("agents/boom")
    reference = answer["error"]["data"]["reference"]
    data = {"kind": "internal", "retryable": False, "reference": reference}
    assert answer == error("own", -32603, "internal error", data)
    assert f"internal error {reference}" in caplog.text
    assert "ValueError: secret in /home/somebody" in caplog.text


async def test_wrong_params_are_named_without_being_repeated() -> None:
    async with greeted(Stage()) as link:
        wrong = await link.peer.reply("agents/big", {"size": "canary", "bogus": "canary"})
        listed = await link.peer.reply("agents/echo", ["canary"])
    reason = "Input should be a valid integer, unable to parse string as an integer"
    number = {"loc": ["size"], "msg": reason, "type": "int_parsing"}
    unknown = {"loc": ["bogus"], "msg": "Extra inputs are not permitted", "type": "extra_forbidden"}
    shape = {"loc": [], "msg": "params are an object", "type": "dict_type"}
    about = f"invalid params for agents/big: size: {reason}"
    assert wrong == error("own", -32602, about, {"errors": [number, unknown]})
    about = "invalid params for agents/echo: params are an object"
    assert listed == error("own", -32602, about, {"errors": [shape]})


async def test_a_result_that_would_be_too_long_is_shown_without_its_middles() -> None:
    async with greeted(Stage()) as link:
        long = await link.peer.reply("agents/big", {"size": 4 << 20})
        fits = await link.peer.reply("agents/big", {"size": (4 << 20) - 12})
    ends = "x" * 8192
    assert long == result("own", {"value": f"{ends}[… {(4 << 20) - 2 * 8192} characters left out …]{ends}"})
    assert len(fits["result"]["value"]) == (4 << 20) - 12


async def test_a_result_that_is_too_long_without_its_long_texts_is_an_error() -> None:
    async with greeted(Stage()) as link:
        long = await link.peer.reply("agents/echo", {"value": [0] * (2 << 20)})
    data = {"kind": "too-large", "retryable": False, "limit": 4 << 20}
    assert long == error("own", -31015, f"the reply has {(4 << 20) + 11} bytes, {4 << 20} are allowed", data)


async def test_a_batch_is_answered_in_one_array() -> None:
    async with greeted(Stage()) as link:
        link.peer.send(
            [
                {"jsonrpc": "2.0", "id": 1, "method": "agents/echo", "params": {"value": 1}},
                {"jsonrpc": "2.0", "method": "initialized"},
                17,
                {"jsonrpc": "2.0", "id": 2, "method": "agents/nope"},
                {"jsonrpc": "2.0", "id": "3", "result": 1},
            ]
        )
        answers = await link.peer.message()
    assert sorted(answers, key=str) == sorted(
        [
            result(1, {"value": 1}),
            error(None, -32600, "a message is an object"),
            error(2, -32601, "there is no method 'agents/nope'"),
        ],
        key=str,
    )


async def test_a_batch_never_answers_more_than_a_reply_may_have() -> None:
    async with greeted(Stage()) as link:
        link.peer.send(
            [{"jsonrpc": "2.0", "id": n, "method": "agents/big", "params": {"size": 3 << 20}} for n in range(3)]
        )
        answers = await link.peer.message()
    assert [("result" in answer, answer.get("error", {}).get("code")) for answer in answers] == [
        (True, None),
        (False, -31015),
        (False, -31015),
    ]


async def test_a_batch_of_notifications_is_not_answered() -> None:
    async with greeted(Stage()) as link:
        link.peer.send([{"jsonrpc": "2.0", "method": "initialized"}])
        assert await link.peer.reply("agents/echo", {"value": 1}) == result("own", {"value": 1})


async def test_a_method_without_an_id_is_not_run(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    async with greeted(stage) as link:
        link.peer.notify("agents/wait", {})
        await link.peer.reply("agents/echo", {})
    assert (stage.waiting, "sent agents/wait without an id" in caplog.text) == (0, True)


async def test_a_client_that_does_not_read_is_cut_off_and_others_are_served(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    async with greeted(stage) as slow, greeted(stage) as quick:
        slow.peer.ask(1, "agents/flood", {"size": 200})
        assert await quick.peer.reply("agents/echo", {"value": 1}) == result("own", {"value": 1})
        await slow.end
        assert await quick.peer.reply("agents/echo", {"value": 2}) == result("own", {"value": 2})
        assert stage.left == [stage.joined[0]]
        stage.left[0].notify("agents/event", {})
    assert "is cut off: it left" in caplog.text


async def test_a_long_message_in_small_pieces_is_read() -> None:
    async with greeted(Stage()) as link:
        text = "é" * (1 << 20)
        assert await link.peer.reply("agents/echo", {"value": text[:500_000]}) == result(
            "own", {"value": text[:500_000]}
        )


async def test_a_message_that_is_announced_too_long_is_refused_with_a_reason_though_it_is_being_sent() -> None:
    async with greeted(Stage()) as link:
        link.peer.raw(frame(b"x" * (17 << 20)))
        answer = await link.peer.message()
    data = {"kind": "too-large", "retryable": False, "limit": 16 << 20}
    assert answer == error(None, -31015, f"a message of {17 << 20} bytes, {16 << 20} are allowed", data)
    assert await link.end == 1


async def test_who_broke_the_framing_gets_nothing_more_and_nobody_else_is_harmed() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        link.peer.ask(1, "agents/wait")
        await until(lambda: stage.waiting == 1)
        link.peer.raw(b"Content-Length: nonsense\r\n\r\n")
        refused = await link.peer.message()
        stage.joined[0].notify("agents/summary", {})  # as to everybody, whoever comes next
        stage.release.set()
        await until(lambda: stage.waiting == 0)
        assert (refused["error"]["data"]["kind"], await link.peer.message()) == ("invalid-request", None)
        assert not link.end.done()


async def test_http_is_hung_up_on_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    async with connected(Stage()) as link:
        link.peer.raw(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
        assert (await link.peer.message(), await link.end) == (None, 1)
    assert "closed: a header that is not ours: 'POST / HTTP/1.1" in caplog.text


async def test_twenty_thousand_notifications_leave_nothing_behind() -> None:
    async with greeted(Stage()) as link:
        note = frame(b'{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}')
        link.peer.raw(note * 20_000)
        assert await link.peer.reply("agents/echo", {"value": 1}) == result("own", {"value": 1})
        assert len(asyncio.all_tasks()) <= 3


async def test_one_client_that_floods_does_not_starve_another(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    stage = Stage()
    async with greeted(stage) as loud, greeted(stage) as quiet:
        loud.peer.raw(frame(b"[") * 50_000)
        assert await quiet.peer.reply("agents/echo", {"value": 1}) == result("own", {"value": 1})
        assert not loud.end.done() or loud.end.result() == 0
