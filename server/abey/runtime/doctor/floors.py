"""Whether the floors of the policy can be used: the user's, and those of the folders that are trusted."""

from collections.abc import Iterator
from pathlib import Path

from abey.runtime.doctor.findings import Finding, error, ok
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject
from abey.shared.escaping import escape_line


def policy(_: Host, subject: Subject) -> Iterator[Finding]:
    """One finding for each file that is there."""
    from abey.runtime.agents.floors import NAME, fault_of  # not where pydantic may be broken
    from abey.runtime.agents.trust import Trust
    from abey.runtime.store.io import FileIO
    from abey.shared.workspace import MARK

    items = Trust(subject.state_dir / "trust.json", FileIO("process")).items()
    folders = [subject.config_dir, *(Path(item.dir) / MARK for item in items if item.state == "ok")]
    for path in (folder / NAME for folder in folders):
        fault = fault_of(path)
        if fault is not None:
            advice = f"`abey agents check {escape_line(str(path))}`"
            yield error("policy", f"this policy cannot be used: {fault}", advice)
        elif path.exists():
            yield ok("policy", escape_line(str(path)))
