"""`abey-daemon --doctor`: the checks without a daemon and without its lock; stdlib only until a check needs more."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from abey.runtime.doctor.checkup import examine
from abey.runtime.doctor.findings import Finding
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject
from abey.shared import places
from abey.shared.findings import finding_lines
from abey.shared.kinds import EXIT_ERROR, EXIT_OK

WIRE = {"session_id": "sessionId"}


def report(env: Mapping[str, str], host: Host) -> tuple[Finding, ...]:
    """What is to be said of the machine that `env` describes, whether or not a daemon could start there."""
    state = places.state_dir(env)
    return examine(host, Subject(state, places.config_dir(env), places.socket_path(state, env), env))


def as_json(findings: tuple[Finding, ...]) -> Iterator[str]:
    """One line, the same value that `agents/doctor` answers."""
    yield json.dumps({"findings": [wire(finding) for finding in findings]})


def as_text(findings: tuple[Finding, ...]) -> Iterator[str]:
    """For people."""
    for finding in findings:
        yield from finding_lines(wire(finding))


def status(findings: tuple[Finding, ...]) -> int:
    """The exit status: 1 if any finding is an error."""
    return EXIT_ERROR if any(finding.severity == "error" for finding in findings) else EXIT_OK


def wire(finding: Finding) -> dict[str, Any]:
    """The members of a finding as on the wire."""
    members = {WIRE.get(field.name, field.name): getattr(finding, field.name) for field in fields(finding)}
    return {name: value for name, value in members.items() if value is not None}
