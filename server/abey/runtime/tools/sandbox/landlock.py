"""A sandbox of Landlock and seccomp: the same file system, of which only what is named may be used.

What it cannot do it does not pretend: without namespaces a program sees the names of what it may not open, and what
does not exist yet cannot be kept from being made beside what may be. Where that would matter there is no sandbox.
"""

import os
from collections.abc import Iterator

from abey.runtime.tools.processes import Program
from abey.runtime.tools.sandbox.keeping import is_in
from abey.runtime.tools.sandbox.layout import SECRETS, Layout, programs_file

VERSION = 6
"""Of Landlock, the first that keeps signals and abstract sockets in (Linux 6.12)."""

_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_ALL = (1 << 16) - 1
_NODES = 1 << 6 | 1 << 11
"""To make devices."""
_USE = _EXECUTE | _READ | _LIST
_CONNECT_AND_BIND = 0b11
_SCOPED = 0b11
"""Abstract sockets, and signals."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/snap")
_FACTS = (
    *(f"/proc/{name}" for name in ("cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "sys", "uptime", "version")),
    "/sys/devices/system/cpu",
)
_DEVICES = ("null", "zero", "full", "random", "urandom")


def why_not(layout: Layout) -> str | None:
    """Why this layout cannot be kept here, in a line."""
    if layout.writable:
        return "Landlock cannot keep `.git` and `.abey` as they are in a folder that may be written; bubblewrap can"
    inside = next((one for one in layout.gone if is_in(one, layout.workspace)), None)
    return f"Landlock cannot hide {inside} in the session's folder; bubblewrap can" if inside else None


def ruleset(layout: Layout, program: Program, scratch: str) -> dict[str, object]:
    """What the guard asks the kernel for; `scratch` is a folder of the program's own."""
    return {
        "files": _ALL,
        "network": 0 if layout.network else _CONNECT_AND_BIND,
        "scoped": _SCOPED,
        "rules": [*_rules(layout, program), (scratch, _ALL & ~_NODES)],
        "own": _READ | _LIST,
    }


def environment(program: Program, scratch: str) -> dict[str, str]:
    """The scratch folder is its home, too: a home that cannot be read breaks more than an empty one."""
    return program.env | {"TMPDIR": scratch} | ({"HOME": scratch} if "HOME" in program.env else {})


def _rules(layout: Layout, program: Program) -> Iterator[tuple[str, int]]:
    for path in (*_SYSTEM, *_settings(), *layout.shown, layout.workspace):
        if not any(is_in(path, one) for one in layout.gone):
            yield path, _USE
    for path in _FACTS:
        yield path, _READ | _LIST
    for name in _DEVICES:
        yield f"/dev/{name}", _READ | _WRITE | _TRUNCATE
    file = programs_file(program)
    if file is not None:
        yield file, _EXECUTE | _READ


def _settings() -> Iterator[str]:
    """Of /etc what is no secret."""
    for entry in os.scandir("/etc"):
        inside = [one for one in SECRETS if is_in(one, entry.path)]
        if not inside:
            yield entry.path
        elif entry.path not in inside:
            yield from (one.path for one in os.scandir(entry.path) if one.path not in inside)
