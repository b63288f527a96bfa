"""Requests and notifications of LSP: params as lsprotocol has them, in the order in which they came."""

import asyncio
from typing import Any

import pytest
from lsprotocol import types as lsp
from support.raw_peer import Message, Stage, connected, greeted, until

from abey.rpc.connection import LIMITS
from abey.rpc.peer import Peer

HOVER = "textDocument/hover"
CHANGE = "textDocument/didChange"
AT = {"textDocument": {"uri": "file:///a"}, "position": {"line": 1, "character": 2}}


def changing(version: Any, text: Any) -> Message:
    return {"textDocument": {"uri": "file:///a", "version": version}, "contentChanges": [{"text": text}]}


class Hearing(Stage):
    """Answers hovers with the text that was last sent; `heard` has what came."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Any] = []
        self.features[HOVER] = self.hover
        self.notices[CHANGE] = self.changed
        self.text = ""

    async def hover(self, peer: Peer, params: lsp.HoverParams) -> lsp.Hover:
        self.heard.append(params)
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.PlainText, self.text))

    def changed(self, peer: Peer, params: lsp.DidChangeTextDocumentParams) -> None:
        self.text = params.content_changes[0].text
        if self.text == "boom":
            raise ValueError("secret in /home/somebody")


def hovered(request_id: Any, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "result": {"contents": {"kind": "plaintext", "value": text}}}


async def test_a_feature_gets_lsp_values_and_its_result_goes_out_as_json() -> None:
    stage = Hearing()
    async with greeted(stage) as link:
        link.peer.notify(CHANGE, changing(1, "hi"))
        assert await link.peer.reply(HOVER, {**AT, "workDoneToken": 5, "future": {}}) == hovered("own", "hi")
    place = lsp.TextDocumentIdentifier("file:///a"), lsp.Position(1, 2)
    assert stage.heard == [lsp.HoverParams(*place, work_done_token=5)]


async def test_a_request_sees_the_change_before_it() -> None:
    async with greeted(Hearing()) as link:
        for number in range(200):
            link.peer.notify(CHANGE, changing(number, f"{number}"))
            link.peer.ask(number, HOVER, AT)
        answers = [await link.peer.message() for _ in range(200)]
    seen = {answer["id"]: int(answer["result"]["contents"]["value"]) for answer in answers}
    assert [number for number in range(200) if seen[number] < number] == []


async def test_what_a_feature_looks_up_when_it_is_called_is_as_it_was_when_the_request_came() -> None:
    stage = Hearing()

    async def later(text: str) -> lsp.Hover:
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.PlainText, text))

    stage.features[HOVER] = lambda _, __: later(stage.text)
    async with greeted(stage) as link:
        batch: list[Message] = []
        for number in range(100):
            batch.append({"jsonrpc": "2.0", "method": CHANGE, "params": changing(number, f"{number}")})
            batch.append({"jsonrpc": "2.0", "id": number, "method": HOVER, "params": AT})
        link.peer.send(batch)
        answers = await link.peer.message()
    assert answers == [hovered(number, f"{number}") for number in range(100)]


WRONG_PARAMS: list[tuple[Any, list[tuple[list[Any], str]]]] = [
    (None, [(["textDocument"], "Field required"), (["position"], "Field required")]),
    ([], [([], "params are an object")]),
    ("x", [([], "params are an object")]),
    (7, [([], "params are an object")]),
    ({}, [(["textDocument"], "Field required"), (["position"], "Field required")]),
    ({**AT, "textDocument": {"uri": 7}}, [(["textDocument", "uri"], "a string is expected")]),
    ({**AT, "textDocument": {"uri": None}}, [(["textDocument", "uri"], "a string is expected")]),
    ({**AT, "position": {"line": -1, "character": 0}}, [(["position"], "not as LSP has it")]),
    ({**AT, "position": {"line": 2**31, "character": 0}}, [(["position"], "not as LSP has it")]),
    ({**AT, "position": {"line": 10**400, "character": 0}}, [(["position"], "not as LSP has it")]),
    ({**AT, "position": {"line": 1.5, "character": 0}}, [(["position", "line"], "a whole number is expected")]),
    ({**AT, "position": {"line": 0, "character": "7"}}, [(["position", "character"], "a whole number is expected")]),
    ({**AT, "position": {"line": True, "character": 0}}, [(["position", "line"], "a whole number is expected")]),
    ({**AT, "textDocument": {}}, [(["textDocument", "uri"], "Field required")]),
]


ACTION = "textDocument/codeAction"
PLACE = {"start": AT["position"], "end": AT["position"]}


async def test_what_a_client_sends_back_of_a_whole_file_is_passed_over() -> None:
    found = [{"range": PLACE, "message": "m"}, "anything"] * 5000
    stage = Hearing()
    stage.features[ACTION] = stage.features[HOVER]
    async with greeted(stage) as link:
        params = {**AT, "range": PLACE, "context": {"diagnostics": found, "only": ["quickfix"], "triggerKind": 1}}
        assert "result" in await link.peer.reply(ACTION, params)
    context = lsp.CodeActionContext((), ("quickfix",), lsp.CodeActionTriggerKind.Invoked)
    assert [one.context for one in stage.heard] == [context]


async def test_a_list_that_would_keep_everybody_waiting_is_refused() -> None:
    stage = Hearing()
    stage.features[ACTION] = stage.features[HOVER]
    async with greeted(stage) as link:
        params = {**AT, "range": PLACE, "context": {"diagnostics": [], "only": ["x"] * 1001}}
        error = (await link.peer.reply(ACTION, params))["error"]
    message = "a list of at most 1000 members is expected"
    assert [(one["loc"], one["msg"]) for one in error["data"]["errors"]] == [(["context", "only"], message)]
    assert stage.heard == []


@pytest.mark.parametrize(("params", "found"), WRONG_PARAMS)
async def test_params_that_are_none_of_lsp_are_named(params: Any, found: list[tuple[list[Any], str]]) -> None:
    stage = Hearing()
    async with greeted(stage) as link:
        answer = await link.peer.reply(HOVER, params)
    error = answer["error"]
    assert (error["code"], [(one["loc"], one["msg"]) for one in error["data"]["errors"]], stage.heard) == (
        -32602,
        found,
        [],
    )


async def test_what_was_in_wrong_params_is_not_repeated() -> None:
    async with greeted(Hearing()) as link:
        link.peer.ask("own", HOVER, {"textDocument": {"uri": ["canary"]}, "position": {"line": "canary"}})
        body = await link.peer.body()
    assert body is not None
    assert b"canary" not in body


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        "x",
        {},
        changing("one", "x"),
        changing(1.5, "x"),
        changing(1, None),
        changing(1, ["x"]),
        {**changing(1, "x"), "contentChanges": {"text": "x"}},
        {**changing(1, "x"), "contentChanges": "text"},
        {**changing(1, "x"), "contentChanges": [7]},
        {**changing(1, "x"), "contentChanges": [{"text": "x", "range": {"start": -1}}]},
        {**changing(1, "x"), "contentChanges": [{"text": "x", "range": [0, 0]}]},
        changing(1, "boom"),
    ],
)
async def test_a_notification_that_fails_is_logged_and_the_next_one_is_taken(
    params: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with greeted(Hearing()) as link:
        link.peer.notify(CHANGE, params)
        link.peer.notify(CHANGE, changing(2, "well"))
        assert await link.peer.reply(HOVER, AT) == hovered("own", "well")
    assert f"sent {CHANGE}, which failed" in caplog.text


async def test_notifications_before_initialize_and_after_shutdown_are_not_taken() -> None:
    stage = Hearing()
    async with connected(stage) as link:
        link.peer.notify(CHANGE, changing(1, "early"))
        await link.peer.initialize()
        assert await link.peer.reply(HOVER, AT) == hovered("own", "")
        await link.peer.reply("shutdown")
        link.peer.notify(CHANGE, changing(2, "late"))
        assert (await link.peer.reply(HOVER, AT))["error"]["code"] == -32600
    assert stage.text == ""


async def test_a_request_without_an_id_and_a_notification_with_one_are_not_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Hearing()
    async with greeted(stage) as link:
        link.peer.notify(HOVER, AT)
        answer = await link.peer.reply(CHANGE, changing(1, "x"))
    assert (answer["error"]["code"], stage.heard, stage.text) == (-32601, [], "")
    assert f"sent {HOVER} without an id: it is not run" in caplog.text


async def test_methods_of_lsp_that_nobody_serves_are_unknown() -> None:
    async with greeted(Hearing()) as link:
        for method in ("textDocument/formatting", "workspace/executeCommand", "$/nope", ""):
            assert (await link.peer.reply(method, AT))["error"]["code"] == -32601


async def test_a_feature_is_cancelled_like_any_request_begun_or_not() -> None:
    stage = Hearing()
    waiting = asyncio.Event()

    async def wait(peer: Peer, params: Any) -> None:
        waiting.set()
        await asyncio.Event().wait()

    stage.features[HOVER] = wait
    async with greeted(stage) as link:
        link.peer.ask(1, HOVER, AT)
        link.peer.notify("$/cancelRequest", {"id": 1})
        assert (await link.peer.message())["error"]["code"] == -32800
        link.peer.ask(2, HOVER, AT)
        await waiting.wait()
        link.peer.notify("$/cancelRequest", {"id": 2})
        assert (await link.peer.message())["error"]["code"] == -32800


async def test_features_count_as_requests_in_flight() -> None:
    stage = Hearing()

    async def wait(peer: Peer, params: Any) -> None:
        await stage.release.wait()

    stage.features[HOVER] = wait
    async with greeted(stage) as link:
        for number in range(LIMITS.requests_in_flight):
            link.peer.ask(number, HOVER, AT)
        assert (await link.peer.reply(HOVER, AT))["error"]["data"]["kind"] == "overloaded"


async def test_a_feature_that_fails_tells_the_client_no_more_than_a_reference() -> None:
    stage = Hearing()

    async def fail(peer: Peer, params: Any) -> None:
        raise ValueError("secret in /home/somebody")

    def fail_at_once(peer: Peer, params: Any) -> Any:
        raise ValueError("secret in /home/somebody")

    for stage.features[HOVER] in (fail, fail_at_once):
        async with greeted(stage) as link:
            answer = await link.peer.reply(HOVER, AT)
            assert (answer["error"]["code"], answer["error"]["message"]) == (-32603, "internal error")


async def test_a_result_that_is_no_json_or_too_long_is_an_error() -> None:
    stage = Hearing()
    results: list[Any] = [object(), float("nan"), "x" * (4 << 20)]

    async def give(peer: Peer, params: Any) -> Any:
        return results.pop(0)

    stage.features[HOVER] = give
    async with greeted(stage) as link:
        codes = [(await link.peer.reply(HOVER, AT))["error"]["code"] for _ in range(3)]
    assert codes == [-32603, -32603, -31015]


async def test_a_client_that_leaves_ends_its_features() -> None:
    stage = Hearing()
    ended = []

    async def wait(peer: Peer, params: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(peer.id)

    stage.features[HOVER] = wait
    async with greeted(stage) as link, greeted(stage) as other:
        link.peer.ask(1, HOVER, AT)
        assert await other.peer.reply("agents/echo", {"value": 1}) == {
            "jsonrpc": "2.0",
            "id": "own",
            "result": {"value": 1},
        }
        link.peer.hang_up()
        await until(lambda: ended == [stage.joined[0].id])
        assert await other.peer.reply("agents/echo", {"value": 2}) == {
            "jsonrpc": "2.0",
            "id": "own",
            "result": {"value": 2},
        }
