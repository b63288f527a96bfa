"""What the doctor says of the folders that are trusted."""

from pathlib import Path

from support.fake_host import FakeHost

from abey.runtime.agents.trust import Trust
from abey.runtime.doctor.findings import error, info, ok, warning
from abey.runtime.doctor.subject import Subject
from abey.runtime.doctor.trusted import trust
from abey.runtime.store.io import FileIO

AT = "2026-01-02T03:04:05.678Z"


def test_folders_that_no_longer_are_what_was_trusted_are_told(tmp_path: Path) -> None:
    subject = Subject(tmp_path / "state", tmp_path / "config", tmp_path / "socket", {})
    assert list(trust(FakeHost(), subject)) == [ok("trust", "folders that are trusted: 0")]
    file = subject.state_dir / "trust.json"
    trusted = Trust(file, FileIO("process"))
    for name in ("gone", "kept", "other"):
        (tmp_path / name).mkdir()
        trusted.add(tmp_path / name, AT)
    for name in ("gone", "other"):
        (tmp_path / name).rename(tmp_path / f"{name}-moved")
    (tmp_path / "other").mkdir()
    assert list(trust(FakeHost(), subject)) == [
        ok("trust", "folders that are trusted: 1"),
        info(
            "trust",
            f"{tmp_path}/gone, which was trusted, is gone",
            "`abey trust --remove DIR` takes it off the list",
        ),
        warning(
            "trust",
            f"{tmp_path}/other is another folder than the one that was trusted",
            "`abey trust DIR` trusts it, `abey trust --remove DIR` takes it off the list",
        ),
    ]
    file.write_bytes(b"{")
    [finding] = trust(FakeHost(), subject)
    advice = "`abey trust DIR` begins anew, and keeps the file"
    assert finding == error("trust", f"nothing is trusted: {trusted.fault}", advice)
    assert file.read_bytes() == b"{"
