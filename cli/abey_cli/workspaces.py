"""The workspace that a command runs in, and what is said where it is not trusted."""

import os
from pathlib import Path

from abey.shared.workspace import is_too_wide, untrusted_words, workspace_of
from abey_cli.context import Context


def workspace(context: Context, folder: str) -> Path | None:
    """The nearest folder around `folder` that has `.abey`, by its real path; None where there is none."""
    home = context.env.get("HOME")
    real_home = Path(os.path.realpath(home)) if home else None
    return workspace_of(folder, lambda one: is_too_wide(one, real_home))


def tell_of_untrusted(context: Context, folder: str) -> None:
    """A line for people, if the agents of this workspace do not count. The daemon is asked only where there is one."""
    if context.console.json or context.console.quiet or workspace(context, folder) is None:
        return
    for one in context.request("agents/list", cwd=folder)["untrusted"]:
        context.console.note(untrusted_words(one))
