"""The SDK is an extra of the package."""

import importlib.util

from abey.runtime.extras import way_to


def no_extra() -> str:
    """What to say of a server where there is none, with the way out."""
    return f"tools of MCP servers need the extra `mcp`: {way_to('mcp')}"


def is_installed() -> bool:
    """Whether the SDK is there. Does not import it."""
    found = importlib.util.find_spec("mcp")
    return found is not None and found.origin is not None  # a folder of that name is no package
