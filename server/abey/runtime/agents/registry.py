"""The agents there are: found by slug, by file, or given inline; read again whenever their files changed."""

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from abey.core.agent import Agent
from abey.errors import InvalidAgent, UnknownAgent
from abey.protocol.config import AgentConfig, HttpModel
from abey.protocol.queries import AgentListing, AgentListResult
from abey.runtime.agents import files
from abey.runtime.agents.findings import Finding, quoted
from abey.runtime.agents.loading import Loaded, load_text, load_value
from abey.runtime.agents.prices import PriceList
from abey.runtime.agents.resolve import env_names, resolve
from abey.shared.escaping import escape_line


@dataclass(frozen=True, slots=True)
class _Entry:
    """One file as it was last read: `config` and `agent` are its last good version, of `current` if that is good."""

    path: Path
    stamp: files.Stamp | None
    current: Loaded
    config: AgentConfig | None
    agent: Agent | None

    @property
    def slug(self) -> str:
        """The file's own slug, else that of its last good version, else its name."""
        raw = self.current.raw
        found = raw.get("slug") if isinstance(raw, dict) else None
        return found if isinstance(found, str) else self.agent.slug if self.agent else self.path.stem


class Registry:
    """Agents by slug and by file. A broken file keeps its last good version, which is then marked stale."""

    def __init__(self, config_dir: Path) -> None:
        self._folder = config_dir / "agents"
        self._prices = PriceList(config_dir / "prices.json")
        self._entries: dict[Path, _Entry] = {}

    def list(self, cwd: str | None = None) -> AgentListResult:
        """Every agent of the user, in the order of the file names; of two with one slug the later is `shadowed`."""
        entries = self._user_entries()
        first: dict[str, Path] = {}
        for entry in entries:
            first.setdefault(entry.slug, entry.path)
        items = tuple(_listing(entry, shadowed=first[entry.slug] != entry.path) for entry in entries)
        workspace = os.path.join(cwd, ".abey", "agents") if cwd else ""
        return AgentListResult(items=items, untrusted=(workspace,) if os.path.isdir(workspace) else ())

    def stamps(self) -> Hashable:
        """Differs whenever an agent file of the user, or what one includes, may have changed; reads none of them."""
        paths = self._user_files()
        known = (self._entries.get(path) for path in paths)
        included = {path for entry in known if entry for path, _ in entry.current.includes}
        return tuple((path, files.stamp(path)) for path in (*paths, *sorted(included)))

    def folders(self) -> Mapping[Path, Hashable]:
        """The folders that the user's agent files are in, or would appear in, with the inode of each."""
        links = {path.resolve().parent for path in self._user_files() if path.is_symlink()}
        found = {path: files.stamp(path) for path in (self._folder.parent, self._folder, *sorted(links))}
        return {path: stamp[2] for path, stamp in found.items() if stamp is not None}

    def path_of(self, slug: str) -> Path:
        """The file of the agent `slug`. Raises UnknownAgent, which names those there are."""
        entries = self._user_entries()
        for entry in entries:
            if entry.slug == slug:
                return entry.path
        found = tuple(dict.fromkeys(entry.slug for entry in entries))
        there_are = f"there are: {', '.join(map(quoted, found))}" if found else "there are none"
        raise UnknownAgent(f"no agent {quoted(slug)} in {escape_line(str(self._folder))}; {there_are}", found=[*found])

    def by_slug(self, slug: str) -> Agent:
        """The agent `slug` of the user. Raises UnknownAgent, InvalidAgent."""
        return self.by_file(self.path_of(slug))

    def by_file(self, path: Path) -> Agent:
        """The agent of a file, or its last good version, marked stale. Raises UnknownAgent, InvalidAgent."""
        entry = self._entry(Path(os.path.abspath(path)))
        if entry.agent is None:
            raise _invalid(escape_line(str(entry.path)), entry.current, path=str(entry.path))
        return self._priced(entry.agent, entry.config)

    def inline(self, config: Mapping[str, Any], cwd: str | None) -> Agent:
        """The agent of a JSON value; its relative paths are relative to `cwd`. Raises InvalidAgent."""
        loaded = load_value(config, Path(cwd) if cwd else None)
        if loaded.config is None:
            raise _invalid("the inline config", loaded)
        return self._priced(resolve(loaded.config, loaded.raw), loaded.config)

    def from_config(self, config: Mapping[str, Any]) -> Agent:
        """The agent that `Agent.config` was of, with the same hashes. Raises InvalidAgent."""
        return self.inline(config, None)

    def _priced(self, agent: Agent, config: AgentConfig | None) -> Agent:
        """With the prices of the list, where its file has none."""
        model = config.model if config else None
        if agent.prices is not None or not isinstance(model, HttpModel):
            return agent
        prices = self._prices.of(model)
        return agent if prices is None else replace(agent, prices=prices)

    def _user_entries(self) -> tuple[_Entry, ...]:
        """Every file there is now; one that vanishes while we look is none."""
        found = []
        for path in self._user_files():
            try:
                found.append(self._entry(path))
            except UnknownAgent:
                continue
        return tuple(found)

    def _user_files(self) -> tuple[Path, ...]:
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(".json"))
        except OSError:
            return ()
        return tuple(self._folder / name for name in names)

    def _entry(self, path: Path) -> _Entry:
        """The file as it is now, read again only if it, or what it includes, changed. Raises UnknownAgent."""
        known = self._entries.get(path)
        now = files.stamp(path)
        if known and now and known.stamp == now and _unchanged(known.current):
            return known
        current = _read(path)
        if current.config is not None:
            entry = _Entry(path, now, current, current.config, resolve(current.config, current.raw))
        elif known is not None and known.agent is not None:
            entry = replace(known, stamp=now, current=current, agent=replace(known.agent, stale=True))
        else:
            entry = _Entry(path, now, current, None, None)
        self._entries[path] = entry
        return entry


def _read(path: Path) -> Loaded:
    try:
        return load_text(files.read_text(path), path)
    except files.Unreadable as error:
        if error.missing:
            raise UnknownAgent(f"no agent file {escape_line(str(path))}", path=str(path)) from None
        return Loaded("", None, None, (Finding(0, 0, "error", "unreadable", error.message),))


def _unchanged(loaded: Loaded) -> bool:
    """Whether what the file includes is as it was."""
    return all(files.stamp(path) == stamp for path, stamp in loaded.includes)


def _listing(entry: _Entry, *, shadowed: bool) -> AgentListing:
    agent, config = entry.agent, entry.config
    return AgentListing(
        slug=entry.slug,
        path=str(entry.path),
        description=config.description if config else "",
        state="shadowed" if shadowed else "invalid" if agent is None else "stale" if agent.stale else "ok",
        config_hash=agent.config_hash if agent else None,
        env_names=env_names(config) if config else (),
        diagnostics=entry.current.diagnostics(),
    )


def _invalid(name: str, loaded: Loaded, **details: str) -> InvalidAgent:
    """The first error in one line: where, and the fact; the rest is in `data.diagnostics`."""
    first, at = loaded.errors[0], loaded.diagnostics()[loaded.findings.index(loaded.errors[0])].range.start
    where = f":{at.line + 1}:{at.character + 1}" if details else f" at {escape_line(first.pointer) or '/'}"
    shown = [diagnostic.wire() for diagnostic in loaded.diagnostics()]
    return InvalidAgent(f"{name}{where}: {first.message}", diagnostics=shown, **details)
