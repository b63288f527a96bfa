"""The rules that are remembered, and whether they count."""

from collections.abc import Iterator

from abey.runtime.doctor.findings import Finding, error, ok
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject


def rules(_: Host, subject: Subject) -> Iterator[Finding]:
    """One finding: how many there are, or why none of them counts."""
    from abey.runtime.remembering import Remembering  # not where pydantic may be broken
    from abey.runtime.store.io import FileIO

    remembering = Remembering(subject.config_dir / "rules.json", FileIO("process"))
    count = len(remembering.items())
    if remembering.fault is not None:
        what = f"no remembered rule counts: {remembering.fault}"
        yield error(
            "rules", what, "mend the file, or remember a rule anew: that begins another file, and keeps this one"
        )
    else:
        yield ok("rules", f"rules that are remembered beyond a session: {count}")
