"""Tools of kind `http` against a real server: what is asked, what the model is told, which redirects are followed."""

import asyncio
import gzip
import json
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from support.processes import FakeSpool, call_of, until

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.runtime.agents.registry import Registry
from abey.runtime.clock import ManualClock, SystemClock
from abey.runtime.models.network import Network
from abey.runtime.ports import ToolCall
from abey.runtime.tools.http.guard import Address, Guard, why_not
from abey.runtime.tools.http.runner import HttpRunner
from abey.runtime.tools.output import MAX_BYTES

Answer = Callable[[str, bytes], bytes]


class Server:
    """Answers on 127.0.0.1; `asked` are the heads and bodies that it got."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[tuple[str, bytes]] = []
        self.port = 0
        self.cut: list[bool] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next(
                (int(line[15:]) for line in head.lower().split("\r\n") if line.startswith("content-length:")), 0
            )
            body = await reader.readexactly(length)
            self.asked.append((head, body))
            answer = self.answer(head.partition("\r\n")[0], body)
            writer.write(answer)
            await writer.drain()
            if not answer:
                await reader.read()
            self.cut.append(False)
        except (OSError, asyncio.IncompleteReadError):
            self.cut.append(True)
        finally:
            writer.close()


@asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(answer)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()


def reply(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def http_tool(url: str, method: str = "GET", **members: Any) -> Tool:
    written = {"kind": "http", "name": "fetch", "method": method, "url": url, **members}
    config = {"slug": "a", "model": {"provider": "scripted", "script": []}, "tools": [written]}
    return Registry(Path("/nonexistent")).inline(config, None).tools["fetch"]


def call(spool: Callable[[], FakeSpool] = FakeSpool, **arguments: Any) -> ToolCall:
    return call_of(arguments, Path("/"), spool=spool)


def local_allowed(address: Address) -> str | None:
    """Judges as ever, but lets 127.0.0.1 stand for a public address."""
    return None if address == ip_address("127.0.0.1") else why_not(address)


def names(known: dict[str, Sequence[str]], asked: list[str] | None = None) -> Guard:
    async def resolve(host: str, _port: int) -> Sequence[str]:
        if asked is not None:
            asked.append(host)
        if host not in known:
            raise OSError("no such name")
        return known[host]

    return Guard(resolve, local_allowed)


RUNNER = HttpRunner(Network({}), SystemClock())


async def test_a_request_is_what_the_file_says_and_its_answer_the_result() -> None:
    async with serving(lambda line, _: reply(line.encode(), Content_Type="text/plain")) as server:
        url = f"http://127.0.0.1:{server.port}"
        got = await RUNNER.run(http_tool(f"{url}/a/{{id}}"), call(id="x/y", q="z"))
        posted = await RUNNER.run(http_tool(f"{url}/a", "POST"), call(id=1))
    heads = [head.lower().split("\r\n") for head, _ in server.asked]
    assert (got, posted, server.asked[1][1]) == (
        ToolOutcome("GET /a/x%2Fy?q=z HTTP/1.1"),
        ToolOutcome("POST /a HTTP/1.1"),
        b'{"id": 1}',
    )
    assert f"host: 127.0.0.1:{server.port}" in heads[0]
    assert "content-type: application/json" in heads[1]
    assert not any(line.startswith(("cookie", "authorization")) for line in heads[0] + heads[1])


PNG = b"\x89PNG\r\n\0\0"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (reply(b'{"a": 1}', Content_Type="application/json"), ToolOutcome('{"a": 1}')),
        (reply(b"no such thing", "404 Not Found"), ToolOutcome("no such thing\n[HTTP 404 Not Found]", "tool/failed")),
        (reply(b"", "500 Oops"), ToolOutcome("[HTTP 500 Internal Server Error]", "tool/failed")),
        (reply(b"", "599 Odd"), ToolOutcome("[HTTP 599]", "tool/failed")),
        (reply(b"", "204 No Content"), ToolOutcome("[HTTP 204 No Content]")),
        (reply(b"", "304 Not Modified"), ToolOutcome("[HTTP 304 Not Modified]")),
        (reply(b"caf\xe9", Content_Type="text/html; charset=ISO-8859-1"), ToolOutcome("café")),
        (reply("é".encode("utf-16"), Content_Type="text/plain; charset=utf-16"), ToolOutcome("é")),
        (reply(b"caf\xe9 \xed\xa0\x80", Content_Type="text/plain"), ToolOutcome("caf\ufffd \ufffd\ufffd\ufffd")),
        (reply(b"cm90", Content_Type="text/plain; charset=base64"), ToolOutcome("cm90")),
        (reply(b"+2AA-", Content_Type="text/plain; charset=utf-7"), ToolOutcome("+2AA-")),
        (reply(b"no type"), ToolOutcome("no type")),
        (reply(b"a\0b"), ToolOutcome("[3 bytes, of no known type: no text]")),
        (reply(b"%PDF\0", Content_Type="application/pdf"), ToolOutcome("[5 bytes, application/pdf: no text]")),
        (
            reply(PNG, Content_Type="image/png"),
            ToolOutcome({"type": "media", "mimeType": "image/png", "base64Data": "iVBORw0KAAA="}),
        ),
        (reply(gzip.compress(b"packed"), Content_Encoding="gzip", Content_Type="text/plain"), ToolOutcome("packed")),
        (
            reply(PNG, "404 Not Found", Content_Type="image/png"),
            ToolOutcome("[8 bytes, image/png: no text]\n[HTTP 404 Not Found]", "tool/failed"),
        ),
        (reply(b"", Content_Encoding="gzip"), ToolOutcome("[HTTP 200 OK]")),
        (
            reply(b"x", Content_Encoding="br"),
            ToolOutcome("the answer is compressed in a way that was not asked for", "tool/failed"),
        ),
        (reply(b"x", Content_Encoding="gzip"), ToolOutcome("the answer cannot be decompressed", "tool/failed")),
    ],
)
async def test_what_the_model_is_told_of_an_answer(answer: bytes, outcome: ToolOutcome) -> None:
    async with serving(lambda *_: answer) as server:
        assert await RUNNER.run(http_tool(f"http://127.0.0.1:{server.port}/"), call()) == outcome


async def test_of_head_the_headers_are_told() -> None:
    async with serving(lambda *_: reply(b"", X_One="1")) as server:
        outcome = await RUNNER.run(http_tool(f"http://127.0.0.1:{server.port}/", "HEAD"), call())
    assert outcome == ToolOutcome("content-length: 0\nconnection: close\nx-one: 1\n[HTTP 200 OK]")


async def test_of_a_long_answer_head_and_tail_are_told_and_all_of_it_is_kept() -> None:
    spool, text = FakeSpool(), b"a" * 300_000 + b"z" * 300_000
    async with serving(lambda *_: reply(text)) as server:
        outcome = await RUNNER.run(http_tool(f"http://127.0.0.1:{server.port}/"), call(lambda: spool))
    assert (len(outcome.content) <= MAX_BYTES, outcome.content[:1], outcome.content[-1:]) == (True, "a", "z")
    assert (outcome.whole and outcome.whole.bytes, bytes(spool.data), outcome.error) == (600_000, text, None)


@pytest.mark.parametrize("packed", [False, True])
async def test_an_endless_answer_is_read_up_to_four_mebibytes(packed: bool) -> None:
    data = b"x" * (6 << 20)
    sent = reply(gzip.compress(data), Content_Encoding="gzip") if packed else reply(data)
    async with serving(lambda *_: sent) as server:
        outcome = await RUNNER.run(http_tool(f"http://127.0.0.1:{server.port}/"), call())
        await until(lambda: bool(server.cut))
    assert outcome.whole is not None
    assert (outcome.whole.bytes, outcome.content.splitlines()[-1]) == (
        4 << 20,
        "[the answer is longer than 4 MiB, and the rest was not read]",
    )


async def test_a_bomb_of_compressed_zeros_takes_no_more_memory_than_an_answer_may() -> None:
    once = gzip.compress(b"\0" * (64 << 20))
    async with serving(lambda *_: reply(once, Content_Encoding="gzip", Content_Type="text/plain")) as server:
        outcome = await RUNNER.run(http_tool(f"http://127.0.0.1:{server.port}/"), call())
    assert outcome.whole is not None
    assert outcome.whole.bytes == 4 << 20


async def test_after_its_time_the_request_is_given_up_and_the_connection_closed() -> None:
    clock = ManualClock()
    async with serving(lambda *_: b"") as server:
        tool = http_tool(f"http://127.0.0.1:{server.port}/", timeoutSeconds=5)
        running = asyncio.ensure_future(HttpRunner(Network({}), clock).run(tool, call()))
        await until(lambda: bool(server.asked))
        clock.advance(5)
        outcome = await running
        await until(lambda: bool(server.cut))
    assert outcome == ToolOutcome("[timed out after 5 seconds]", "tool/timeout")


async def test_a_cancelled_call_closes_its_connection() -> None:
    async with serving(lambda *_: b"") as server:
        running = asyncio.ensure_future(RUNNER.run(http_tool(f"http://127.0.0.1:{server.port}/"), call()))
        await until(lambda: bool(server.asked))
        running.cancel()
        await until(lambda: bool(server.cut))
    assert running.cancelled() or running.cancelling()


async def test_a_broken_connection_is_a_failed_call() -> None:
    async with serving(lambda *_: b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx") as server:
        url = f"http://127.0.0.1:{server.port}/"
        broken = await RUNNER.run(http_tool(url), call())
    refused = await RUNNER.run(http_tool(url), call())
    where = f"127.0.0.1:{server.port}"
    assert (broken, refused) == (
        ToolOutcome(
            f"the connection to {where} broke: it was closed before a whole HTTP answer came, or what came is no HTTP",
            "tool/failed",
        ),
        ToolOutcome(f"cannot connect to {where}: Connection refused", "tool/failed"),
    )


@pytest.mark.parametrize(
    ("method", "status", "again"),
    [
        ("GET", "301 Moved", "GET"),
        ("POST", "302 Found", "GET"),
        ("POST", "303 See Other", "GET"),
        ("PUT", "302 Found", "PUT"),
        ("POST", "307 Temporary", "POST"),
        ("POST", "308 Permanent", "POST"),
        ("HEAD", "303 See Other", "HEAD"),
    ],
)
async def test_a_redirect_of_the_same_host_is_followed(method: str, status: str, again: str) -> None:
    def answer(line: str, body: bytes) -> bytes:
        return reply(b"", status, Location="/there") if " / " in line else reply(line.encode() + b"|" + body)

    async with serving(answer) as server:
        await RUNNER.run(
            http_tool(f"http://127.0.0.1:{server.port}/", method), call(**({} if method in "GET HEAD" else {"a": 1}))
        )
    lines = [head.partition(" HTTP")[0] for head, _ in server.asked]
    bodies = [body for _, body in server.asked]
    body = b'{"a": 1}' if method in ("POST", "PUT") else b""
    assert (lines, bodies) == ([f"{method} /", f"{again} /there"], [body, body if again == method else b""])


async def test_redirects_end_after_five() -> None:
    async with serving(lambda *_: reply(b"", "302 Found", Location="/again")) as server:
        outcome = await RUNNER.run(http_tool(f"http://127.0.0.1:{server.port}/"), call())
    assert (outcome, len(server.asked)) == (ToolOutcome("it was redirected more than 5 times", "tool/failed"), 6)


@pytest.mark.parametrize(
    ("location", "fault"),
    [
        ("http://169.254.169.254/latest", "not asked: 169.254.169.254 is at 169.254.169.254, which is link-local"),
        ("http://0x7f.1:{other}/", "not asked: 0x7f.1 is at 127.0.0.1, which is loopback"),
        ("http://localhost:{other}/", "not asked: localhost is a name of the local network"),
        ("http://127.0.0.1:{other}/", "not asked: 127.0.0.1 is at 127.0.0.1, which is loopback"),
        ("//[::1]:{other}/", "not asked: ::1 is at ::1, which is loopback"),
        (
            "http://user:pass@[::ffff:127.0.0.1]/",
            "not asked: ::ffff:127.0.0.1 is at ::ffff:7f00:1, which is loopback",
        ),
        ("file:///etc/passwd", "only http and https URLs with a host are asked, not file"),
        ("gopher://127.0.0.1/x", "only http and https URLs with a host are asked, not gopher"),
        ("http://[bad/", "not asked: %5bbad is no name of a host"),
        ("http://%6cocalhost/", "not asked: %6cocalhost is no name of a host"),
        ("http://8.8.8.8:99999/", "there is no port 99999"),
        ("http://8.8.8.8:0/", "there is no port 0"),
    ],
)
async def test_a_redirect_to_another_host_is_checked(location: str, fault: str) -> None:
    async with serving(lambda *_: reply(b"secret")) as other:
        there = location.format(other=other.port)
        moved = reply(b"", "302 Found")[:-2] + b"Location: " + there.encode() + b"\r\n\r\n"
        async with serving(lambda *_: moved) as server:
            outcome = await RUNNER.run(http_tool(f"http://127.0.0.1:{server.port}/"), call())
    assert (outcome, other.asked) == (ToolOutcome(fault, "tool/failed"), [])


async def test_the_host_of_the_file_does_not_vouch_for_what_another_host_makes_of_it() -> None:
    guard = names({"elsewhere.example": ["127.0.0.1"]})
    async with serving(lambda *_: reply(b"", "302 Found", Location=back)) as elsewhere:
        there = f"http://elsewhere.example:{elsewhere.port}/"
        answers = [reply(b"", "302 Found", Location=there), reply(b"secret")]
        async with serving(lambda *_: answers.pop(0)) as server:
            back = f"http://127.0.0.2:{server.port}/admin"
            url = f"http://127.0.0.2:{server.port}/"
            listening = await asyncio.start_server(server.serve, "127.0.0.2", server.port)
            outcome = await HttpRunner(Network({}), SystemClock(), guard).run(http_tool(url), call())
            listening.close()
    assert (outcome, len(server.asked)) == (
        ToolOutcome("not asked: 127.0.0.2 is at 127.0.0.2, which is loopback", "tool/failed"),
        1,
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "localhost", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "0"])
async def test_a_host_out_of_an_argument_is_checked(host: str) -> None:
    async with serving(lambda *_: reply(b"secret")) as server:
        outcome = await RUNNER.run(http_tool(f"http://{{host}}:{server.port}/"), call(host=host))
    assert (outcome.error, outcome.content.startswith("not asked: "), server.asked) == ("tool/failed", True, [])


async def test_the_port_of_a_written_host_is_an_argument_that_has_it_checked() -> None:
    async with serving(lambda *_: reply(b"secret")) as server:
        outcome = await RUNNER.run(http_tool("http://127.0.0.1:{port}/"), call(port=server.port))
    assert (outcome, server.asked) == (
        ToolOutcome("not asked: 127.0.0.1 is at 127.0.0.1, which is loopback", "tool/failed"),
        [],
    )


async def test_the_address_that_was_checked_is_the_one_that_is_asked_under_its_name() -> None:
    """A name server that answers otherwise the second time is not asked a second time."""
    answers: list[Sequence[str]] = [["127.0.0.1"], ["169.254.169.254"]]

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return answers.pop(0)

    runner = HttpRunner(Network({}), SystemClock(), Guard(resolve, local_allowed))
    async with serving(lambda *_: reply(b"public")) as server:
        outcome = await runner.run(http_tool(f"http://{{host}}:{server.port}/x"), call(host="bücher.example"))
    assert (outcome, answers) == (ToolOutcome("public"), [["169.254.169.254"]])
    assert f"host: xn--bcher-kva.example:{server.port}\r\n" in server.asked[0][0].lower()


async def test_every_hop_of_a_chosen_host_is_checked() -> None:
    asked: list[str] = []
    guard = names({"one.example": ["127.0.0.1"], "two.example": ["127.0.0.1", "10.0.0.1"]}, asked)
    async with serving(lambda *_: reply(b"", "302 Found", Location=f"http://two.example:{server.port}/")) as server:
        outcome = await HttpRunner(Network({}), SystemClock(), guard).run(
            http_tool(f"http://{{host}}:{server.port}/"), call(host="one.example")
        )
    assert (outcome, asked, len(server.asked)) == (
        ToolOutcome("not asked: two.example is at 10.0.0.1, which is private", "tool/failed"),
        ["one.example", "two.example"],
        1,
    )


async def test_of_several_addresses_the_first_that_takes_a_connection_is_asked() -> None:
    def judge(address: Address) -> str | None:
        return None if address in (ip_address("127.0.0.1"), ip_address("127.0.0.2")) else why_not(address)

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return ["127.0.0.2", "127.0.0.1"]

    runner = HttpRunner(Network({}), SystemClock(), Guard(resolve, judge))
    async with serving(lambda *_: reply(b"here")) as server:
        assert await runner.run(http_tool(f"http://{{h}}:{server.port}/"), call(h="a.example")) == ToolOutcome("here")


async def test_a_name_that_nobody_knows_is_a_failed_call() -> None:
    outcome = await HttpRunner(Network({}), SystemClock(), names({})).run(http_tool("http://{h}/"), call(h="a.example"))
    assert outcome == ToolOutcome("there is no address of a.example", "tool/failed")


async def test_a_chosen_host_is_asked_through_no_proxy() -> None:
    network = Network({"http_proxy": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1"})
    async with serving(lambda *_: reply(b"straight")) as server:
        runner = HttpRunner(network, SystemClock(), names({"a.example": ["127.0.0.1"]}))
        outcome = await runner.run(http_tool(f"http://{{h}}:{server.port}/"), call(h="a.example"))
    assert outcome == ToolOutcome("straight")


@pytest.fixture
def identity(tmp_path: Path) -> tuple[Path, Path]:
    """The certificate and the key of a.example."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made += ["-days", "1", "-keyout", str(key), "-out", str(certificate), "-subj", "/CN=a.example"]
    subprocess.run([*made, "-addext", "subjectAltName=DNS:a.example"], check=True, capture_output=True)
    return certificate, key


async def test_over_tls_the_name_is_what_the_certificate_has_to_have(identity: tuple[Path, Path]) -> None:
    certificate, key = identity
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    guard = names({"a.example": ["127.0.0.1"], "b.example": ["127.0.0.1"]})
    runner = HttpRunner(Network({"SSL_CERT_FILE": str(certificate)}), SystemClock(), guard)
    async with serving(lambda *_: reply(b"sealed"), tls) as server:
        tool = http_tool(f"https://{{h}}:{server.port}/")
        right, wrong = await runner.run(tool, call(h="a.example")), await runner.run(tool, call(h="b.example"))
    assert (right, wrong.error, "its certificate is not accepted" in wrong.content) == (
        ToolOutcome("sealed"),
        "tool/failed",
        True,
    )


def test_the_hash_of_a_tool_covers_what_is_asked() -> None:
    hashes = {
        http_tool("https://a.example/").hash,
        http_tool("https://b.example/").hash,
        http_tool("https://a.example/", "POST").hash,
        http_tool("https://a.example/", parameters={"type": "object", "properties": {}}).hash,
    }
    assert (len(hashes), json.loads(json.dumps(http_tool("https://a.example/").definition))["kind"]) == (4, "http")
