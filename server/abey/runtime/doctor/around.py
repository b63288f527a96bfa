"""What is around abey: where its programs are found, the extras, the editors, and where traces go."""

from collections.abc import Iterator

from abey.runtime.doctor.findings import Finding, info, ok, warning
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject
from abey.runtime.extras import way_to
from abey.runtime.telemetry.wanted import ENDPOINTS, fault_of, wants_traces
from abey.shared.escaping import escape_line

PROGRAMS = ("abey", "abey-daemon")

EXTRAS = {
    "keyring": ("keyring", "keys in the system's keyring"),
    "mcp": ("mcp", "tools of MCP servers"),
    "otel": ("opentelemetry.exporter.otlp.proto.http", "traces"),
}
"""What each is for, and the module by which it is known."""

EDITORS = {"code": "VS Code", "nvim": "Neovim", "emacs": "Emacs", "hx": "Helix", "vim": "Vim"}


def path(host: Host, subject: Subject) -> Iterator[Finding]:
    """Whether shells and editors find the programs of this installation."""
    found = {name: host.program(name, subject.env) for name in PROGRAMS}
    missing = [name for name in PROGRAMS if found[name] is None]
    others = [f"{name} is {path}" for name, path in found.items() if path and not host.is_ours(path)]
    if missing:
        what = f"PATH does not have {' and '.join(missing)}: editors and other shells do not find abey"
        yield info("path", what, f"add {host.programs} to PATH, or install with `pipx` or `uv tool`")
    elif others:
        what = f"PATH has another installation than this one: {escape_line(', '.join(others))}"
        yield warning("path", what, f"put {host.programs} before it in PATH, or uninstall one of the two")
    else:
        yield ok("path", f"abey and abey-daemon are found, in {host.programs}")


def extras(host: Host, _: Subject) -> Iterator[Finding]:
    """Which are installed; what needs another one says so itself."""
    missing = {name: what for name, (module, what) in EXTRAS.items() if not host.has(module)}
    if not missing:
        yield ok("extras", f"all are installed: {', '.join(EXTRAS)}")
    for name, what in missing.items():
        yield info("extras", f"{name} is not installed: no {what}", f"where that is wanted: {way_to(name)}")


def traces(host: Host, _: Subject) -> Iterator[Finding]:
    """Whether the daemon sends any, and why not, where that is wanted."""
    env = host.variables
    if not wants_traces(env):
        yield ok("traces", f"none are sent; {ENDPOINTS[-1]} in the environment of the daemon has them sent")
    elif (fault := fault_of(env)) is not None:
        yield warning("traces", f"none are sent: {fault}", "mend that, then `abey daemon restart`")
    else:
        yield ok("traces", "turns are sent as traces; the log of the daemon says where they are not taken")


def editors(host: Host, subject: Subject) -> Iterator[Finding]:
    """Which of those that we know are there."""
    found = [title for name, title in EDITORS.items() if host.program(name, subject.env) is not None]
    if found:
        yield ok("editors", f"{', '.join(found)}: docs/vscode.md and docs/editors say how abey is used in them")
    else:
        known = ", ".join(EDITORS.values())
        yield info("editors", f"none of {known} is on PATH", "any editor that speaks LSP will do: docs/editors")
