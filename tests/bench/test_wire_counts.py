"""What a request costs on the wire in calls of functions, tasks and turns of the loop."""

import asyncio
import json
from typing import Any

from support.costs import calls_counted
from support.raw_peer import INITIALIZE, Stage

from abey.rpc.connection import LIMITS, Connection
from abey.rpc.framing import frame

MOST_CALLS = 105
"""Of functions, from the bytes of a request to those of its answer; 99 when this was written."""


class Pipe(asyncio.Transport):
    """Takes what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def asked(request_id: int, method: str, params: Any) -> bytes:
    return frame(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).encode())


async def test_a_request_that_waits_for_nothing_is_answered_in_a_few_calls_and_before_anything_else_runs() -> None:
    pipe, connection = Pipe(), Connection(Stage().surface, limits=LIMITS)
    connection.connection_made(pipe)
    connection.data_received(asked(0, "initialize", INITIALIZE))
    connection.data_received(asked(1, "agents/now", {"value": 1}))
    tasks, third = asyncio.all_tasks(), asked(2, "agents/now", {"value": 2})
    with calls_counted() as count:
        connection.data_received(third)
        spent = count()
    assert pipe.written[1:] == [
        frame(b'{"jsonrpc":"2.0","id":%d,"result":{"value":%d}}' % (number, number)) for number in (1, 2)
    ]
    assert (asyncio.all_tasks() == tasks, spent <= MOST_CALLS) == (True, True), spent
