"""A sandbox of bubblewrap: namespaces of its own, a file system put together of what the layout shows."""

import os
from collections.abc import Iterator

from abey.runtime.tools.processes import Program
from abey.runtime.tools.sandbox.keeping import is_in
from abey.runtime.tools.sandbox.layout import PASSING, Layout, programs_file

VARIABLES, FILTER = 8, 9
"""The descriptors on which the guard hands over what comes to be the environment, and the filter."""
SCRATCH_BYTES = 1 << 30
"""Of each folder that is the sandbox's own; it is memory."""
SHARED_MEMORY = "/dev/shm"

_NAMESPACES = (
    "--unshare-user-try",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)


def arguments(bwrap: str, layout: Layout, program: Program) -> tuple[str, ...]:
    """The argv that runs the program in it; the filter is on descriptor FILTER."""
    network = () if layout.network else ("--unshare-net",)
    options = (*_NAMESPACES, *network, *_files(layout, program), "--chdir", layout.workspace)
    return (bwrap, "--args", str(VARIABLES), "--seccomp", str(FILTER), *options, "--", *program.argv)


def environment(program: Program) -> dict[str, str]:
    """With what the sandbox has for temporary files."""
    return program.env | ({"TMPDIR": PASSING[0]} if "TMPDIR" in program.env else {})


def _files(layout: Layout, program: Program) -> Iterator[str]:
    """Later ones lie over earlier ones."""
    yield from ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
    for folder in (*layout.hidden, SHARED_MEMORY):
        yield from ("--size", str(SCRATCH_BYTES), "--tmpfs", folder)
    yield from ("--remount-ro", "/dev")
    for home in layout.homes:
        yield from ("--dir", home)
    for path in layout.shown:
        yield from ("--ro-bind", path, path)
    yield from ("--bind" if layout.writable else "--ro-bind", layout.workspace, layout.workspace)
    for folder in layout.held:
        yield from ("--bind", folder, folder)
    for path in layout.gone:
        empty = ("--size", "4096", "--tmpfs", path) if os.path.isdir(path) else ("--ro-bind", "/dev/null", path)
        yield from empty
    for path in layout.kept:
        if not any(is_in(path, one) for one in layout.gone):
            yield from ("--ro-bind", path, path)
    file = programs_file(program)
    under = file is not None and any(is_in(file, one) for one in (*layout.hidden, *layout.gone))
    if file is not None and under and not is_in(file, layout.workspace):
        yield from ("--ro-bind", file, file)
    for path in layout.gone:
        if os.path.isdir(path):
            yield from ("--remount-ro", path)
