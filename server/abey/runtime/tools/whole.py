"""All that a program prints: a head and a tail for the model, and a blob of everything where that is more.

What goes to the blob is written by a thread, a piece at a time: the event loop never waits for the disk, and where the
disk is slow the program waits, not the memory.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from abey.protocol.journal import BlobRef
from abey.runtime.ports import Spool
from abey.runtime.tools.descriptors import Inlet, completed
from abey.runtime.tools.output import Heard, Output

PIECE_BYTES = 1 << 20


class WholeOutput:
    """Collects bytes as they come; ended by `text`, then `kept`, and by `close` in any case. A small output needs no
    spool. `heard` gets every piece of the text at once."""

    def __init__(self, open_spool: Callable[[], Spool], heard: Heard | None = None) -> None:
        self._open_spool = open_spool
        self._output = Output(heard)
        self._spool: Spool | None = None
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._takes_more = True
        self._failure: OSError | None = None
        self._writing: asyncio.Task[None] | None = None
        self._inlet: Inlet | None = None

    def flows_from(self, inlet: Inlet | None) -> None:
        """What `add` gets comes from there: it is held up while the disk is behind."""
        self._inlet = inlet

    def add(self, data: bytes) -> None:
        self._output.add(data)
        if not self._takes_more:
            return
        self._pieces.append(data)
        self._waiting += len(data)
        if not self._output.is_cut or self._waiting < PIECE_BYTES:
            return
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write_all())
        elif self._inlet is not None:
            self._inlet.pause()

    def text(self) -> str:
        """What the model is told. Ends the output."""
        return self._output.text()

    @property
    def foreign(self) -> int:
        """How many bytes were no UTF-8, and stand in the text as U+FFFD."""
        return self._output.foreign

    async def kept(self) -> BlobRef | None:
        """The blob of everything, None where the model is told everything. Raises OSError: it could not be kept."""
        # a thread cannot be cancelled: whoever is waits for it
        work = asyncio.ensure_future(self._keep())
        await completed(work)
        return work.result()

    async def close(self) -> None:
        """Nothing is left of what was not kept; not to be cancelled."""
        self._takes_more = False
        if self._writing is not None:
            await self._writing
        if self._spool is not None:
            # what cannot be removed is a file that the next clean-up finds
            with suppress(OSError):
                await asyncio.to_thread(self._spool.drop)

    async def _keep(self) -> BlobRef | None:
        if self._writing is not None:
            await self._writing
        if not self._output.is_cut:
            return None
        await self._write()
        if self._failure is not None or self._spool is None:
            raise self._failure or OSError("nothing was written")
        return await asyncio.to_thread(self._spool.keep)

    async def _write_all(self) -> None:
        while self._takes_more and self._waiting >= PIECE_BYTES:
            await self._write()
            if self._inlet is not None:
                self._inlet.resume()
        self._writing = None

    async def _write(self) -> None:
        piece = b"".join(self._pieces)
        self._pieces, self._waiting = [], 0
        if self._spool is None:
            self._spool = self._open_spool()
        if not self._takes_more or not piece:
            return
        try:
            if not await asyncio.to_thread(self._spool.write, piece):
                self._takes_more = False
        except OSError as error:
            self._failure, self._takes_more = error, False
