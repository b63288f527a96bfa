"""Params and result of `agents/trust` (protocol.md, agents/trust)."""

from typing import Literal, Self

from pydantic import model_validator

from abey.protocol.base import Timestamp, Wire
from abey.protocol.params import Name

FolderState = Literal["ok", "gone", "replaced"]


class TrustParams(Wire):
    """`dir`, an absolute path, is what to add or remove."""

    action: Literal["list", "add", "remove"]
    dir: Name | None = None

    @model_validator(mode="after")
    def _names_a_folder(self) -> Self:
        if (self.dir is None) != (self.action == "list"):
            raise ValueError("dir is required with add and remove, and with nothing else")
        if self.dir is not None and (not self.dir.startswith("/") or "\0" in self.dir):
            raise ValueError("dir is an absolute path")
        return self


class TrustedFolder(Wire):
    """`replaced`: another folder is at its place now, and is not trusted."""

    dir: str
    at: Timestamp
    state: FolderState


class TrustResult(Wire):
    """`damaged`: why the file cannot be read in which the folders are; nothing is trusted then."""

    items: tuple[TrustedFolder, ...]
    damaged: str | None = None
