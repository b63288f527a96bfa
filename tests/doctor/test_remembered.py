"""What the doctor says of the rules that are remembered."""

from pathlib import Path

from support.fake_host import FakeHost

from abey.core.remembering import made
from abey.protocol.policy import AskedRule
from abey.runtime.doctor.findings import error, ok
from abey.runtime.doctor.remembered import rules
from abey.runtime.doctor.subject import Subject
from abey.runtime.remembering import Remembering
from abey.runtime.store.io import FileIO


def test_rules_that_do_not_count_are_told_and_their_file_stays(tmp_path: Path) -> None:
    subject = Subject(tmp_path / "state", tmp_path / "config", tmp_path / "socket", {})
    assert list(rules(FakeHost(), subject)) == [ok("rules", "rules that are remembered beyond a session: 0")]
    file = subject.config_dir / "rules.json"
    assert not subject.config_dir.exists()
    asked = AskedRule.model_validate({"tool": "ask", "disposition": "runSync", "scope": "user"})
    remembering = Remembering(file, FileIO("process"))
    remembering.remember(made(asked, session_id=None, origin="by hand", now="2026-01-02T03:04:05.678Z"))
    assert list(rules(FakeHost(), subject)) == [ok("rules", "rules that are remembered beyond a session: 1")]
    file.write_bytes(b"{")
    advice = "mend the file, or remember a rule anew: that begins another file, and keeps this one"
    assert list(rules(FakeHost(), subject)) == [
        error("rules", f"no remembered rule counts: {remembering.fault}", advice)
    ]
    assert file.read_bytes() == b"{"
