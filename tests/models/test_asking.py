"""The shell around the wire forms: real sockets, time-outs, cancels, and what is never said."""

import asyncio
import logging
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.processes import until
from support.replay import Canned, Replay, replaying

from abey.core.conversation import AskedCall, ModelRequest, OfferedTool, UserMessage
from abey.errors import ModelFailed
from abey.protocol.blocks import TextBlock
from abey.protocol.config import HttpModel
from abey.protocol.transcript import FilePart, TextPart
from abey.runtime.clock import ManualClock, SystemClock, VirtualClock
from abey.runtime.models.asking import IDLE_SECONDS, Asking
from abey.runtime.models.bodies import AnswerBody
from abey.runtime.models.dialects import assembly_of
from abey.runtime.models.network import Network
from abey.runtime.models.places import place_of
from abey.runtime.models.retrying import Retrying
from abey.runtime.ports import Clock

KEY = "sk-canary-0123456789"
PROMPT = "canary prompt about the harbour"
HELLO = (
    b'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
)


def request(*parts: Any, tools: tuple[str, ...] = ()) -> ModelRequest:
    offered = tuple(OfferedTool(name, "", {}) for name in tools)
    return ModelRequest("canary system prompt", (UserMessage(parts or (TextPart(text=PROMPT),)),), offered, 0)


def asking(url: str, clock: Clock | None = None, provider: Any = "openai", env: Any = None) -> Asking:
    model = HttpModel(provider=provider, name="m", base_url=url)
    return Asking(model, lambda: KEY, Network(env or {}), clock or SystemClock())


async def failure(model: Any, asked: ModelRequest | None = None) -> ModelFailed:
    with pytest.raises(ModelFailed) as caught:
        await model.ask(asked or request(), lambda delta: None)
    return caught.value


async def test_an_answer_streams_while_it_comes() -> None:
    async with replaying(Canned(HELLO)) as server:
        shown: list[str] = []
        answer = await asking(server.url).ask(request(), lambda delta: shown.append(delta.text))
    assert (shown, answer.blocks) == (["Hel", "lo"], (TextBlock(text="Hello"),))


@pytest.mark.parametrize(
    ("provider", "path", "header"),
    [
        ("openai", "/v1/chat/completions", ("authorization", f"Bearer {KEY}")),
        ("openai-responses", "/v1/responses", ("authorization", f"Bearer {KEY}")),
        ("anthropic", "/v1/messages", ("x-api-key", KEY)),
    ],
)
async def test_each_provider_has_its_address_and_its_header(provider: str, path: str, header: tuple[str, str]) -> None:
    async with replaying(Canned((b"{}",), 418)) as server:
        await failure(asking(server.url, provider=provider))
    (asked,) = server.asked
    assert (asked.path, asked.headers[header[0]], asked.json["model"]) == (path, header[1], "m")


async def test_a_query_stays_where_it_is() -> None:
    async with replaying(Canned(HELLO)) as server:
        await asking(f"{server.url}/deployments/x?api-version=1").ask(request(), lambda delta: None)
    assert server.asked[0].path == "/v1/deployments/x/chat/completions?api-version=1"


async def test_what_comes_after_the_end_is_not_waited_for() -> None:
    async with replaying(Canned(HELLO, hold=True)) as server:
        answer = await asking(server.url).ask(request(), lambda delta: None)
        await until(lambda: server.left == 1)
    assert answer.finish_reason == "stop"


async def test_a_cancel_hangs_up_at_once() -> None:
    async with replaying(Canned(HELLO[:1], hold=True)) as server:
        call = asyncio.ensure_future(asking(server.url).ask(request(), lambda delta: None))
        await server.sent.wait()
        assert server.left == 0
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: server.left == 1)


async def hears_nothing(server: Replay, clock: ManualClock, model: Asking) -> ModelFailed:
    call = asyncio.ensure_future(failure(model))
    await server.sent.wait()
    while not call.done():
        waiting = len(clock.slept)
        clock.advance(IDLE_SECONDS / 4)
        await until(lambda seen=waiting: call.done() or len(clock.slept) > seen)
    return await call


@pytest.mark.parametrize("pieces", [(), HELLO[:1]], ids=["from the start", "in mid-stream"])
async def test_a_stream_that_falls_silent_is_given_up(pieces: Any) -> None:
    clock = ManualClock()
    async with replaying(Canned(pieces, hold=True)) as server:
        found = await hears_nothing(server, clock, asking(server.url, clock))
        await until(lambda: server.left == 1)
    assert (found.model_code, found.message) == (
        "timeout",
        f"127.0.0.1:{server.port} has sent nothing for 120 seconds",
    )
    assert IDLE_SECONDS <= clock.seconds <= 1.5 * IDLE_SECONDS


async def test_nobody_there_is_said_plainly() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    found = await failure(asking(f"http://127.0.0.1:{port}/v1"))
    assert (found.model_code, found.message) == (
        "transient",
        f"cannot connect to 127.0.0.1:{port}: Connection refused",
    )


async def test_a_host_that_is_none_is_said_plainly() -> None:
    found = await failure(asking("http://no-such-host.invalid/v1"))
    assert (found.model_code, found.message.startswith("cannot connect to no-such-host.invalid: ")) == (
        "transient",
        True,
    )


@pytest.mark.parametrize("url", ["ftp://x/v1", "http://", "nothing", "http://x:99999/", "http://a b/", "http://[::1/"])
async def test_an_address_that_is_none_is_said_before_anything_is_sent(url: str) -> None:
    found = await failure(asking(url))
    assert (found.model_code, found.message) == ("invalid-request", "baseUrl is no http or https URL with a host")


async def test_a_server_that_speaks_no_tls_is_said_plainly() -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        found = await failure(asking(f"https://127.0.0.1:{port}/v1"))
    assert (found.model_code, found.message.startswith(f"cannot connect to 127.0.0.1:{port}: ")) == ("transient", True)


@pytest.mark.parametrize("pieces", [(), HELLO[:1], (*HELLO[:1], HELLO[1][:30])])
async def test_a_connection_that_breaks_is_transient(pieces: Any) -> None:
    async with replaying(Canned(pieces, cut=True)) as server:
        found = await failure(asking(server.url))
    assert found.model_code == "transient"
    assert "Error" not in found.message  # no name of a class


async def test_an_error_whose_body_breaks_off_keeps_its_status() -> None:
    async with replaying(Canned((b'{"error": {"mess',), 401, cut=True)) as server:
        found = await failure(asking(server.url))
    assert (found.model_code, found.details) == ("auth", {"httpStatus": 401})


@pytest.mark.parametrize(("key", "said"), [("sk-0123456789", "a key was sent"), (None, "no key was sent")])
@pytest.mark.parametrize("status", [401, 404])
async def test_a_refusal_names_who_refused_and_whether_there_was_a_key(status: int, key: str | None, said: str) -> None:
    async with replaying(Canned((b'{"error": "no"}',), status)) as server:
        found = await failure(replace(asking(server.url), key=lambda: key))
    assert found.message == f"127.0.0.1:{urlsplit(server.url).port} gave status {status} ({said}): no"


async def test_a_redirect_takes_the_key_nowhere() -> None:
    async with replaying(Canned(HELLO)) as other, replaying(Canned((), 307, {"location": other.url})) as server:
        found = await failure(asking(server.url))
    assert (found.model_code, found.message, other.asked) == (
        "invalid-request",
        f"127.0.0.1:{urlsplit(server.url).port} gave status 307: redirects are not followed; correct baseUrl",
        [],
    )


@pytest.mark.parametrize(
    "env",
    [
        {"NO_PROXY": "[::1]", "no_proxy": "[::1]"},
        {"ALL_PROXY": "socks5://127.0.0.1:1", "all_proxy": "socks5://127.0.0.1:1"},
        {"SSL_CERT_FILE": "/missing/file.pem", "SSL_CERT_DIR": "/missing"},
        {"HTTP_PROXY": "::::", "http_proxy": "::::"},
    ],
)
async def test_an_odd_environment_stops_nothing(env: dict[str, str]) -> None:
    async with replaying(Canned(HELLO)) as server:
        answer = await asking(server.url, env=env).ask(request(), lambda delta: None)
    assert answer.finish_reason == "stop"


async def test_a_proxy_that_can_be_used_is_used() -> None:
    async with replaying(Canned(HELLO)) as proxy:
        env = {"http_proxy": f"http://127.0.0.1:{proxy.port}"}
        await asking("http://models.example.org/v1", env=env).ask(request(), lambda delta: None)
    assert proxy.asked[0].path == "http://models.example.org/v1/chat/completions"


async def test_a_file_that_cannot_be_read_fails_before_anything_is_sent(tmp_path: Path) -> None:
    async with replaying(Canned(HELLO)) as server:
        found = await failure(asking(server.url), request(FilePart(path=str(tmp_path / "gone.txt"))))
    assert (found.model_code, found.message, server.asked) == (
        "invalid-request",
        f"{tmp_path}/gone.txt cannot be read: No such file or directory",
        [],
    )


async def test_tools_are_called_by_their_own_names() -> None:
    async with replaying(Canned(HELLO)) as server:
        await asking(server.url).ask(request(tools=("web.search",)), lambda delta: None)
        name = server.asked[0].json["tools"][0]["function"]["name"]
        call = f'{{"index":0,"id":"c1","function":{{"name":"{name}","arguments":"{{}}"}}}}'
        server.answers[0] = Canned(
            (
                b'data: {"choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}\n\n' % call.encode(),
                b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n',
            )
        )
        answer = await asking(server.url).ask(request(tools=("web.search",)), lambda delta: None)
    assert re.fullmatch("web_search_[0-9a-f]{8}", name)
    assert answer.calls == (AskedCall("c1", "web.search", "{}"),)


async def test_a_rate_limit_is_waited_for_and_asked_again() -> None:
    clock = VirtualClock()
    limited = Canned((b'{"error": "slow down"}',), 429, {"retry-after": "7"})
    async with replaying(limited, Canned(HELLO)) as server:
        patient = Patient(clock)
        retries: list[tuple[str, int, float]] = []
        model = Retrying(asking(server.url, patient), clock, lambda *retry: retries.append(retry))
        answer = await model.ask(request(), lambda delta: None)
    assert (answer.attempts, retries, clock.slept) == (2, [("rate-limited", 1, 7.0)], [7.0])


class Patient(ManualClock):
    """Time as another clock has it, but nothing is ever given up."""

    def __init__(self, other: VirtualClock) -> None:
        super().__init__()
        self._other = other

    def now(self) -> str:
        return self._other.now()


ECHOES = [
    Canned((f'{{"error": {{"message": "bad key {KEY} for {PROMPT}"}}}}'.encode(),), 401),
    Canned((f"data: {{\"error\": {{\"message\": \"{KEY[:12]} said {PROMPT[:20]}\"}}}}\n\n".encode(),)),
    Canned((f"\x1b[31m{KEY}\r\n{PROMPT}".encode() * 200,), 500),
    Canned((f'{{"choices":[{{"finish_reason":"error {KEY} {PROMPT}"}}]}}'.encode(),)),
    Canned(HELLO[:1], cut=True),
    Canned((b"",), 302, {"location": f"http://x/?key={KEY}"}),
]  # fmt: skip


@pytest.mark.parametrize("canned", ECHOES, ids=range(len(ECHOES)))
async def test_neither_key_nor_prompt_is_in_an_error_or_a_log(canned: Canned, caplog: pytest.LogCaptureFixture) -> None:
    async with replaying(canned) as server:
        with caplog.at_level(logging.DEBUG):
            try:
                await asking(f"http://user:{KEY}@127.0.0.1:{server.port}/v1?key={KEY}").ask(request(), lambda _: None)
                said = ""
            except ModelFailed as error:
                said = f"{error.message} {error.data} {error.__cause__!r}"
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    for secret in (KEY[:12], KEY[8:], "canary prompt", "canary system", "authorization"):
        assert secret not in said + caplog.text
    assert "\x1b" not in said


async def test_an_error_of_any_size_is_read_in_part() -> None:
    async with replaying(Canned([b"x" * 65536] * 64, 500)) as server:
        found = await failure(asking(server.url))
    assert (found.model_code, len(found.message) < 500) == ("transient", True)


def test_an_answer_without_an_end_is_given_up() -> None:
    model = HttpModel(provider="openai", name="m")
    body = AnswerBody(assembly_of(model, place_of(model))(lambda delta: None), most=1000)
    with pytest.raises(ModelFailed) as caught:
        for _ in range(100):
            body.feed(b": still here\n")
    assert (caught.value.model_code, caught.value.message) == (
        "invalid-output",
        "the answer is larger than 1000 bytes",
    )


def test_one_module_knows_httpx() -> None:
    rooms = Path(__file__).parents[2] / "server", Path(__file__).parents[2] / "cli"
    found = [
        path.name
        for room in rooms
        for path in sorted(room.rglob("*.py"))
        if re.search(r"^\s*(import|from) httpx\b", path.read_text(encoding="utf-8"), re.M)
    ]
    assert found == ["http.py"]
