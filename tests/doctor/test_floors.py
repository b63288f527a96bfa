"""What the doctor says of floors."""

from pathlib import Path

from support.fake_host import FakeHost

from abey.runtime.agents.trust import Trust
from abey.runtime.doctor.findings import error, ok
from abey.runtime.doctor.floors import policy
from abey.runtime.doctor.subject import Subject
from abey.runtime.store.io import FileIO


def test_every_policy_file_that_counts_is_told(tmp_path: Path) -> None:
    subject = Subject(tmp_path / "state", tmp_path / "config", tmp_path / "socket", {})
    assert list(policy(FakeHost(), subject)) == []
    mine, theirs = tmp_path / "config" / "policy.json", tmp_path / "work" / ".abey" / "policy.json"
    for path, text in ((mine, "{}"), (theirs, "{"), (tmp_path / "other" / ".abey" / "policy.json", "{")):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    Trust(subject.state_dir / "trust.json", FileIO("process")).add(tmp_path / "work", "2026-01-02T03:04:05.678Z")
    fault = f"this policy cannot be used: {theirs}:1:1: `{{` is never closed by `}}`"
    assert list(policy(FakeHost(), subject)) == [
        ok("policy", str(mine)),
        error("policy", fault, f"`abey agents check {theirs}`"),
    ]
