"""Which folders are trusted, and whether they still are those that were."""

from collections.abc import Iterator

from abey.runtime.doctor.findings import Finding, error, info, ok, warning
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject
from abey.shared.escaping import escape_line


def trust(_: Host, subject: Subject) -> Iterator[Finding]:
    """One finding for what is well, and one for each folder that is not."""
    from abey.runtime.agents.trust import Trust  # not where pydantic may be broken
    from abey.runtime.store.io import FileIO

    trusted = Trust(subject.state_dir / "trust.json", FileIO("process"))
    items = trusted.items()
    if trusted.fault is not None:
        yield error("trust", f"nothing is trusted: {trusted.fault}", "`abey trust DIR` begins anew, and keeps the file")
        return
    yield ok("trust", f"folders that are trusted: {sum(item.state == 'ok' for item in items)}")
    for item in items:
        shown = escape_line(item.dir)
        if item.state == "replaced":
            what = f"{shown} is another folder than the one that was trusted"
            yield warning("trust", what, "`abey trust DIR` trusts it, `abey trust --remove DIR` takes it off the list")
        elif item.state == "gone":
            yield info(
                "trust", f"{shown}, which was trusted, is gone", "`abey trust --remove DIR` takes it off the list"
            )
