"""What the SDK says and hears, as lines of a program."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from abey.runtime.tools.descriptors import completed
from abey.runtime.tools.mcp.lines import message_of
from abey.runtime.tools.mcp.program import ServerProgram, TooLong, started
from abey.runtime.tools.processes import Program, Talker

log = logging.getLogger(__name__)

Heard = MemoryObjectSendStream[SessionMessage | Exception]
Said = MemoryObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def spoken_with(
    talker: Talker, program: Program, name: str, ended: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """A transport of the SDK over the pipes of `program`, which is started, and ended with all its tree. `ended` gets
    what it said last where it ends by itself. Raises CannotStart, OSError."""
    server = await started(talker, program, name)
    heard_in, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said, said_out = anyio.create_memory_object_stream[SessionMessage](0)
    hearing = asyncio.create_task(_hear(server, heard_in, ended))
    saying = asyncio.create_task(_say(server, said_out, heard_in, ended))
    try:
        yield heard, said
    finally:
        hearing.cancel()
        saying.cancel()
        for stream in (heard_in, heard, said, said_out):
            stream.close()
        await server.close()
        await completed(asyncio.gather(hearing, saying, return_exceptions=True))


async def _hear(server: ServerProgram, heard: Heard, ended: Callable[[str], None]) -> None:
    why = ""
    try:
        while (line := await server.line()) is not None:
            message = message_of(line)
            if message is None:
                log.debug("%d bytes that are no message are passed over", len(line))
                continue
            await heard.send(SessionMessage(message))
    except TooLong as fault:
        why = str(fault)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # nobody listens any more
    ended(why or await server.ending())
    heard.close()


async def _say(server: ServerProgram, said: Said, heard: Heard, ended: Callable[[str], None]) -> None:
    try:
        async for message in said:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await server.write(text.encode("utf-8") + b"\n")
    except OSError:
        # it reads no more: what waits for its answer shall not wait for ever, and is told why
        ended(await server.ending())
        heard.close()
