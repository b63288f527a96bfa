"""What a client is as an editor: its capabilities, how it counts columns, the folders that it has open."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol import types as lsp
from pygls.capabilities import ServerCapabilitiesBuilder

from abey.protocol.base import Json
from abey.rpc.structuring import client_capabilities
from abey.shared.uris import path_of

FOLDERS = 256
"""More folders of one client are not remembered."""


@dataclass(slots=True, eq=False)
class Editor:
    """`folders` are absolute paths as the client spells them, and change while it is connected."""

    capabilities: lsp.ClientCapabilities = field(default_factory=lsp.ClientCapabilities)
    encoding: lsp.PositionEncodingKind | str = lsp.PositionEncodingKind.Utf16
    folders: tuple[Path, ...] = ()

    def change_folders(self, event: lsp.WorkspaceFoldersChangeEvent) -> None:
        removed = set(_paths(folder.uri for folder in event.removed))
        kept = [folder for folder in self.folders if folder not in removed]
        self.folders = _first([*kept, *_paths(folder.uri for folder in event.added)])


def editor(params: Mapping[str, Json]) -> Editor:
    """Reads the params of `initialize`; what in them is not as LSP has it is passed over."""
    capabilities = client_capabilities(params.get("capabilities"))
    encoding = ServerCapabilitiesBuilder.choose_position_encoding(capabilities)
    return Editor(capabilities, encoding, _folders(params))


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


def _paths(uris: Iterable[Json]) -> list[Path]:
    return [path for uri in uris if isinstance(uri, str) and (path := path_of(uri)) is not None]


def _first(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Each once, in order, and not without bound."""
    return tuple(dict.fromkeys(folders))[:FOLDERS]
