"""Connections to servers, over the pipes of a program or over HTTP."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from abey.runtime.tools.mcp.connection import Connection
from abey.runtime.tools.mcp.program import LONGEST_LINE
from abey.runtime.tools.mcp.spoken import spoken_with
from abey.runtime.tools.processes import Program, Talker

_CONNECT = httpx2.Timeout(30.0, read=None)
"""A stream may be silent while a person is asked; what is waited for has a time of its own."""

# what goes wrong is told to who waits for it; a server shall not write the log of the daemon
logging.getLogger("mcp").setLevel(logging.CRITICAL)
logging.getLogger("httpx2").setLevel(logging.WARNING)


def over_stdio(talker: Talker, program: Program, name: str) -> Connection:
    connections: list[Connection] = []
    transport = spoken_with(talker, program, name, lambda why: connections[0].ended(why))
    connections.append(Connection(transport))
    return connections[0]


def over_http(url: str) -> Connection:
    return Connection(_over_http(url))


@asynccontextmanager
async def _over_http(url: str) -> AsyncIterator[TransportStreams]:
    async with (
        httpx2.AsyncClient(timeout=_CONNECT) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LONGEST_LINE) as streams,
    ):
        yield streams
