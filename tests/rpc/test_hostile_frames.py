"""Whatever comes in is answered, or the connection closes with a logged reason; the next good request is answered."""

import json
import logging
import random

import pytest
from support.raw_peer import Link, Stage, greeted

from abey.rpc.framing import frame


def body(**members: object) -> bytes:
    return frame(json.dumps({"jsonrpc": "2.0", **members}).encode())


def echo(params: bytes) -> bytes:
    return frame(b'{"jsonrpc":"2.0","id":7,"method":"agents/echo","params":%b}' % params)


FIXED = {
    "not json": frame(b"hello"),
    "truncated json": frame(b'{"jsonrpc":"2.0","id":5'),
    "empty body": frame(b""),
    "blank body": frame(b"   \r\n "),
    "two values": frame(b"{}{}"),
    "null": frame(b"null"),
    "a number": frame(b"42"),
    "a string": frame(b'"x"'),
    "true": frame(b"true"),
    "an empty object": frame(b"{}"),
    "an empty batch": frame(b"[]"),
    "a batch of rubbish": frame(b"[1,2,3]"),
    "a batch of batches": frame(b"[[],[[]]]"),
    "a batch too long": frame(b"[" + b",".join([b"1"] * 257) + b"]"),
    "no jsonrpc": frame(b'{"id":1,"method":"agents/echo"}'),
    "jsonrpc 1.0": frame(b'{"jsonrpc":"1.0","id":1,"method":"agents/echo"}'),
    "jsonrpc a number": frame(b'{"jsonrpc":2.0,"id":1,"method":"agents/echo"}'),
    "method a number": body(id=1, method=7),
    "method null": body(id=1, method=None),
    "method an object": body(id=1, method={"a": 1}),
    "method empty": body(id=1, method=""),
    "method with control characters": body(id=1, method="agents/\x1b[2J\u202e"),
    "method very long": body(id=1, method="x" * 100_000),
    "unknown method": body(id=1, method="agents/nope", params={}),
    "unknown $/ request": body(id=1, method="$/nope", params={}),
    "standard method": body(id=1, method="textDocument/hover", params={}),
    "neither method nor result": body(id=1),
    "id null": body(id=None, method="agents/echo"),
    "id true": body(id=True, method="agents/echo"),
    "id an object": body(id={"a": 1}, method="agents/echo"),
    "id a list": body(id=[1], method="agents/echo"),
    "id a fraction": body(id=1.5, method="agents/echo"),
    "id very long": body(id="x" * 100_000, method="agents/echo"),
    "id of 5000 digits": frame(b'{"jsonrpc":"2.0","id":%b,"method":"agents/echo"}' % (b"9" * 5000)),
    "params a list": echo(b"[1]"),
    "params an empty list": echo(b"[]"),
    "params a string": echo(b'"x"'),
    "params false": echo(b"false"),
    "params zero": echo(b"0"),
    "params unknown member": echo(b'{"bogus":1}'),
    "params many unknown members": echo(json.dumps({f"k{i}": i for i in range(10_000)}).encode()),
    "params NaN": echo(b'{"value":NaN}'),
    "params Infinity": echo(b'{"value":-Infinity}'),
    "params out of range": echo(b'{"value":1e999}'),
    "params of 5000 digits": echo(b'{"value":%b}' % (b"9" * 5000)),
    "params twice the same name": echo(b'{"value":1,"value":2}'),
    "params 101 deep": echo(b'{"value":' + b"[" * 99 + b"]" * 99 + b"}"),
    "params 900 deep": echo(b'{"value":' + b"[" * 900 + b"]" * 900 + b"}"),
    "params 100000 deep": echo(b'{"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "bad utf-8": echo(b'{"value":"\xff\xfe"}'),
    "utf-16": frame('{"jsonrpc":"2.0","id":1,"method":"agents/echo"}'.encode("utf-16")),
    "byte order mark": frame(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"agents/echo"}'),
    "raw control character": echo(b'{"value":"\x00"}'),
    "single quotes": frame(b"{'jsonrpc':'2.0'}"),
    "trailing comma": echo(b'{"value":1,}'),
    "initialize again": body(id=1, method="initialize", params={}),
    "result of 5 MiB": body(id=1, method="agents/big", params={"size": 5 << 20}),
    "a handler that fails": body(id=1, method="agents/boom"),
    "length negative": b"Content-Length: -5\r\n\r\nabcde",
    "length words": b"Content-Length: abc\r\n\r\n{}",
    "length empty": b"Content-Length:\r\n\r\n{}",
    "length underscored": b"Content-Length: 1_0\r\n\r\n{}",
    "length a fraction": b"Content-Length: 2.0\r\n\r\n{}",
    "length of 5000 digits": b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
    "length 10 GB": b"Content-Length: 10737418240\r\n\r\n{}",
    "length just too long": b"Content-Length: 16777217\r\n\r\n{}",
    "length missing": b"Content-Type: application/json\r\n\r\n{}",
    "lengths that differ": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
    "length too small": b"Content-Length: 10\r\n\r\n" + b'{"jsonrpc":"2.0","id":1,"method":"agents/echo"}',
    "length too large": b"Content-Length: 40\r\n\r\n{}" + body(id=1, method="agents/echo"),
    "no headers": b"\r\n\r\n",
    "charset utf-16": b"Content-Length: 2\r\nContent-Type: x; charset=utf-16\r\n\r\n{}",
    "another header": b"X-Foo: 1\r\nContent-Length: 2\r\n\r\n{}",
    "http get": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "http post": b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    "http post, ours first": b"Content-Length: 2\r\nHost: localhost\r\n\r\n{}",
    "header of 1 MB": b"Content-Type: " + b"a" * 1_000_000 + b"\r\n\r\n",
    "header without end": b"Content-Type: " + b"a" * 9000,
    "many headers": b"Content-Length: 2\r\n" * 1000,
    "NUL bytes": b"\0" * 50,
    "TLS": bytes.fromhex("16030100a5010000a1030345") + b"\r\n",
    "newlines": b"\n" * 10,
}


def _mutations(count: int) -> dict[str, bytes]:
    """A good frame with a few of its bytes exchanged, the same ones in every run."""
    chance = random.Random(7)
    good = echo(b'{"value":{"a":[1,2.5,"x",null]}}')
    found: dict[str, bytes] = {}
    while len(found) < count:
        mutant = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            mutant[chance.randrange(len(mutant))] = chance.randrange(256)
        found[f"mutation {len(found)}"] = bytes(mutant)
    return found


CASES = {**FIXED, **_mutations(60)}


@pytest.mark.parametrize("name", CASES)
async def test_hostile_input_is_answered_or_ends_the_connection_for_a_logged_reason(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "abey.rpc")
    stage = Stage()
    async with greeted(stage) as link:
        link.peer.raw(CASES[name])
        link.peer.ask("good", "agents/echo", {"value": "still here"})
        answers = await _until_the_end(link)
    if _result("good", "still here") in answers:
        assert len(answers) > 1 or " sent " in caplog.text
    else:
        assert " closed: " in caplog.text
    async with greeted(stage) as link:
        assert await link.peer.reply("agents/echo", {"value": name}) == _result("own", name)
    assert len(stage.joined) == 2
    assert stage.left == stage.joined


async def _until_the_end(link: Link) -> list[object]:
    """Everything that is answered to a peer that says nothing more."""
    link.peer.writer.write_eof()
    answers = []
    while (message := await link.peer.message()) is not None:
        answers.append(message)
    return answers


def _result(request_id: str, value: object) -> object:
    return {"jsonrpc": "2.0", "id": request_id, "result": {"value": value}}
