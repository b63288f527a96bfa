"""`abey trust`: which folders are trusted, and what comes of it."""

import os
import shlex
from pathlib import Path
from typing import Any

from abey.shared.escaping import escape_line
from abey.shared.kinds import EXIT_ERROR, EXIT_OK
from abey.shared.workspace import MARK
from abey_cli.context import Context
from abey_cli.failures import usage
from abey_cli.workspaces import workspace

NAMES_SHOWN = 50
STATES = {"gone": "gone", "replaced": "not trusted: another folder is in its place; `abey trust {dir}` trusts that one"}


def trust(context: Context) -> int:
    options = context.options
    if sum(map(bool, (options.dir is not None, options.list, options.remove is not None))) > 1:
        raise usage("say DIR, --list or --remove DIR, one of them")
    if options.list:
        return _list(context)
    if options.remove is not None:
        return _remove(context, options.remove)
    return _add(context, _folder(context))


def _folder(context: Context) -> str:
    """The real path: what is trusted is what the question shows."""
    if context.options.dir is None:
        return str(workspace(context, context.cwd) or os.path.realpath(context.cwd))
    return os.path.realpath(os.path.join(context.cwd, context.options.dir))


def _add(context: Context, folder: str) -> int:
    console, shown = context.console, escape_line(folder)
    if not os.path.isdir(folder):
        raise usage(f"{shown} is not a folder")
    if os.fsencode(folder) != folder.encode(errors="replace"):
        raise usage(f"{shown} cannot be trusted: its name is not UTF-8")
    if console.interactive and not context.options.yes and not _asked(context, folder):
        console.err("nothing was changed")
        return EXIT_ERROR
    result = context.request("agents/trust", action="add", dir=folder)
    context.answer(result, lambda: console.out(shown if console.quiet else f"trusted: {shown}"))
    if not (console.json or console.quiet):
        _tell_of_shadowed(context, folder)
    return EXIT_OK


def _asked(context: Context, folder: str) -> bool:
    """Whether the person trusts the folder, having seen what is in it. Where nobody can be asked, who wrote the command
    was: it has no other effect."""
    for line in _brings(folder):
        context.console.err(line)
    return context.console.confirm(f"Trust {escape_line(folder)}?")


def _tell_of_shadowed(context: Context, folder: str) -> None:
    """Whoever names a slug shall know whose agent runs from now on."""
    for item in context.request("agents/list", cwd=folder)["items"]:
        if item["state"] == "shadowed" and not Path(item["path"]).is_relative_to(folder):
            slug, path = escape_line(item["slug"]), escape_line(item["path"])
            context.console.note(f"its agent {slug} comes before yours, {path}")


def _brings(folder: str) -> list[str]:
    """What trust would let in, by name alone: no file is opened."""
    shown = escape_line(folder)
    names = _agent_files(Path(folder) / MARK / "agents")
    lines = [f"  {MARK}/agents/{escape_line(name)}" for name in names[:NAMES_SHOWN]]
    if len(names) > NAMES_SHOWN:
        lines.append(f"  and {len(names) - NAMES_SHOWN} more")
    first = f"{shown} has these agent files:" if names else f"{shown} has no agent files now."
    rest = "An agent runs programs as you. All folders below count too, and whatever is put there later."
    return [first, *lines, rest]


def _agent_files(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except OSError:
        return []


def _list(context: Context) -> int:
    result = context.request("agents/trust", action="list")
    context.answer(result, lambda: _show(context, result))
    return EXIT_OK


def _remove(context: Context, given: str) -> int:
    """A folder that is gone is named as the list has it."""
    folder = os.path.normpath(os.path.join(context.cwd, given))
    before = context.request("agents/trust", action="list")["items"]
    result = context.request("agents/trust", action="remove", dir=folder)
    if len(result["items"]) == len(before):
        context.console.note(f"{escape_line(folder)} was not in the list")
    real = os.path.realpath(folder)
    for item in result["items"]:
        if item["state"] == "ok" and real.startswith(item["dir"].rstrip("/") + "/"):
            context.console.note(f"it is still trusted, as everything below {escape_line(item['dir'])}")
    context.answer(result, lambda: None)
    return EXIT_OK


def _show(context: Context, result: Any) -> None:
    console = context.console
    if result.get("damaged"):
        console.err(f"nothing is trusted: {result['damaged']}; it is kept, and the next `abey trust DIR` begins anew")
    elif not result["items"]:
        console.note("no folder is trusted; `abey trust DIR` trusts one")
    for item in result["items"]:
        shown = escape_line(item["dir"])
        state = STATES.get(item["state"], "").format(dir=shlex.quote(shown))
        console.out(shown if console.quiet or not state else f"{shown}  ({state})")
