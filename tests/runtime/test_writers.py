"""The threads that write journals."""

import asyncio
import gc
import os
import threading
import time
import weakref
from contextlib import suppress
from typing import Any

import pytest

from abey.runtime.writers import Writers


async def done_by(writers: Writers, function: Any, *arguments: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(writers, function, *arguments)


def threads_beside(others: set[threading.Thread]) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread not in others]


def fail(error: Exception) -> None:
    raise error


async def test_what_a_thread_does_comes_back_and_so_does_what_it_raises() -> None:
    writers, error = Writers(2), OSError(5, "no")
    assert await done_by(writers, pow, 2, 5) == 32
    with pytest.raises(OSError) as raised:
        await done_by(writers, fail, error)
    assert raised.value is error
    assert await done_by(writers, threading.get_ident) != threading.get_ident()


async def test_there_are_as_many_threads_as_there_was_work_at_one_time_and_no_more_than_allowed() -> None:
    others, writers, gate = set(threading.enumerate()), Writers(3), threading.Event()
    for _ in range(5):
        await done_by(writers, abs, -1)
    assert len(threads_beside(others)) == 1
    waiting = [asyncio.ensure_future(done_by(writers, gate.wait)) for _ in range(9)]
    await asyncio.sleep(0)
    threads = threads_beside(others)
    gate.set()
    assert (await asyncio.gather(*waiting), len(threads)) == ([True] * 9, 3)


class Journaled:
    """What a write is about."""


def fail_at(_: Journaled) -> None:
    raise OSError(5, "no")


async def test_a_failure_keeps_nothing_of_what_it_was_about() -> None:
    writers, subject = Writers(1), Journaled()
    kept = weakref.ref(subject)
    gc.disable()  # nobody comes by to find circles
    try:
        with suppress(OSError):
            await done_by(writers, fail_at, subject)
        del subject
        await done_by(writers, abs, -1)
        assert kept() is None
    finally:
        gc.enable()


async def test_work_that_finds_all_threads_busy_begins_once_whoever_waited_for_another_goes_on() -> None:
    writers, order = Writers(1), list[str]()

    async def wait(name: str) -> None:
        await done_by(writers, order.append, f"{name} is done")
        order.append(f"{name} goes on")

    await asyncio.gather(wait("a"), wait("b"), wait("c"))
    assert order == [f"{name} {what}" for name in "abc" for what in ("is done", "goes on")]


async def test_others_have_their_turns_between_the_answers_of_much_work_that_waits() -> None:
    loop, writers, order = asyncio.get_running_loop(), Writers(4), list[str]()

    def turn() -> None:
        order.append("|")
        loop.call_soon(turn)

    def go_on() -> None:
        time.sleep(0.002)  # threads have the time to be done with more
        order.append("w")

    async def wait() -> None:
        await done_by(writers, abs, -1)
        go_on()

    loop.call_soon(turn)
    await asyncio.gather(*(wait() for _ in range(40)))
    assert max(map(len, "".join(order).split("|"))) <= 4


async def test_work_for_which_the_system_has_no_thread_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    writers = Writers(1)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched, pytest.raises(RuntimeError):
        patched.setattr(threading.Thread, "start", refuse)
        await done_by(writers, abs, -1)
    assert await asyncio.wait_for(done_by(writers, abs, -1), 10) == 1


async def test_whoever_does_not_wait_any_more_is_told_nothing() -> None:
    writers, gate = Writers(1), threading.Event()
    given_up = asyncio.ensure_future(done_by(writers, gate.wait))
    await asyncio.sleep(0)
    given_up.cancel()
    gate.set()
    assert await done_by(writers, abs, -1) == 1
    assert given_up.cancelled()


async def test_whoever_waits_goes_on_in_the_turn_of_the_loop_in_which_the_answer_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, writers, gate, said = asyncio.get_running_loop(), Writers(1), threading.Event(), threading.Event()
    order, write = list[str](), os.write

    def say(*what: Any) -> int:
        written = write(*what)
        said.set()
        return written

    async def wait() -> None:
        await done_by(writers, gate.wait)
        order.append("went on")

    monkeypatch.setattr(os, "write", say)
    waiting = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    gate.set()
    said.wait(10)
    loop.call_soon(loop.call_soon, order.append, "the next turn")
    await waiting
    await asyncio.sleep(0)
    assert order == ["went on", "the next turn"]


def never(_: object) -> None:
    raise AssertionError


async def test_an_answer_is_a_future_as_any_other_whoever_waits_for_it() -> None:
    writers, gate, told = Writers(1), threading.Event(), list[str]()
    answer = asyncio.get_running_loop().run_in_executor(writers, gate.wait)
    answer.add_done_callback(lambda one: told.append(f"before: {one.result()}"))
    answer.add_done_callback(never)
    assert answer.remove_done_callback(never) == 1
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(answer), 0.01)
    gate.set()
    await asyncio.wait({answer})
    answer.add_done_callback(lambda one: told.append(f"after: {one.result()}"))
    await asyncio.sleep(0)
    assert told == ["before: True", "after: True"]


async def test_the_threads_end_once_nobody_has_them() -> None:
    others, writers = set(threading.enumerate()), Writers(2)
    await asyncio.gather(*(done_by(writers, abs, -1) for _ in range(4)))
    threads = threads_beside(others)
    del writers
    gc.collect()
    for thread in threads:
        await asyncio.to_thread(thread.join, 10)
    assert [thread.is_alive() for thread in threads] == [False] * len(threads)
