"""A folder of programs as a source of tools: each is asked to `describe` itself (agent-file.md, Executables)."""

import asyncio
import logging
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from abey.core.agent import Tool, ToolSource
from abey.protocol.base import sha256_hex
from abey.runtime.tools.environment import tool_environment
from abey.runtime.tools.executables import files
from abey.runtime.tools.executables.describing import BadDescription, Description, description_of, schema_of
from abey.runtime.tools.executables.speaking import Collected, LastWords, spoken_to
from abey.runtime.tools.processes import Program, Talker
from abey.runtime.tools.programs import Programs
from abey.runtime.tools.sources import Place, SourceFailed
from abey.shared.escaping import cut, escape_line

log = logging.getLogger(__name__)

DESCRIBE_SECONDS = 10.0
DESCRIBED_AT_ONCE = 8
_DESCRIPTION_BYTES = 256 * 1024
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Broken:
    """A program that is no tool. `name` is what its tool would be called, as far as anybody knows."""

    name: str
    why: str


class OpenedFolder:
    """An Opened. `faults` say of programs that are no tools why not, by what their names would be."""

    def __init__(self, directory: str, stamps: Hashable, tools: Sequence[Tool], faults: Mapping[str, str]) -> None:
        self._directory = directory
        self._stamps = stamps
        self.tools = tools
        self.faults = faults

    def is_current(self) -> bool:
        return files.stamps(self._directory) == self._stamps

    async def close(self) -> None:
        pass


class ExecutablesOpener:
    """An Opener. `environment` is the daemon's, of which a program gets only the variables that its source names."""

    def __init__(self, talker: Talker, programs: Programs, environment: Mapping[str, str]) -> None:
        self._talker = talker
        self._programs = programs
        self._environment = environment

    async def open(self, source: ToolSource, place: Place) -> OpenedFolder:
        directory = files.expanded(source.definition["directory"], place.env)
        stamps = await asyncio.to_thread(files.stamps, directory)
        try:
            paths = await asyncio.to_thread(files.programs_in, directory)
        except OSError as error:
            raise SourceFailed(f"{escape_line(directory)}: {error.strerror}") from None
        except files.TooMany as error:
            raise SourceFailed(f"{escape_line(directory)}: {error}") from None
        turns = asyncio.Semaphore(DESCRIBED_AT_ONCE)
        found = await asyncio.gather(*(self._asked(path, source, place, turns) for path in paths))
        tools, faults = _sorted_out(found)
        for why in faults.values():
            log.warning("session %s: %s", place.session_id, why)
        return OpenedFolder(directory, stamps, tools, faults)

    async def _asked(self, path: str, source: ToolSource, place: Place, turns: asyncio.Semaphore) -> Tool | Broken:
        async with turns:
            try:
                before = await asyncio.to_thread(files.fingerprint, path)
                description = await self._description(path, source, place)
                after = await asyncio.to_thread(files.fingerprint, path)
            except BadDescription as bad:
                return _broken(path, str(bad))
            except OSError as error:
                return _broken(path, error.strerror or "it cannot be read")
        if before != after:
            return _broken(path, "it changed while it described itself")
        return _tool(path, before, description, source)

    async def _description(self, path: str, source: ToolSource, place: Place) -> Description:
        """Raises BadDescription."""
        env = tool_environment(place.env, source.definition["env"], self._environment)
        program = Program((path, "describe"), place.cwd, env)
        output, errors = Collected(_DESCRIPTION_BYTES), LastWords()
        with spoken_to(self._talker, program, b"", errors) as start:
            failure, line = await self._programs.ending(path, DESCRIBE_SECONDS, output, start)
        if failure is not None:
            last = errors.text().strip().splitlines()[-1:]
            said = ": ".join(cut(escape_line(one), _SHOWN) for one in [line or failure, *last])
            raise BadDescription(f"asked to describe itself it failed: {said}")
        if output.is_cut:
            raise BadDescription(f"its description is longer than {_DESCRIPTION_BYTES} bytes")
        return description_of(bytes(output.data))


def _tool(path: str, program: Mapping[str, Any], description: Description, source: ToolSource) -> Tool:
    parameters = schema_of(description)
    shell = source.shell if source.shell in parameters["properties"] else None
    name = f"{source.prefix}{description.slug}"
    definition = {
        "kind": source.kind,
        "name": name,
        "description": description.description,
        "path": path,
        "program": program,
        "parameters": parameters,
        "args": [asdict(one) for one in description.parameters],
        "empty": description.empty,
        "mediaType": description.media_type,
        "env": list(source.definition["env"]),
        "timeoutSeconds": source.timeout_seconds,
    }
    return Tool(
        name=name,
        description=description.description,
        parameters=parameters,
        definition=definition,
        hash=sha256_hex(definition),
        idempotent=source.idempotent,
        destructive=shell is not None if source.destructive is None else source.destructive,
        command=shell,
        timeout_seconds=source.timeout_seconds,
    )


def _broken(path: str, why: str) -> Broken:
    return Broken(f"bash_{Path(path).stem}", f"{escape_line(path)} is no tool: {why}")


def _sorted_out(found: Sequence[Tool | Broken]) -> tuple[tuple[Tool, ...], Mapping[str, str]]:
    """The tools, of two with one name the first; and why the others are none."""
    tools: dict[str, Tool] = {}
    faults: dict[str, str] = {}
    for one in found:
        if isinstance(one, Broken):
            faults[one.name] = one.why
        elif one.name in tools:
            first, path = tools[one.name].definition["path"], one.definition["path"]
            again = _broken(path, f"{escape_line(first)} has the same slug")
            faults[again.name] = again.why
        else:
            tools[one.name] = one
    return tuple(tools.values()), {name: why for name, why in faults.items() if name not in tools}
