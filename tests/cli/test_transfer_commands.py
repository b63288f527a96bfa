"""`abey session export` and `abey session import`."""

import json
import os
from pathlib import Path
from typing import Any

from support.canned_daemon import SESSION_ID, CannedDaemon, session

RESULT = {"path": "/x/out", "bytes": 3}


def test_export_to_a_file_names_it_absolutely_and_prints_nothing_on_stdout(
    abey, daemon: CannedDaemon, work: Path
) -> None:
    daemon.on["agents/export"] = RESULT
    assert abey("session", "export", SESSION_ID, "-o", "out", "--format", "markdown") == (0, "", "3 bytes in /x/out\n")
    assert daemon.params("agents/export") == [
        {"sessionId": SESSION_ID, "format": "markdown", "path": str(work / "out")}
    ]
    assert json.loads(abey("session", "export", SESSION_ID, "-o", "out", "--json").out) == RESULT


def test_export_without_a_file_prints_it_and_leaves_nothing(abey, daemon: CannedDaemon) -> None:
    def export(params: dict[str, str]) -> dict[str, object]:
        Path(params["path"]).write_text("one\ntwo é\n", encoding="utf-8")
        return {"path": params["path"], "bytes": 11}

    daemon.on["agents/export"] = export
    assert abey("session", "export", SESSION_ID) == (0, "one\ntwo é\n", "")
    (params,) = daemon.params("agents/export")
    assert "format" not in params
    assert not os.path.exists(os.path.dirname(params["path"]))


def test_export_says_what_is_not_in_the_file(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/export"] = {**RESULT, "note": "damaged at byte 7: x"}
    assert abey("session", "export", SESSION_ID, "-o", "out", "-q") == (
        0,
        "",
        "abey: the export is not whole: damaged at byte 7: x\n",
    )


def test_export_as_json_without_a_file_is_the_text_in_a_value(abey, daemon: CannedDaemon) -> None:
    def write(params: dict[str, Any]) -> dict[str, Any]:
        Path(params["path"]).write_text("line é\n", encoding="utf-8")
        return {"path": params["path"], "bytes": 8}

    daemon.on["agents/export"] = write
    assert json.loads(abey("session", "export", SESSION_ID, "--json").out) == {"bytes": 8, "text": "line é\n"}


def test_import_sends_the_file_and_what_was_said_of_it(abey, daemon: CannedDaemon, work: Path) -> None:
    daemon.on["agents/import"] = session(sessionId="mine")
    options = ["--format", "agents-exe", "--id", "mine", "--cwd", "there", "--agent-file", "a.json"]
    ran = abey("session", "import", "f.json", *options)
    assert (ran.code, ran.out.splitlines()[0]) == (0, "session-id: mine")
    assert daemon.params("agents/import") == [
        {
            "path": str(work / "f.json"),
            "format": "agents-exe",
            "sessionId": "mine",
            "cwd": str(work / "there"),
            "agentFile": str(work / "a.json"),
        }
    ]


def test_import_leaves_to_the_file_what_was_not_said(abey, daemon: CannedDaemon, work: Path) -> None:
    daemon.on["agents/import"] = session()
    assert abey("session", "import", "f", "-q").out == f"{SESSION_ID}\n"
    assert daemon.params("agents/import") == [{"path": str(work / "f")}]


def test_import_of_stdin_goes_through_a_file_that_is_gone_afterwards(abey, daemon: CannedDaemon) -> None:
    read: list[str] = []

    def take(params: dict[str, str]) -> dict[str, object]:
        read.append(Path(params["path"]).read_text())
        return session()

    daemon.on["agents/import"] = take
    assert abey("session", "import", "-", typed="all of it").code == 0
    assert read == ["all of it"]
    assert not os.path.exists(daemon.params("agents/import")[0]["path"])


def test_import_takes_one_agent(abey, daemon: CannedDaemon) -> None:
    ran = abey("session", "import", "f", "--agent", "a", "--agent-file", "b")
    assert (ran.code, ran.err) == (2, "abey: say --agent or --agent-file, not both\n")
