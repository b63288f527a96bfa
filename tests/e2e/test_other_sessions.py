"""`--session-file`: what was said in another session, in a prompt."""

import shutil
from pathlib import Path

import pytest
from support.e2e import Place

DATA = Path(__file__).parents[1] / "data" / "agents-exe"
AGENT = Path(__file__).parents[2] / "docs" / "examples" / "research.json"


@pytest.fixture
def told(place: Place) -> str:
    """The session `paris`, as an export for people tells it; its files are beside it."""
    place.abey("session", "start", "--agent-file", str(AGENT), "--id", "paris", "-p", "How warm is it?", "--step")
    for format, name in (("jsonl", "paris.jsonl"), ("markdown", "paris.markdown"), ("agents-exe", "paris.json")):
        place.abey("session", "export", "paris", "--format", format, "-o", name)
    return (place.work / "paris.markdown").read_text().removesuffix("\n")


def prompt(place: Place, *options: str, agent: str = str(AGENT)) -> str:
    """What a new session is asked with these options."""
    session = place.json("session", "start", "--agent-file", agent, *options)
    [item] = place.rpc("agents/transcript", sessionId=session["sessionId"])["items"]
    return item["parts"][0]["text"]


def test_a_session_is_told_as_its_export_for_people_tells_it(place: Place, told: str) -> None:
    assert "How warm is it?" in told
    assert prompt(place, "-p", "Before:", "--session-file", "par", "-p", "Go on") == f"Before:\n{told}\nGo on"


@pytest.mark.parametrize("name", ["paris.markdown", "paris.jsonl"])
def test_a_file_of_one_is_told_the_same(place: Place, told: str, name: str) -> None:
    assert len(place.rpc("agents/sessions")["items"]) == 1
    shown = prompt(place, "--session-file", name)
    assert without_ids(shown) == without_ids(told)
    assert len(place.rpc("agents/sessions")["items"]) == 2
    assert place.rpc("agents/trash")["items"] == []


@pytest.mark.parametrize("path", sorted(DATA.glob("version*.json")), ids=lambda path: path.name)
def test_session_files_of_agents_exe_are_told(place: Place, path: Path) -> None:
    shutil.copy(path, place.work / "old.json")
    assert "## " in prompt(place, "--session-file", "old.json")


def test_a_file_that_is_none_is_exit_1_and_nothing_is_started(place: Place) -> None:
    (place.work / "none.json").write_text('{"a": 1}')
    for name, why in (("none.json", "is no session that can be read"), ("./gone.json", "cannot be read: No such file")):
        done = place.run("session", "start", "--agent-file", str(AGENT), "--session-file", name)
        assert (done.code, done.out, f"abey: {name} {why}" in done.err) == (1, "", True)
    unknown = place.run("session", "start", "--agent-file", str(AGENT), "--session-file", "nowhere")
    assert (unknown.code, unknown.out) == (4, "")
    assert place.rpc("agents/sessions")["items"] == []


def without_ids(text: str) -> str:
    """Without the lines that name the session, its folder or its agent's file: of a file those are others."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("- "))
