"""The agents there are: found by slug, by file, or given inline; read again whenever their files changed."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from abey.core.agent import Agent
from abey.errors import AbeyError, InvalidAgent, PermissionDenied, UnknownAgent
from abey.protocol.config import AgentConfig, HttpModel
from abey.protocol.queries import AgentListing, AgentListResult
from abey.runtime.agents import files
from abey.runtime.agents.aside import Aside
from abey.runtime.agents.entries import Entries, Entry
from abey.runtime.agents.findings import quoted
from abey.runtime.agents.folders import paths_in, spelled_in, targets_in
from abey.runtime.agents.loading import Loaded, load_value
from abey.runtime.agents.prices import PriceList
from abey.runtime.agents.resolve import env_names, resolve
from abey.runtime.agents.workspaces import Lent, Workspaces
from abey.shared.escaping import escape_line
from abey.shared.workspace import MARK, untrusted_words


class Found(NamedTuple):
    """The file of an agent, and the workspace on whose trust it depends: none for a file of the user."""

    path: Path
    workspace: Path | None


Group = tuple[Path | None, tuple[Entry, ...]]
"""A workspace, or none for the user, and the agents in it."""


class Registry:
    """Agents by slug and by file, those of a trusted workspace before the user's. A broken file keeps its last good
    version, which is then marked stale, and hides no other. Threads may ask at the same time, and
    who must not wait for a disk asks `aside`."""

    def __init__(self, config_dir: Path, workspaces: Workspaces | None = None, entries: Entries | None = None) -> None:
        self._folder = config_dir / "agents"
        self._prices = PriceList(config_dir / "prices.json")
        self._workspaces = workspaces
        self._entries = entries or Entries()
        self.holds, self.in_use = self._entries.holds, self._entries.in_use
        self.aside = Aside()
        self._listeners: list[Callable[[], None]] = []

    def list(self, cwd: str | Path | None = None, lent: Lent = ()) -> AgentListResult:
        """Every agent that a session in `cwd` could name, in the order of the file names: those of its workspace,
        if that is trusted, then those of the user. Of two with one slug the later is `shadowed`."""
        return self.list_in(() if cwd is None else (cwd,), lent)

    def list_in(self, folders: Sequence[str | Path], lent: Lent = ()) -> AgentListResult:
        """The same for several folders at once: an agent of the user is shadowed if it is in any of them."""
        found = dict.fromkeys(one for folder in folders if (one := self._workspace(folder)) is not None)
        trusted = [one for one in found if self._trusts(one, lent)]
        groups = [self._in(_agents_of(one)) for one in trusted]
        winners = [_winners(group) for group in groups]
        items = [_listing(entry, good) for group, good in zip(groups, winners, strict=True) for entry in group]
        mine = self._in(self._folder)
        best = _winners(mine) | {slug: entry for good in winners for slug, entry in good.items()}
        items += [_listing(entry, best) for entry in mine]
        return AgentListResult(items=tuple(items), untrusted=tuple(str(one) for one in found if one not in trusted))

    def find(self, slug: str, cwd: str | Path | None = None, lent: Lent = ()) -> Found:
        """Where the agent `slug` is for a session in `cwd`. Raises UnknownAgent, which names those there are."""
        groups, untrusted = self._groups(cwd, lent)
        for where, entries in groups:
            if (best := _winners(entries).get(slug)) is not None:
                return Found(best.path, where)
        for where, entries in groups:
            for entry in entries:
                if entry.slug == slug:
                    return Found(entry.path, where)
        known = tuple(dict.fromkeys(entry.slug for _, entries in groups for entry in entries))
        raise self._unknown(slug, known, untrusted)

    def by_slug(self, slug: str) -> Agent:
        """The agent `slug` of the user. Raises UnknownAgent, InvalidAgent."""
        return self.by_file(self.find(slug).path)

    def by_file(self, path: Path, workspace: str | None = None) -> Agent:
        """The agent of a file, or its last good version, marked stale; with `workspace` only while that is trusted.
        Raises UnknownAgent, InvalidAgent, PermissionDenied."""
        if workspace is not None:
            self._check(workspace)
        entry = self._entries.at(files.absolute(path))
        if entry.agent is None:
            raise _invalid(entry.current.first_error(entry.path), entry.current, path=str(entry.path))
        return self._priced(entry.agent, entry.config)

    async def prepare(self, path: Path, workspace: str | None = None) -> None:
        """What `by_file` would have to read for long is read aside; whatever goes wrong, that says so, too."""
        if self._entries.is_new(files.absolute(path)):
            with suppress(AbeyError):
                await self.aside.run(self.by_file, path, workspace)

    def inline(self, config: Mapping[str, Any], cwd: str | None) -> Agent:
        """The agent of a JSON value; its relative paths are relative to `cwd`. Raises InvalidAgent."""
        loaded = load_value(config, Path(cwd) if cwd else None)
        if loaded.config is None:
            first = loaded.errors[0]
            at = f" at {escape_line(first.pointer)}" if first.pointer else ""
            raise _invalid(f"the inline config{at}: {first.message}", loaded)
        return self._priced(resolve(loaded.config, loaded.raw), loaded.config)

    def from_config(self, config: Mapping[str, Any]) -> Agent:
        """The agent that `Agent.config` was of, with the same hashes. Raises InvalidAgent."""
        return self.inline(config, None)

    def refuse_untrusted(self, path: Path, lent: Lent = ()) -> None:
        """Raises PermissionDenied for a file in the `.abey` of an untrusted workspace, but not for a user's own one."""
        workspace = self.workspace_around(path)
        if workspace is not None and not self._trusts(workspace, lent):
            raise PermissionDenied(untrusted_words(workspace), dir=str(workspace))

    def workspace_around(self, path: Path) -> Path | None:
        """The workspace whose `.abey` a file is in; None where it is in none, or among the user's own agents."""
        is_own = path.parent == self._folder
        return self._workspaces.around(path) if self._workspaces and not is_own else None

    def may_read(self, path: Path, lent: Lent = ()) -> bool:
        """Whether a file is in the `.abey` of a workspace that is trusted."""
        workspace = self._workspaces.around(path) if self._workspaces else None
        return workspace is not None and self._trusts(workspace, lent)

    def agents(self, cwd: str | Path | None = None, lent: Lent = ()) -> Mapping[str, Agent]:
        """By slug, all that a session in `cwd` could name and that can be used."""
        groups, _ = self._groups(cwd, lent)
        best = {slug: entry for _, entries in reversed(groups) for slug, entry in _winners(entries).items()}
        return {slug: entry.agent for slug, entry in best.items() if entry.agent is not None}

    def subscribe(self, hear: Callable[[], None]) -> None:
        """`hear` is called, on the event loop, after agent files have changed in a way that makes a difference."""
        self._listeners.append(hear)

    def changed(self) -> None:
        """Tells the subscribers."""
        for hear in self._listeners:
            hear()

    def stamps(self) -> Hashable:
        """Differs whenever an agent file that is looked after, or what one includes, may have changed; reads none."""
        own = self._agent_folders()
        paths: set[Path | str] = {path for folder in own for path in spelled_in(folder)}
        return frozenset((path, files.stamp(path)) for path in paths | self._entries.included_in(own))

    def folders(self) -> Mapping[Path, Hashable]:
        """The folders that these files are in, or would appear in, with the inode of each; the user's first."""
        own = self._agent_folders()
        links = [target.parent for folder in own for target in targets_in(folder)]
        found = {path: files.stamp(path) for one in own for path in (one.parent, one)}
        found |= {path: files.stamp(path) for path in links if path not in found}
        return {path: stamp[-1] for path, stamp in found.items() if stamp is not None}

    def _agent_folders(self) -> Sequence[Path]:
        used = self._workspaces.in_use() if self._workspaces else ()
        return [self._folder, *map(_agents_of, used)]

    def _groups(self, cwd: str | Path | None, lent: Lent) -> tuple[Sequence[Group], Path | None]:
        """The agents that a session in `cwd` could name, those of its workspace first; that, if it is untrusted."""
        workspace = None if cwd is None else self._workspace(cwd)
        mine: Group = (None, self._in(self._folder))
        if workspace is None or not self._trusts(workspace, lent):
            return (mine,), workspace
        return ((workspace, self._in(_agents_of(workspace))), mine), None

    def _workspace(self, folder: str | Path) -> Path | None:
        return self._workspaces.of(folder) if self._workspaces else None

    def _trusts(self, workspace: Path, lent: Lent) -> bool:
        """One that is used is looked after from now on."""
        if self._workspaces is None or not self._workspaces.trusts(workspace, lent):
            return False
        self._workspaces.use(workspace)
        return True

    def _check(self, workspace: str) -> None:
        """Raises PermissionDenied unless a session that was started in this workspace may read its files."""
        if self._workspaces is None or not self._workspaces.trusts_for_sessions(workspace):
            raise PermissionDenied(untrusted_words(Path(workspace)), dir=workspace)
        self._workspaces.use(Path(workspace))

    def _priced(self, agent: Agent, config: AgentConfig | None) -> Agent:
        """With the prices of the list, where its file has none."""
        model = config.model if config else None
        if agent.prices is not None or not isinstance(model, HttpModel):
            return agent
        prices = self._prices.of(model)
        return agent if prices is None else replace(agent, prices=prices)

    def _in(self, folder: Path) -> tuple[Entry, ...]:
        """Every file there is now; one that vanishes while we look is none."""
        found = []
        for path in paths_in(folder):
            try:
                found.append(self._entries.at(path))
            except UnknownAgent:
                continue
        return tuple(found)

    def _unknown(self, slug: str, known: Sequence[str], untrusted: Path | None) -> UnknownAgent:
        there_are = f"there are: {', '.join(map(quoted, known))}" if known else "there are none"
        message = f"no agent {quoted(slug)} in {escape_line(str(self._folder))}; {there_are}"
        if untrusted is None:
            return UnknownAgent(message, found=[*known])
        message += f"; those of {escape_line(str(untrusted))} are not read: it is not trusted"
        return UnknownAgent(message, found=[*known], untrusted=str(untrusted))


def _agents_of(workspace: Path) -> Path:
    return workspace / MARK / "agents"


def _winners(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Of those with one slug the first that can be used."""
    best: dict[str, Entry] = {}
    for entry in entries:
        if entry.agent is not None:
            best.setdefault(entry.slug, entry)
    return best


def _listing(entry: Entry, best: Mapping[str, Entry]) -> AgentListing:
    agent, config = entry.agent, entry.config
    shadowed = agent is not None and best[entry.slug].path != entry.path
    return AgentListing(
        slug=entry.slug,
        path=str(entry.path),
        description=config.description if config else "",
        state="shadowed" if shadowed else "invalid" if agent is None else "stale" if agent.stale else "ok",
        config_hash=agent.config_hash if agent else None,
        env_names=env_names(config) if config else (),
        diagnostics=entry.current.diagnostics(),
    )


def _invalid(first_error: str, loaded: Loaded, **details: str) -> InvalidAgent:
    """The first error in one line; the rest is in `data.diagnostics`."""
    return InvalidAgent(first_error, diagnostics=[diagnostic.wire() for diagnostic in loaded.diagnostics()], **details)
