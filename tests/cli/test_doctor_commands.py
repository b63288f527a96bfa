"""`abey doctor` and `abey gc`: what they ask for and print, and what is examined where no daemon can be started."""

import json
import shlex
import sys

from support.canned_daemon import AGENTS, CannedDaemon

from abey.shared.version import VERSION

FINDINGS = {
    "findings": [
        {"check": "lock", "severity": "ok", "message": "held by the daemon, pid 7"},
        {
            "check": "sessions",
            "severity": "error",
            "message": "session x\x1b[2Jy is damaged",
            "advice": "`abey repair x\ny`",
            "sessionId": "x",
        },
    ]
}
SHOWN = (
    "ok       lock: held by the daemon, pid 7\n"
    "error    sessions: session x\\x1b[2Jy is damaged\n"
    "           `abey repair x\\ny`\n"
)
PATH = "/s/sessions/a\x1b/blobs/0"
ITEM = {"kind": "blob", "path": PATH, "bytes": 3, "reason": "no record names it", "sessionId": "a"}
ALONE = {"findings": [{"check": "settings", "severity": "error", "message": "bad", "advice": "set it"}]}


def test_a_finding_is_a_line_with_its_mark_and_what_to_do_below_it(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/doctor"] = FINDINGS
    assert abey("doctor") == (0, SHOWN, "")
    assert json.loads(abey("doctor", "--json").out) == FINDINGS


def test_another_refusal_of_the_daemon_is_told(abey, daemon: CannedDaemon) -> None:
    ran = abey("doctor")
    assert (ran.code, "no method agents/doctor" in ran.err) == (1, True)


def test_a_daemon_of_another_build_is_a_finding(abey, daemon: CannedDaemon) -> None:
    daemon.agents = {**AGENTS, "daemon": {**AGENTS["daemon"], "buildId": "0.0.9"}}
    daemon.on["agents/doctor"] = {"findings": []}
    fact = f"warning  version: the daemon is of build 0.0.9, this command line of {VERSION}\n"
    assert abey("doctor", "-q").out == f"{fact}           `abey daemon restart`\n"


def canned(findings: object) -> str:
    """The command of a daemon that cannot start, and can be examined."""
    script = f"""
import sys
sys.argv[1:] == ["--doctor", "--json"] or sys.exit("it is broken")
print({json.dumps(findings)!r})
sys.exit(1)
"""
    return shlex.join([sys.executable, "-c", script])


def test_where_no_daemon_can_be_started_the_files_tell_and_that_is_said(abey, monkeypatch) -> None:
    monkeypatch.setenv("ABEY_DAEMON", canned(ALONE))
    ran = abey("doctor", "--transport", "auto")
    lines = ran.out.splitlines()
    assert (ran.code, ran.err, lines[2:]) == (0, "", ["error    settings: bad", "           set it"])
    assert lines[0].startswith("error    daemon: the daemon ended with status 1: it is broken")
    [first, second] = json.loads(abey("doctor", "--transport", "auto", "--json").out)["findings"]
    assert (first["check"], first["severity"], second) == ("daemon", "error", ALONE["findings"][0])


def test_where_nothing_can_be_examined_either_it_is_unreachable(abey, monkeypatch) -> None:
    monkeypatch.setenv("ABEY_DAEMON", "sh -c 'echo it is broken >&2; exit 3'")
    ran = abey("doctor", "--transport", "auto")
    assert (ran.code, ran.out, "it is broken" in ran.err) == (6, "", True)


def test_gc_says_what_went(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/gc"] = {"items": [ITEM], "omitted": 2, "bytes": 10, "dryRun": False}
    line = "blob  3 bytes  /s/sessions/a\\x1b/blobs/0  no record names it\n"
    assert abey("gc") == (0, f"{line}and 2 more\n3 things, 10 bytes went\n", "")
    assert daemon.params("agents/gc") == [{"dryRun": False}]


def test_gc_that_only_looks_says_what_would_go(abey, daemon: CannedDaemon) -> None:
    result = {"items": [ITEM], "bytes": 3, "dryRun": True}
    daemon.on["agents/gc"] = result
    assert abey("gc", "--dry-run").out.splitlines()[-1] == "1 thing, 3 bytes would go"
    assert daemon.params("agents/gc") == [{"dryRun": True}]
    assert json.loads(abey("gc", "--dry-run", "--json").out) == result


def test_gc_with_nothing_to_spare(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/gc"] = {"items": [], "bytes": 0, "dryRun": False}
    assert abey("gc") == (0, "nothing can be spared\n", "")
