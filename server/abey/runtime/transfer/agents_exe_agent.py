"""The agent that a session file of agents-exe implies: its prompt, its model's name, its tools for others to run."""

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from abey.runtime.transfer.agents_exe import LlmTurn, SessionFile, UserTurn
from abey.runtime.transfer.cursor import At, mended

_SUFFIXES = re.compile(r"(\.session)?\.json\Z", re.IGNORECASE)


def implied_config(file: SessionFile, source: str) -> dict[str, Any]:
    """An agent config for a session to go on with: nothing of it runs here, its tools are external."""
    newest = next((turn for turn in reversed(file.turns) if isinstance(turn, UserTurn)), None)
    models = [turn.model for turn in file.turns if isinstance(turn, LlmTurn) and turn.model]
    return {
        "slug": slug_of(source),
        "description": "as a session file of agents-exe has it",
        "systemPrompt": newest.prompt if newest else "",
        "model": {"provider": "openai", "name": mended(models[-1]) if models else "unknown"},
        "tools": list(_tools(newest.tools if newest else ())),
        **({"executionMode": "synchronous"} if file.synchronous else {}),
    }


def slug_of(source: str) -> str:
    """A legal slug out of a file's name."""
    name = _SUFFIXES.sub("", PurePath(source).name.lower())
    return re.sub(r"[^0-9a-z_-]+", "-", name).strip("-_")[:64] or "imported"


def _tools(tools: Iterable[At]) -> Iterable[dict[str, Any]]:
    """What is named twice counts once; what has no name cannot be called."""
    seen: set[str] = set()
    for at in tools:
        contents = at.look("contents")
        names = (contents.look("llmName").value, contents.look("name").value)
        name = next((mended(name) for name in names if isinstance(name, str) and name), None)
        if name is None or name in seen:
            continue
        seen.add(name)
        description = contents.look("description").value
        parameters = contents.look("raw", "function", "parameters").value
        yield {
            "kind": "external",
            "name": name,
            "description": mended(description) if isinstance(description, str) else "",
            "parameters": parameters if isinstance(parameters, dict) and parameters else {"type": "object"},
        }
