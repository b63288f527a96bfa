"""Which folders are trusted: the method `agents/trust`, and the agents that it lets in (agent-file.md, Trust)."""

from collections.abc import Callable, Sequence
from pathlib import Path

from abey.daemon.services import lent_by
from abey.daemon.settings import Settings
from abey.protocol.trust import TrustParams, TrustResult
from abey.rpc.peer import Peer
from abey.runtime.agents.aside import Aside
from abey.runtime.agents.floors import Floors
from abey.runtime.agents.registry import Registry
from abey.runtime.agents.trust import Trust
from abey.runtime.agents.workspaces import Workspaces
from abey.runtime.ports import Clock
from abey.runtime.store.io import FileIO


def make_registry(
    settings: Settings, io: FileIO, peers: Callable[[], Sequence[Peer]]
) -> tuple[Trust, Registry, Floors]:
    """The agents and the floors of the user, and of the workspaces that the user trusts, or that one of the `peers`
    does."""
    home = settings.env.get("HOME")
    trust = Trust(settings.state_dir / "trust.json", io, Path(home) if home else None)
    workspaces = Workspaces(
        trust,
        lent=lambda: [folder for peer in peers() for folder in lent_by(peer)],
        opened=lambda: [folder for peer in peers() for folder in peer.editor.folders],
    )
    return trust, Registry(settings.config_dir, workspaces), Floors(settings.config_dir, workspaces)


class Trusting:
    """A handler. `changed` is called once another choice is durable."""

    def __init__(self, trust: Trust, clock: Clock, aside: Aside, changed: Callable[[], None]) -> None:
        self._trust = trust
        self._clock = clock
        self._aside = aside
        self._changed = changed

    async def trust(self, _: Peer, params: TrustParams) -> TrustResult:
        if params.dir is not None:
            await self._aside.run(self._choose, params.action, Path(params.dir))
            self._changed()
        return await self._aside.run(self._listed)

    def _choose(self, action: str, folder: Path) -> None:
        if action == "add":
            self._trust.add(folder, self._clock.now())
        else:
            self._trust.remove(folder)

    def _listed(self) -> TrustResult:
        return TrustResult(items=self._trust.items(), damaged=self._trust.fault)
