"""An extension that waits where the file `wish` of the session's folder says, until there is a file `go`."""

import asyncio
from pathlib import Path

from abey.extensions import Capability, Extension, Json, ModelCall, Proceed, SessionInfo, Signal, Tool, ToolRun


def wish(session: SessionInfo) -> str:
    path = Path(session.cwd) / "wish"
    return path.read_text() if path.exists() else ""


async def wait(session: SessionInfo, *, deaf: bool) -> None:
    """A deaf one does not end when it is cancelled."""
    folder = Path(session.cwd)
    (folder / "there").touch()
    while not (folder / "go").exists():
        try:
            await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            if not deaf:
                raise
    (folder / "woken").touch()


async def create(session: SessionInfo, signal: Signal) -> Path:
    waiting = asyncio.ensure_future(wait(session, deaf="deaf" in wish(session)))
    if "signal" in wish(session):
        fired = asyncio.ensure_future(signal.wait())
        await asyncio.wait({waiting, fired}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
    else:
        await waiting
    return Path(session.cwd) / "disposed"


async def dispose(path: Path) -> None:
    await asyncio.to_thread(path.touch)


async def rest(run: ToolRun) -> Json:
    await wait(run.session, deaf="deaf" in wish(run.session))
    return "rested"


class Sleeper(Extension):
    capabilities = (Capability("thing", create, dispose),)
    tools = (Tool("rest", "rests", {"type": "object"}, rest, destructive=False),)

    async def around(self, call: ModelCall, proceed: Proceed) -> None:
        call.add_tool("rest")
        wanted, deaf = wish(call.session), "deaf" in wish(call.session)
        if "before" in wanted:
            await wait(call.session, deaf=deaf)
        if "capability" in wanted:
            await call.capabilities.get("thing")
        await proceed()
        if "after" in wanted:
            await wait(call.session, deaf=deaf)
