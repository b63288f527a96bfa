"""What the daemon asks a client: one answer a question, and nothing left of one that nobody waits for."""

import asyncio
import logging
from typing import Any

import pytest
from support.raw_peer import Link, Message, Stage, connected, greeted, until

from abey.rpc.faults import Declined, Unanswered
from abey.rpc.peer import Peer
from abey.rpc.questions import LIMIT

ASKED = {"jsonrpc": "2.0", "id": "s1", "method": "window/showDocument", "params": {"uri": "file:///a"}}
WITHDRAWN = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "s1"}}


def asking(stage: Stage, params: Any = None) -> asyncio.Task[Any]:
    """The first client is asked to show a document."""
    [peer] = stage.joined

    async def ask() -> Any:
        return await peer.ask("window/showDocument", params or {"uri": "file:///a"})

    return asyncio.create_task(ask())


def answer(request_id: Any, **members: Any) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, **members}


def cancelled(message: str) -> Message:
    data = {"kind": "cancelled", "retryable": False}
    return answer("own", error={"code": -32800, "message": message, "data": data})


async def still_served(link: Link) -> None:
    link.peer.ask("own", "agents/echo", {"value": 7})
    while (message := await link.peer.message()).get("id") != "own":
        pass
    assert message["result"] == {"value": 7}


@pytest.mark.parametrize("result", [{"success": True}, None, [1, {"jsonrpc": "2.0", "_x": 1}], "é\ud83d"])
async def test_a_question_is_answered_with_what_the_client_said(result: Any) -> None:
    stage = Stage()
    async with greeted(stage) as link:
        asked = asking(stage)
        assert await link.peer.message() == ASKED
        link.peer.send(answer("s1", result=result))
        assert await asked == result


async def test_params_may_be_json_and_pass_through_unchanged() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        params = {"class": [None, {"_x": 1.5}], "uri": None}
        asked = asking(stage, params)
        assert (await link.peer.message())["params"] == params
        link.peer.send(answer("s1", result=1))
        await asked


async def test_answers_find_their_questions_in_any_order_and_beside_requests_of_the_same_id() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        first, second = asking(stage), asking(stage)
        await until(lambda: not first.done() and not second.done())
        assert [(await link.peer.message())["id"] for _ in range(2)] == ["s1", "s2"]
        link.peer.ask("s1", "agents/wait")
        link.peer.send(answer("s2", result=2))
        link.peer.send(answer("s1", result=1))
        assert (await first, await second) == (1, 2)
        await until(lambda: stage.waiting == 1)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ({"code": -32601, "message": "no such\nmethod", "data": {"x": 1}}, (-32601, "no such\nmethod", {"x": 1})),
        ({"code": "5", "message": 7}, (0, "", None)),
        ("nonsense", (0, "", None)),
        ({"code": True}, (0, "", None)),
    ],
)
async def test_an_error_of_the_client_is_a_failure_of_its_own_kind(error: Any, told: tuple[int, str, Any]) -> None:
    stage = Stage()
    async with greeted(stage) as link:
        asked = asking(stage)
        await link.peer.message()
        link.peer.send(answer("s1", error=error))
        with pytest.raises(Declined) as declined:
            await asked
    assert (declined.value.code, declined.value.message, declined.value.data) == told
    assert "\n" not in str(declined.value)


async def test_who_asks_no_more_withdraws_the_question_and_a_late_answer_is_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "abey.rpc.questions")
    stage = Stage()
    async with greeted(stage) as link:
        asked = asking(stage)
        assert await link.peer.message() == ASKED
        asked.cancel()
        assert await link.peer.message() == WITHDRAWN
        with pytest.raises(asyncio.CancelledError):
            await asked
        link.peer.send(answer("s1", result={"success": True}))
        await still_served(link)
    assert [(one.levelname, "'s1', which nobody asks" in one.getMessage()) for one in caplog.records] == [
        ("DEBUG", True)
    ]


async def test_an_answer_that_is_there_is_not_withdrawn() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        asked = asking(stage)
        await link.peer.message()
        link.peer.send(answer("s1", result=1))
        assert await asked == 1
        assert await link.peer.reply("agents/echo", {"value": 1}) == answer("own", result={"value": 1})


@pytest.mark.parametrize(
    "stray",
    [
        answer("s1", result=1),
        answer("s99", error={"code": 1, "message": ""}),
        answer("s0", result=1),
        answer(f"s{10**30}", result=1),
        answer(1, result=1),
        answer(None, error={"code": -32700, "message": "?"}),
        answer([1], result=1),
        answer({"a": 1}, result=1),
        answer(1.5, result=None, error=None),
        answer("s1", result=1, error={"code": 1}),
    ],
)
async def test_an_answer_that_nobody_asked_for_is_passed_over(stray: Message, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with greeted(Stage()) as link:
        link.peer.send(stray)
        await still_served(link)
    assert "which nobody asks" in caplog.text


async def test_a_second_answer_is_passed_over() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        asked = asking(stage)
        await link.peer.message()
        link.peer.send([answer("s1", result=1), answer("s1", result=2), answer("s1", error={"code": 1})])
        assert await asked == 1
        await still_served(link)


async def test_a_client_that_goes_ends_its_questions() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        asked = asking(stage)
        await link.peer.message()
        link.peer.hang_up()
        with pytest.raises(Unanswered, match="went without an answer"):
            await asked
        late = asking(stage)
        with pytest.raises(Unanswered, match="was gone before it could be asked"):
            await late


async def test_so_many_questions_may_wait_for_one_client() -> None:
    stage = Stage()
    async with greeted(stage) as link:
        waiting = [asking(stage) for _ in range(LIMIT)]
        ids = [(await link.peer.message())["id"] for _ in waiting]
        with pytest.raises(Unanswered, match=f"^{LIMIT} questions wait"):
            await asking(stage)
        link.peer.send(answer(ids[0], result=0))
        await waiting[0]
        more = asking(stage)
        assert (await link.peer.message())["id"] == f"s{LIMIT + 1}"
        for task in (*waiting, more):
            task.cancel()


def showing() -> Stage:
    """Its commands ask the client to show a document."""
    stage = Stage()

    async def show(peer: Peer, _: Any) -> Any:
        return await peer.ask("window/showDocument", {"uri": "file:///a"})

    stage.features["workspace/executeCommand"] = show
    return stage


async def test_a_request_may_ask_its_client_before_it_is_answered() -> None:
    async with greeted(showing()) as link:
        link.peer.ask("own", "workspace/executeCommand", {"command": "x"})
        assert await link.peer.message() == ASKED
        link.peer.send(answer("s1", result={"success": True}))
        assert await link.peer.message() == answer("own", result={"success": True})


async def test_a_request_that_is_cancelled_withdraws_what_it_asked() -> None:
    async with greeted(showing()) as link:
        link.peer.ask("own", "workspace/executeCommand", {"command": "x"})
        await link.peer.message()
        link.peer.notify("$/cancelRequest", {"id": "own"})
        told = [await link.peer.message(), await link.peer.message()]
    assert told == [WITHDRAWN, cancelled("the request was cancelled")]


async def test_a_request_whose_client_leaves_ends_as_cancelled_whatever_it_asked() -> None:
    async with greeted(showing()) as link:
        link.peer.ask("own", "workspace/executeCommand", {"command": "x"})
        assert await link.peer.message() == ASKED
        link.peer.notify("exit")
        assert [await link.peer.message() for _ in range(2)] == [cancelled("the client left"), None]


async def test_answers_before_initialize_are_passed_over() -> None:
    async with connected(Stage()) as link:
        link.peer.send(answer("s1", result=1))
        assert "result" in await link.peer.initialize()
