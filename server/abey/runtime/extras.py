"""The extras of the package: how one comes to where abey runs."""

import importlib.util
import shlex
import sys


def way_to(extra: str) -> str:
    """The command that installs an extra beside this abey: a bare `pip` is often another Python's, and where pipx or uv
    have installed abey there may be none."""
    named = f"abey[{extra}]"
    if importlib.util.find_spec("pip") is None:
        return f"install abey once more, as {named}: docs/operations.md says how"
    return shlex.join([sys.executable, "-m", "pip", "install", named])
