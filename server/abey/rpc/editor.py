"""What a client is as an editor: its capabilities, how it counts columns, the folders that it has open."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from abey.protocol.base import Json
from abey.rpc.faults import InvalidParams
from abey.shared.uris import path_of

if TYPE_CHECKING:
    from lsprotocol import types as lsp

FOLDERS = 256
"""More folders of one client are not remembered."""


ENCODINGS = ("utf-8", "utf-16", "utf-32")
ENCODING = "utf-16"
"""How a client counts columns that says nothing of it."""
MEMBERS = 1000
"""Longer lists of LSP are refused: nothing here needs them, and everybody waits while one is read."""


@dataclass(slots=True, eq=False)
class Editor:
    """`said` are the capabilities as the client put them. `folders` are absolute paths as the client spells them, and
    change while it is connected."""

    said: Json = None
    encoding: str = ENCODING
    folders: tuple[Path, ...] = ()
    _capabilities: "lsp.ClientCapabilities | None" = field(default=None, repr=False)

    @property
    def capabilities(self) -> "lsp.ClientCapabilities":
        """Read when an editor is first asked for what it can show: most clients are none."""
        if self._capabilities is None:
            from abey.rpc.structuring import client_capabilities

            self._capabilities = client_capabilities(self.said)
        return self._capabilities

    def change_folders(self, params: Json) -> None:
        """Takes the params of `workspace/didChangeWorkspaceFolders`. Raises InvalidParams where they are not that."""
        event = params.get("event") if isinstance(params, dict) else None
        if not isinstance(event, dict):
            raise InvalidParams("event: a WorkspaceFoldersChangeEvent is needed")
        added, removed = (_changed(name, event.get(name)) for name in ("added", "removed"))
        self.folders = _first([*(folder for folder in self.folders if folder not in removed), *added])


def editor(params: Mapping[str, Json]) -> Editor:
    """Reads the params of `initialize`; what in them is not as LSP has it is passed over."""
    capabilities = params.get("capabilities")
    return Editor(capabilities, _encoding(capabilities), _folders(params))


def _encoding(capabilities: Json) -> str:
    """The first that the client names and that there is, as pygls chooses it."""
    general = capabilities.get("general") if isinstance(capabilities, dict) else None
    named = general.get("positionEncodings") if isinstance(general, dict) else None
    if not isinstance(named, list) or len(named) > MEMBERS or any(isinstance(one, list | dict) for one in named):
        return ENCODING
    return next((one for one in named if one in ENCODINGS), ENCODING)


def _folders(params: Mapping[str, Json]) -> tuple[Path, ...]:
    """`workspaceFolders`, else `rootUri`, else `rootPath`, each of which replaced the next in LSP."""
    listed = params.get("workspaceFolders")
    if isinstance(listed, list):
        return _first(_paths(folder.get("uri") for folder in listed if isinstance(folder, dict)))
    root = params.get("rootUri")
    if root is not None:
        return _first(_paths([root]))
    path = params.get("rootPath")
    return (Path(path),) if isinstance(path, str) and path.startswith("/") and "\0" not in path else ()


def _changed(name: str, folders: Json) -> list[Path]:
    if not isinstance(folders, list) or len(folders) > MEMBERS:
        raise InvalidParams(f"event.{name}: a list of at most {MEMBERS} folders is needed")
    if not all(isinstance(folder, dict) and isinstance(folder.get("uri"), str) for folder in folders):
        raise InvalidParams(f"event.{name}: each folder has a uri")
    return _paths(folder["uri"] for folder in folders if isinstance(folder, dict))


def _paths(uris: Iterable[Json]) -> list[Path]:
    return [path for uri in uris if isinstance(uri, str) and (path := path_of(uri)) is not None]


def _first(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Each once, in order, and not without bound."""
    return tuple(dict.fromkeys(folders))[:FOLDERS]
