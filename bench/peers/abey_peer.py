"""abey as one of the peers, in their driver: `python abey_peer.py --variant in-process --dir SCRATCH …`.

in-process  the core and the journal, called directly: 2.5 fdatasync a step
socket      the same through the daemon, a process of its own, over its Unix socket
"""

import argparse
from pathlib import Path
from typing import Any

from common import Peer, main, user_text  # type: ignore[import-not-found]  # the driver is somewhere else


def factory() -> type[Peer]:
    """What is imported here counts as the start of the peer."""
    from bench.peers.variants import VARIANTS

    class Abey(Peer):  # type: ignore[misc]  # nothing is known of it
        name = "abey"

        def __init__(self, root: Path, options: argparse.Namespace) -> None:
            self._one = VARIANTS[options.variant](root)

        async def open(self) -> None:
            await self._one.open()

        async def start(self, sid: str, i: int) -> None:
            await self._one.start(sid, user_text(i))

        async def approve(self, sid: str, i: int) -> str:
            return await self._one.approve(sid)

        async def close(self) -> None:
            await self._one.close()

        def extra(self) -> dict[str, Any]:
            return self._one.extra

    return Abey


if __name__ == "__main__":
    main(factory, ["in-process", "socket"])
