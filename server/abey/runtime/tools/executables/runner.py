"""Runs tools of kind `executables`: `PROGRAM run …`, its stdout as the result (agent-file.md, Executables)."""

import asyncio
import base64
import binascii
from collections.abc import Mapping

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.runtime.ports import Progress, ToolCall
from abey.runtime.tools.descriptors import completed
from abey.runtime.tools.environment import tool_environment
from abey.runtime.tools.executables.describing import command_line
from abey.runtime.tools.executables.files import fingerprint
from abey.runtime.tools.executables.speaking import Collected, LastWords, spoken_to
from abey.runtime.tools.placeholders import BadArgument
from abey.runtime.tools.processes import Program, Talker
from abey.runtime.tools.programs import Programs
from abey.runtime.tools.telling import foreign_line, kept_or_why, with_lines
from abey.runtime.tools.whole import WholeOutput
from abey.shared.escaping import escape_line

MEDIA_BYTES = 6 << 20
"""Of an output that is base64."""


class ExecutableRunner:
    """A ports.ToolRunner. `environment` is the daemon's, of which a tool gets only the variables its source names."""

    def __init__(self, talker: Talker, programs: Programs, environment: Mapping[str, str]) -> None:
        self._talker = talker
        self._programs = programs
        self._environment = environment

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        definition = tool.definition
        try:
            argv, stdin = command_line(definition["args"], call.arguments)
        except BadArgument as bad:
            return ToolOutcome(str(bad), "tool/failed")
        gone = await asyncio.to_thread(_why_another, tool)
        if gone is not None:
            return ToolOutcome(gone, "tool/failed")
        env = tool_environment(call.env, definition["env"], self._environment)
        env |= _context(call)
        program = Program((definition["path"], "run", *argv), call.cwd, env, call.isolation)
        if _is_media(definition["mediaType"]):
            return await self._media(program, stdin, tool)
        return await self._text(program, stdin, tool, call)

    async def _text(self, program: Program, stdin: bytes, tool: Tool, call: ToolCall) -> ToolOutcome:
        output, errors = WholeOutput(call.spool, lambda text: call.tell(Progress(text=text))), LastWords()
        try:
            with spoken_to(self._talker, program, stdin, errors) as start:
                error, line = await self._programs.ending(program.argv[0], tool.timeout_seconds, output, start)
            text = output.text()
            whole, note = await kept_or_why(output)
            if error is not None:
                return ToolOutcome(with_lines(text, note, errors.text() or None, line), error, whole)
            empty = tool.definition["empty"] if not text else None
            return ToolOutcome(with_lines(text, foreign_line(output), note, empty), None, whole)
        finally:
            await completed(asyncio.ensure_future(output.close()))

    async def _media(self, program: Program, stdin: bytes, tool: Tool) -> ToolOutcome:
        output, errors = Collected(MEDIA_BYTES), LastWords()
        with spoken_to(self._talker, program, stdin, errors) as start:
            error, line = await self._programs.ending(program.argv[0], tool.timeout_seconds, output, start)
        if error is not None:
            return ToolOutcome(with_lines(errors.text(), line), error)
        media_type, empty = tool.definition["mediaType"], tool.definition["empty"]
        if not output.data:
            return ToolOutcome(empty or "")
        if output.is_cut:
            return ToolOutcome(f"its {media_type} is longer than {MEDIA_BYTES} bytes", "tool/failed")
        try:
            data = base64.b64decode(bytes(output.data).translate(None, b"\r\n\t "), validate=True)
        except (binascii.Error, ValueError):
            return ToolOutcome(f"its output is not the base64 of {media_type}", "tool/failed")
        text = base64.b64encode(data).decode("ascii")
        return ToolOutcome({"type": "media", "mimeType": media_type, "base64Data": text})


def _why_another(tool: Tool) -> str | None:
    """Why the program is not the one that the call was judged for, None where it is."""
    path = tool.definition["path"]
    try:
        same = fingerprint(path) == tool.definition["program"]
    except OSError as error:
        return f"cannot start {escape_line(path)}: {error.strerror}"
    return (
        None if same else f"{escape_line(path)} is another program than the one that described itself; it was not run"
    )


def _context(call: ToolCall) -> dict[str, str]:
    """The variables in which agents-exe tells a program what it works for."""
    known = {"SESSION": call.session_id, "CONVERSATION": call.session_id, "TURN": call.turn_id}
    return {f"AGENT_{name}_ID": value for name, value in known.items() if value is not None}


def _is_media(media_type: str | None) -> bool:
    return media_type is not None and not (media_type.startswith("text/") or media_type.endswith(("/json", "+json")))
