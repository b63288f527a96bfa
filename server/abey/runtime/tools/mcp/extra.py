"""The SDK is an extra of the package."""

import importlib.util

NO_EXTRA = "tools of MCP servers need the extra `mcp`: pip install 'abey[mcp]'"


def is_installed() -> bool:
    """Whether the SDK is there. Does not import it."""
    found = importlib.util.find_spec("mcp")
    return found is not None and found.origin is not None  # a folder of that name is no package
