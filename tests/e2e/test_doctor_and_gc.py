"""`agents/doctor` and `agents/gc` of a real daemon."""

import os
import time
from pathlib import Path

from support.e2e import Place, says


def left_behind(place: Place, age: float) -> Path:
    """A temporary file of so many seconds ago."""
    path = place.state / "configs" / "x.json.1-2.new"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("half")
    path.chmod(0o600)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_a_daemon_that_is_well_says_so_and_names_who_is_not(place: Place) -> None:
    config = place.config(script=[says("end")])
    for name in ("good", "bad"):
        place.rpc("agents/start", sessionId=name, config=config, prompt="x", run="turn", wait=True, cwd=str(place.work))
    place.abey("daemon", "stop")
    place.journal("bad").write_bytes(place.journal("bad").read_bytes().replace(b'"x"', b'"y"', 1))
    found = place.json("doctor")["findings"]
    assert [(one["check"], one.get("sessionId")) for one in found if one["severity"] == "error"] == [
        ("sessions", "bad")
    ]
    told = [one["message"] for one in found if one["check"] == "sessions"]
    assert told[0] == "2 sessions examined, 1 with something wrong"
    assert [one for one in found if one["severity"] != "ok" and "advice" not in one] == []
    assert {"version", "durability", "permissions", "lock", "disk", "index", "processes", "sandbox"} <= {
        one["check"] for one in found
    }


def test_what_was_left_behind_is_shown_and_then_goes(place: Place) -> None:
    path = left_behind(place, 3700)
    item = {"kind": "temporary", "path": str(path), "bytes": 4, "reason": "a temporary file, untouched for an hour"}
    shown = place.rpc("agents/gc", dryRun=True)
    assert shown == {"items": [item], "bytes": 4, "dryRun": True}
    assert path.exists()
    assert place.abey("gc").splitlines()[-1] == "1 thing, 4 bytes went"
    assert not path.exists()
    assert place.json("gc") == {"items": [], "bytes": 0, "dryRun": False}
