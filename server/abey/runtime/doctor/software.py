"""The programs: which build this is, what it stands on, what it was told."""

from collections.abc import Iterator

from abey.runtime.doctor.findings import Finding, error, ok, warning
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject
from abey.shared.logs import LOG_LEVELS
from abey.shared.version import VERSION

OLDEST_PYTHON = (3, 11)

MODULES = ("pydantic", "jsonschema_rs", "lsprotocol.types", "pygls.protocol")
"""What the daemon cannot start without."""

DURABILITIES = ("power", "process")
LOG_FORMATS = ("text", "json")
TRANSPORTS = ("auto", "socket", "stdio")


def version(host: Host, _: Subject) -> Iterator[Finding]:
    """The build, Python, and SQLite with its full-text search."""
    python = ".".join(map(str, host.python))
    said = f"abey {VERSION}, Python {python}, SQLite {host.sqlite}"
    if host.python < OLDEST_PYTHON:
        yield error("version", f"{said}: Python 3.11 or newer is needed", "install abey with a newer Python")
    elif not host.full_text_search():
        advice = "use a Python whose SQLite has FTS5; everything but full-text search works without"
        yield warning("version", f"{said}: this SQLite has no full-text search (FTS5)", advice)
    else:
        yield ok("version", f"{said} with FTS5")


def dependencies(host: Host, _: Subject) -> Iterator[Finding]:
    """Everything that the daemon imports."""
    faults = [(module, fault) for module in MODULES if (fault := host.import_fault(module)) is not None]
    for module, fault in faults:
        advice = "install abey again, into an environment of its own"
        yield error("dependencies", f"{module} cannot be imported: {fault}", advice)
    if not faults:
        from abey.protocol.handshake import PROTOCOL_VERSION  # needs pydantic

        yield ok("dependencies", f"all that the daemon needs can be imported; it speaks protocol {PROTOCOL_VERSION}")


def settings(_: Host, subject: Subject) -> Iterator[Finding]:
    """The variables that have few values."""
    env = subject.env
    given = (
        ("ABEY_DURABILITY", env.get("ABEY_DURABILITY", "power"), DURABILITIES),
        ("ABEY_LOG", env.get("ABEY_LOG", "info").lower(), LOG_LEVELS),
        ("ABEY_LOG_FORMAT", env.get("ABEY_LOG_FORMAT", "text"), LOG_FORMATS),
        ("ABEY_TRANSPORT", env.get("ABEY_TRANSPORT") or "auto", TRANSPORTS),
    )
    wrong = [(name, allowed) for name, value, allowed in given if value not in allowed]
    for name, allowed in wrong:
        yield error("settings", f"{name} is {env[name]!r}", f"set {name} to {' or '.join(allowed)}, or unset it")
    if not wrong:
        yield ok("settings", "the variables hold nothing that is not understood")


def extensions(host: Host, subject: Subject) -> Iterator[Finding]:
    """One finding for each that is installed."""
    found = subject.running.extensions if subject.running else host.extensions()
    for one in found:
        said = f"{one.name}, of {one.package}"
        if one.fault is not None:
            what = f"{said}, cannot be used, and no model is asked meanwhile: {one.fault}"
            yield error("extensions", what, "mend or uninstall the package, then `abey daemon stop`")
        else:
            yield ok("extensions", said)
    if not found:
        yield ok("extensions", "none is installed")
