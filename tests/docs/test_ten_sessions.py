"""docs/examples/ten_sessions.py: sessions side by side, and calls that are answered by rule."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.e2e import Place, calls, says
from support.e2e_peer import PATIENCE
from support.pages import DOCS

EXAMPLE = DOCS / "examples" / "ten_sessions.py"


def run(place: Place, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments],
        cwd=place.work,
        env=place.env,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        check=False,
    )


def agent(place: Place, *script: Any) -> str:
    """The file of the example's agent, with another script."""
    path = place.work / "agent.json"
    lines = (DOCS / "examples" / "research.json").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("//"))
    config = json.loads(trimmed(text)) | {"model": {"provider": "scripted", "script": list(script)}}
    path.write_text(json.dumps(config))
    return str(path)


def trimmed(text: str) -> str:
    """JSON without the commas that stand before the end of a list or an object."""
    compact = "".join(line.strip() for line in text.splitlines())
    return compact.replace(",}", "}").replace(",]", "]")


def states(place: Place) -> set[str]:
    return {session["state"] for session in place.rpc("agents/sessions")["items"]}


def test_ten_sessions_end_with_their_answers(place: Place) -> None:
    done = run(place, str(DOCS / "examples" / "research.json"))
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 10)
    assert {line.split("? ")[1] for line in done.stdout.splitlines()} == {"It is 21 degrees in Paris."}
    assert (len(place.rpc("agents/sessions")["items"]), states(place)) == (10, {"completed"})


def test_a_command_that_is_more_than_an_echo_is_denied(place: Place) -> None:
    script = (calls(("bash_command", {"command": f"echo a; touch {place.count}"})), says("Then not."))
    done = run(place, agent(place, *script), "Touch it?", "Touch it again?")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ["Touch it again? Then not.", "Touch it? Then not."]
    assert not place.count.exists()


def test_without_an_agent_file_it_says_how_it_is_used(place: Place) -> None:
    done = run(place)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.rstrip().splitlines()[-1] == "python ten_sessions.py AGENT_FILE [PROMPT...]"


def test_an_error_is_told_and_ends_its_session_alone(place: Place) -> None:
    done = run(place, str(Path("nowhere.json")), "one", "two")
    assert (done.returncode, done.stdout) == (1, "")
    assert sorted(line.split(":")[0] for line in done.stderr.splitlines()) == ["session 1", "session 2"]
