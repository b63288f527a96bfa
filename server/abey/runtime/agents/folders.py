"""The agent files in a folder, by their names; a folder that is not there has none."""

import os
from pathlib import Path


def paths_in(folder: Path) -> list[Path]:
    """In the order of their names."""
    return [folder / name for name in sorted(_names(folder))]


def spelled_in(folder: Path) -> list[str]:
    """The same as strings, in no order: a daemon that looks again and again makes no Path of each."""
    return [f"{folder}/{name}" for name in _names(folder)]


def targets_in(folder: Path) -> list[Path]:
    """Where those lead that are links."""
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for entry in entries if _is_one(entry.name) and entry.is_symlink()]
    except OSError:
        return []
    return sorted(Path(os.path.realpath(link)) for link in links)


def _names(folder: Path) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if _is_one(name)]
    except OSError:
        return []


def _is_one(name: str) -> bool:
    """`*.json` as a shell has it: without hidden ones, which editors and file systems leave beside a file."""
    return name.endswith(".json") and not name.startswith(".")
