"""A plain JSON-RPC server of asyncio and json: `python -m bench.floors.answering FILE [SOCKET]`.

It answers every request with the JSON value in FILE, over its pipes or, where one is named, over a Unix socket.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

_LIMIT = 1 << 24


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, result: Any) -> None:
    """Until the client leaves."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            request = json.loads(await reader.readexactly(int(head[15:])))
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
            body = json.dumps(reply, separators=(",", ":")).encode()
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    except asyncio.IncompleteReadError:
        writer.close()


async def serve_socket(path: str, result: Any) -> None:
    server = await asyncio.start_unix_server(lambda r, w: answer(r, w, result), path, limit=_LIMIT)
    await server.serve_forever()


async def serve_pipes(result: Any) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    await answer(reader, asyncio.StreamWriter(transport, protocol, None, loop), result)


def main(result: Path, sockets: list[str]) -> None:
    value = json.loads(result.read_text())
    asyncio.run(serve_socket(sockets[0], value) if sockets else serve_pipes(value))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
