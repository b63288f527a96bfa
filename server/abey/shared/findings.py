"""What `abey doctor` and `abey-daemon --doctor` print of a finding."""

from collections.abc import Iterator, Mapping
from typing import Any

from abey.shared.escaping import escape_line

MARK_WIDTH = 8


def finding_lines(finding: Mapping[str, Any]) -> Iterator[str]:
    """A line with the mark, the check and the fact; below it, indented, what to do. `finding` is as on the wire."""
    mark = escape_line(str(finding["severity"]))
    yield f"{mark:<{MARK_WIDTH}} {escape_line(str(finding['check']))}: {escape_line(str(finding['message']))}"
    if finding.get("advice") is not None:
        yield f"{'':<{MARK_WIDTH}}   {escape_line(str(finding['advice']))}"
