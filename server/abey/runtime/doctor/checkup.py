"""All that is looked at, in order; what one check trips over never keeps the others from looking."""

from collections.abc import Callable, Iterable, Sequence

from abey.runtime.doctor import agent_files, around, floors, isolation, places, remembered, sessions, software, trusted
from abey.runtime.doctor.findings import Finding, error
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject

Check = Callable[[Host, Subject], Iterable[Finding]]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("version", software.version),
    ("dependencies", software.dependencies),
    ("settings", software.settings),
    ("path", around.path),
    ("extras", around.extras),
    ("extensions", software.extensions),
    ("durability", places.durability),
    ("state", places.state),
    ("lock", places.lock),
    ("socket", places.socket),
    ("disk", places.disk),
    ("contents", places.contents),
    ("sessions", sessions.sessions),
    ("index", sessions.index),
    ("agents", agent_files.agents),
    ("trust", trusted.trust),
    ("rules", remembered.rules),
    ("policy", floors.policy),
    ("processes", isolation.processes),
    ("sandbox", isolation.sandbox),
    ("descriptors", isolation.descriptors),
    ("inotify", isolation.inotify),
    ("traces", around.traces),
    ("editors", around.editors),
)


def examine(host: Host, subject: Subject, checks: Sequence[tuple[str, Check]] = CHECKS) -> tuple[Finding, ...]:
    """Blocking, for seconds where there are many sessions. Changes nothing, makes nothing, raises nothing."""
    return tuple(finding for name, check in checks for finding in _made(name, check, host, subject))


def _made(name: str, check: Check, host: Host, subject: Subject) -> tuple[Finding, ...]:
    found: list[Finding] = []
    try:
        found.extend(check(host, subject))
    except Exception as fault:  # noqa: BLE001 - whatever is wrong is what we are here to say
        what = f"this could not be examined: {type(fault).__name__}: {fault}"
        found.append(error(name, what, "mend what the message names, then run `abey doctor` again"))
    return tuple(found)
