"""Hostile frames without end: each of a kind, all of them from one source of chance."""

import json
import string
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from abey.rpc.framing import frame

METHODS = ("agents/get", "agents/status", "agents/complete", "agents/nope", "initialize", "$/x", "", "a" * 5000)


@dataclass(frozen=True, slots=True)
class Hostile:
    kind: str
    data: bytes


def hostile(chance: Random) -> Hostile:
    """The next one: every kind is as likely as any other."""
    kind = chance.choice(sorted(KINDS))
    return Hostile(kind, KINDS[kind](chance))


def good(chance: Random) -> bytes:
    """A request that is well-formed, whatever it comes to."""
    message = {"jsonrpc": "2.0", "id": chance.randrange(1000), "method": chance.choice(METHODS), "params": {"x": 1}}
    return json.dumps(message).encode()


def with_value(chance: Random, value: bytes) -> bytes:
    """A request with this text as the value of a param, or as its id."""
    request_id, params = (b"7", b'{"sessionId":%b}' % value) if chance.random() < 0.7 else (value, b"{}")
    return frame(b'{"jsonrpc":"2.0","id":%b,"method":"agents/get","params":%b}' % (request_id, params))


def _cut(chance: Random, data: bytes) -> bytes:
    return data[: chance.randrange(1, len(data))]


def _mutated(chance: Random) -> bytes:
    mutant = bytearray(frame(good(chance)))
    for _ in range(chance.randint(1, 6)):
        mutant[chance.randrange(len(mutant))] = chance.randrange(256)
    return bytes(mutant)


def _noise(chance: Random) -> bytes:
    return chance.randbytes(chance.randint(1, 3000))


def _headed(*heads: bytes) -> Callable[[Random], bytes]:
    """One of these headers, over a body that is well-formed."""

    def make(chance: Random) -> bytes:
        body = good(chance)
        return chance.choice(heads).replace(b"N", b"%d" % len(body)) + b"\r\n\r\n" + body

    return make


def _valued(*values: bytes) -> Callable[[Random], bytes]:
    return lambda chance: with_value(chance, chance.choice(values))


def _batch(chance: Random) -> bytes:
    one = good(chance)
    notification = b'{"jsonrpc":"2.0","method":"agents/status"}'
    return frame(
        chance.choice(
            [
                b"[]",
                b"[[]]",
                b"[" * 50 + b"]" * 50,
                b"[" + b",".join([one] * 257) + b"]",
                b"[" + b",".join([notification] * chance.randint(1, 256)) + b"]",
                b"[" + one + b",[" + one + b"],1,null," + one + b"]",
                b"[" + b",".join([b"7"] * chance.randint(1, 256)) + b"]",
            ]
        )
    )


def _deep(chance: Random) -> bytes:
    depth = chance.choice([99, 101, 1000, 10_000, 100_000])
    opened, closed = chance.choice([(b"[", b"]"), (b'{"a":', b"}")])
    return with_value(chance, opened * depth + b"1" * (opened != b"[") + closed * depth)


def _http(chance: Random) -> bytes:
    verb = chance.choice([b"GET", b"POST", b"PUT", b"OPTIONS", b"CONNECT", b"PRI", b"HEAD"])
    headers = chance.choice([b"", b"Host: localhost\r\n", b"Upgrade: websocket\r\n", b"Content-Length: 2\r\n"])
    body = frame(good(chance)) * chance.randint(0, 2)
    return verb + b" /" + b"x" * chance.randint(0, 9000) + b" HTTP/1.1\r\n" + headers + b"\r\n" + body


def _not_json(chance: Random) -> bytes:
    text = good(chance)
    letters = "".join(chance.choices(string.printable, k=20)).encode()
    return frame(
        chance.choice(
            [letters, _cut(chance, text), text + b"}", text.replace(b":", b"=", 1), b"", b" \r\n", b"'x'", b"nul"]
        )
    )


def _not_a_message(chance: Random) -> bytes:
    value: object = chance.choice(
        [1, "x", None, True, {}, {"id": 1}, {"jsonrpc": "2.0"}, {"jsonrpc": 2, "method": "x"}]
    )
    return frame(json.dumps(value).encode())


def _odd_member(chance: Random) -> bytes:
    message = json.loads(good(chance))
    odd = chance.choice([None, True, 1.5, [], {}, [1], "", "x" * 3000, -1, 1 << 70])
    message[chance.choice(["jsonrpc", "id", "method", "params"])] = odd
    return frame(json.dumps(message).encode())


def _endless(chance: Random) -> bytes:
    name = chance.choice([b"Content-Type: ", b"Content-Length: ", b"content-type:"])
    return name + chance.choice([b"1", b"a", b" "]) * chance.choice([8190, 9000, 100_000])


def _glued(chance: Random) -> bytes:
    return b"".join(frame(good(chance)) for _ in range(chance.randint(2, 5)))


KINDS: dict[str, Callable[[Random], bytes]] = {
    "not JSON": _not_json,
    "not a message": _not_a_message,
    "an odd member": _odd_member,
    "a batch": _batch,
    "nesting": _deep,
    "a length that is none": _headed(
        b"Content-Length: -N",
        b"Content-Length: +N",
        b"Content-Length: 0xN",
        b"Content-Length: N.0",
        b"Content-Length: ",
    ),
    "lengths that differ": _headed(b"Content-Length: N\r\nContent-Length: 1", b"Content-Length: N, N"),
    "the same length twice": _headed(b"Content-Length: N\r\ncontent-length: N"),
    "a length that is missing": _headed(b"Content-Type: application/json", b"", b"\r\n"),
    "a length that is huge": _headed(b"Content-Length: 16777217", b"Content-Length: 9" + b"9" * 30),
    "a length that is too small": _headed(b"Content-Length: 5", b"Content-Length: 0"),
    "blanks in a header": _headed(
        b"Content-Length : N", b" Content-Length: N", b"Content-Length:\t N \t", b"Content-\0Length: N"
    ),
    "lower-case headers": _headed(b"content-length: N", b"CONTENT-LENGTH:N"),
    "a charset": _headed(
        *(
            b"Content-Type: x; charset=%b\r\nContent-Length: N" % name
            for name in (b"utf-16", b"utf8", b'"UTF-8"', b"\xff", b"")
        )
    ),
    "a foreign header": _headed(b"X-Foo: 1\r\nContent-Length: N", b"Content-Length: N\r\nCookie: a"),
    "NULs": lambda chance: b"\0" * chance.randint(1, 20_000),
    "a number of many digits": _valued(b"9" * 4301, b"-" + b"9" * 5000, b"1e999", b"0." + b"3" * 9000),
    "no number": _valued(b"NaN", b"Infinity", b"-Infinity", b"01", b"+1", b"1."),
    "half of a character": _valued(rb'"\ud800"', rb'"\udfff\ud800"', b'"\xff\xfe"', b'"\xed\xa0\x80"', b'"\0"'),
    "a name twice": _valued(b'{"a":1,"a":2}'),
    "HTTP": _http,
    "half a frame": lambda chance: _cut(chance, frame(good(chance))),
    "glued messages": _glued,
    "a header without an end": _endless,
    "a mutation": _mutated,
    "noise": _noise,
}
