"""`workspace/executeCommand`: commands by name (protocol.md, Without a plugin)."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from lsprotocol import types as lsp

from abey.protocol.base import Json
from abey.rpc.faults import InvalidParams
from abey.rpc.peer import Peer

NAME_SHOWN = 100

Token = lsp.ProgressToken | None
Command = Callable[[Peer, list[Json], Token], Coroutine[Any, Any, Json]]
"""(who asks, its arguments, the token under which progress may be told): the result. Called when the request arrives,
so that what it looks up before it first waits is as the client had it. Raises InvalidParams, AbeyError."""


class Commands:
    """Names are as on the wire, `abey.step`."""

    def __init__(self, commands: Mapping[str, Command]) -> None:
        self._commands = dict(commands)

    @property
    def names(self) -> list[str]:
        return sorted(self._commands)

    def execute(self, peer: Peer, params: lsp.ExecuteCommandParams) -> Coroutine[Any, Any, Json]:
        """Runs the command that is named. Raises InvalidParams."""
        command = self._commands.get(params.command)
        if command is None:
            names = ", ".join(self.names) or "none"
            message = f"there is no command {params.command[:NAME_SHOWN]!a}; there are: {names}"
            raise InvalidParams(message, errors=[{"loc": ["command"], "msg": message, "type": "unknown_command"}])
        return command(peer, list(params.arguments or ()), params.work_done_token)
