"""What goes out to a client, in how many writes, and what is left unread."""

import asyncio
from collections.abc import Callable

import pytest
from support.costs import grows

from abey.rpc import outbox as room
from abey.rpc.framing import frame
from abey.rpc.outbox import BACKLOG_BYTES, Outbox


class Pipe(asyncio.WriteTransport):
    """Nobody reads what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.cut = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.cut:
            self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.cut

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.written))

    def abort(self) -> None:
        self.cut = True

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.written.append(b"the end")


def test_what_is_sent_within_goes_out_in_one_write_and_in_order() -> None:
    pipe = Pipe()
    outbox = Outbox("c1", pipe)
    outbox.send(b"1")
    with outbox:
        outbox.send(b"2")
        outbox.send(b"3")
    outbox.send(b"4")
    assert pipe.written == [frame(b"1"), frame(b"2") + frame(b"3"), frame(b"4")]


def test_what_is_not_out_yet_is_unread_too() -> None:
    pipe = Pipe()
    outbox = Outbox("c1", pipe)
    outbox.send(b"1")
    with outbox:
        outbox.send(b"2")
        assert outbox.unread() == len(frame(b"1") + frame(b"2"))


def test_who_is_cut_off_within_gets_nothing_of_it() -> None:
    pipe = Pipe()
    outbox = Outbox("c1", pipe)
    with outbox:
        outbox.send(b"1")
        outbox.send(b"x" * BACKLOG_BYTES)
        outbox.send(b"2")
    assert (pipe.written, pipe.cut) == ([], True)


class Measured(bytes):
    """Whoever asks how long it is makes a call."""

    def __len__(self) -> int:
        return super().__len__()


def test_what_is_sent_within_costs_the_same_however_much_is_held_already(monkeypatch: pytest.MonkeyPatch) -> None:
    def sending(count: int) -> Callable[[], object]:
        def send() -> None:
            outbox = Outbox("c1", Pipe())
            with outbox:
                for _ in range(count):
                    outbox.send(b"1")

        return send

    monkeypatch.setattr(room, "frame", Measured)
    assert grows(sending, 50) < 5


def test_who_was_told_that_nothing_more_comes_gets_nothing_more() -> None:
    pipe = Pipe()
    outbox = Outbox("c1", pipe)
    outbox.send(b"1")
    outbox.finish()
    outbox.send(b"2")
    with outbox:
        outbox.send(b"3")
    assert pipe.written == [frame(b"1"), b"the end"]
