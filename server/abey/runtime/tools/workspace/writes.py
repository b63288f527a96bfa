"""Writes to a workspace: shown before they are made, and made only on the file that was shown."""

import os
from collections.abc import Mapping
from typing import Any

from abey.core.previews import Preview
from abey.protocol.diffs import FileChange
from abey.runtime.tools.workspace.files import changed, content_of, preimage_of, put
from abey.runtime.tools.workspace.memory import Memory
from abey.runtime.tools.workspace.patches import heading, patch
from abey.runtime.tools.workspace.paths import Own, Refused, refuse_protected, shown, spot_of, why
from abey.runtime.tools.workspace.planning import planned
from abey.runtime.tools.workspace.text import harmless

NO_FILE = "0" * 64
"""The preimage of a call that could not even look at its file: no file has it."""


def look(cwd: str, tool: str, arguments: Mapping[str, Any], own: Own) -> Preview:
    """What the call would change now; one that would fail has its `fault`. Never raises."""
    path, preimage = str(arguments.get("path", "")), NO_FILE
    try:
        with spot_of(cwd, path, own) as spot:
            refuse_protected(spot, own)
            before = content_of(spot)
            preimage = preimage_of(spot, before)
            return Preview(preimage, patch(spot.path, before, planned(tool, arguments, before)))
    except Refused as refused:
        fault = str(refused)
    except OSError as error:
        fault = f"{shown(path)}: {why(error)}"
    diff = f"{heading(harmless(path), is_new=False)}[nothing would be written: {fault}]\n"
    return Preview(preimage, diff, fault)


def write(
    cwd: str, tool: str, arguments: Mapping[str, Any], own: Own, preimage: str | None, seen: "Seen"
) -> FileChange:
    """Makes the change. Raises Refused, and then nothing was written; OSError."""
    path = str(arguments["path"])
    with spot_of(cwd, path, own) as spot:
        refuse_protected(spot, own)
        before = content_of(spot)
        now = preimage_of(spot, before)
        if preimage is not None and preimage != now:
            raise Refused(f"{shown(spot.path)} changed since the change was approved: nothing was written")
        if preimage is None and spot.linked:
            # a rule let it run for its path, and nobody saw where that leads
            raise Refused(f"{shown(path)} leads through a link; write to {shown(spot.path)} itself")
        if preimage is None and seen.differs(os.path.join(spot.root, *spot.parts), now):
            raise changed(spot)
        after = planned(tool, arguments, before)
        put(spot, after, before)
        seen.keep(os.path.join(spot.root, *spot.parts), preimage_of(spot, after))
        kind = "created" if before is None else "modified"
        return FileChange(path=spot.path, kind=kind, patch=patch(spot.path, before, after))


class Seen:
    """The memory of one session."""

    def __init__(self, memory: Memory, session_id: str) -> None:
        self._memory = memory
        self._session_id = session_id

    def keep(self, path: str, digest: str) -> None:
        self._memory.keep(self._session_id, path, digest)

    def differs(self, path: str, digest: str) -> bool:
        return self._memory.differs(self._session_id, path, digest)
