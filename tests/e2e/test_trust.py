"""A workspace that somebody else wrote: nothing in it counts before it is trusted, and no longer than that."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.e2e import PROGRAMS, Place, calls, says, until
from support.e2e_peer import PATIENCE, Peer, Refusal
from support.opens import Opens, opens

from abey.shared.starting import connect

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel is asked who opens a file")


@pytest.fixture
def theirs(place: Place) -> Path:
    """The agent file of the workspace."""
    path = place.work / ".abey" / "agents" / "theirs.json"
    path.parent.mkdir(parents=True)
    save(place, path, "one")
    return path


@pytest.fixture
def opened(theirs: Path) -> Iterator[Opens]:
    with opens(theirs.parent.parent, theirs.parent) as opened:
        yield opened


def save(place: Place, path: Path, prompt: str, **more: Any) -> None:
    config = place.config("theirs", script=[says("hi")], loop=True, **more)
    path.write_text(json.dumps({**config, "systemPrompt": prompt}))


def start(place: Place, **named: Any) -> Any:
    return place.rpc("agents/start", **named, prompt="x", cwd=str(place.work))


def step(place: Place, session: Any) -> Any:
    return place.rpc("agents/step", sessionId=session["sessionId"])["session"]


def prompt_of(place: Place, session: Any) -> str:
    """The system prompt of the version that the last step of a session used."""
    stored = place.state / "configs" / f"{place.session(session['sessionId'])['configHash']}.json"
    return str(json.loads(stored.read_text())["systemPrompt"])


def trust(place: Place, action: str = "add") -> Any:
    return place.rpc("agents/trust", action=action, dir=str(place.work))


def client(place: Place, trusting: bool, folder: Path) -> Peer:
    """An editor that has a folder open, and has asked its user about it."""
    peer = Peer(connect(place.state, place.env, start=True, timeout=PATIENCE))
    peer.request(
        "initialize",
        processId=None,
        rootUri=None,
        capabilities={"experimental": {"agents": {"protocolVersions": ["1.0"]}}},
        workspaceFolders=[{"uri": folder.as_uri(), "name": "work"}],
        initializationOptions={"env": place.env, "workspaceTrusted": trusting},
    )
    peer.notify("initialized", {})
    return peer


def test_before_trust_no_file_of_a_workspace_is_opened(place: Place, theirs: Path, opened: Opens) -> None:
    with client(place, trusting=False, folder=place.work) as editor:
        for params in ({"cwd": str(place.work)}, {"cwd": str(theirs.parent)}):
            assert editor.request("agents/list", **params) == {"items": [], "untrusted": [str(place.work)]}
        with pytest.raises(Refusal) as unknown:
            editor.request("agents/start", agent="theirs", cwd=str(place.work))
        with pytest.raises(Refusal) as denied:
            editor.request("agents/validate", uri=theirs.as_uri())
        editor.request("agents/validate", text=theirs.with_name("none.json").as_uri())
    ran = place.run("run", "-p", "x")
    assert (unknown.value.kind, denied.value.kind, denied.value.data["dir"]) == (
        "agent/unknown",
        "permission/denied",
        str(place.work),
    )
    words = f"{place.work} is not trusted, so that nothing in its .abey is read; `abey trust {place.work}` trusts it"
    assert (ran.code, ran.err.splitlines()[0], denied.value.message) == (2, words, words)
    assert opened.taken() == []
    assert place.abey("trust", "--yes") == f"trusted: {place.work}\n"
    assert start(place, agent="theirs")["agent"] == "theirs"
    assert "theirs.json" in opened.taken()


def test_trust_survives_the_daemon_and_ends_at_once(place: Place, theirs: Path, opened: Opens) -> None:
    trust(place)
    session = start(place, agent="theirs")
    place.kill_daemon()
    save(place, theirs, "two")
    assert (step(place, session)["configState"], prompt_of(place, session)) == ("ok", "two")
    trust(place, "remove")
    save(place, theirs, "three")
    opened.taken()
    again = place.rpc("agents/send", sessionId=session["sessionId"], prompt="again", run="step")["session"]
    assert (again["state"], again["configState"], prompt_of(place, session)) == ("completed", "stale", "two")
    untrusted = f"{place.work} is not trusted, so that nothing in its .abey is read"
    assert again["configProblem"] == f"{untrusted}; `abey trust {place.work}` trusts it"
    listed = place.rpc("agents/sessions")["items"]
    assert ([one["configState"] for one in listed], opened.taken()) == (["stale"], [])
    place.kill_daemon()
    assert [one["configState"] for one in place.rpc("agents/sessions")["items"]] == ["stale"]
    assert opened.taken() == []
    trust(place)
    assert place.session(session["sessionId"])["configState"] == "ok"


def test_a_file_that_is_named_is_trusted_for_its_session_alone(place: Place, theirs: Path, opened: Opens) -> None:
    named = start(place, agentFile=str(theirs))
    save(place, theirs, "two")
    assert (step(place, named)["configState"], prompt_of(place, named)) == ("ok", "two")
    opened.taken()
    with pytest.raises(Refusal):
        start(place, agent="theirs")
    assert (place.rpc("agents/list", cwd=str(place.work))["items"], opened.taken()) == ([], [])


def test_a_file_is_the_one_that_its_spelling_names(place: Place, theirs: Path, opened: Opens) -> None:
    ours = place.root / "ours"
    for folder in (ours / ".abey", ours / "deep"):
        folder.mkdir(parents=True)
    (ours / "deep" / "link").symlink_to(place.work / ".abey" / "agents", target_is_directory=True)
    place.rpc("agents/trust", action="add", dir=str(ours))
    with pytest.raises(Refusal) as missing:
        place.rpc("agents/validate", uri=f"{ours}/deep/link/../../.abey/agents/theirs.json")
    with pytest.raises(Refusal) as denied:
        place.rpc("agents/validate", uri=f"{ours}/deep/link/theirs.json")
    assert (missing.value.kind, denied.value.kind, opened.taken()) == ("arguments/invalid", "permission/denied", [])


def test_a_session_that_comes_in_reads_no_file_of_an_untrusted_workspace(
    place: Place, theirs: Path, opened: Opens, tmp_path: Path
) -> None:
    moving = str(tmp_path / "moving.jsonl")
    place.rpc("agents/export", sessionId=start(place, agentFile=str(theirs))["sessionId"], format="jsonl", path=moving)
    save(place, theirs, "two")
    opened.taken()
    came = place.rpc("agents/import", path=moving)
    ran = step(place, came)
    assert (came["configState"], ran["configState"], prompt_of(place, came)) == ("stale", "stale", "one")
    assert opened.taken() == []
    trust(place)
    assert place.session(came["sessionId"])["configState"] == "ok"


def test_a_client_trusts_its_folders_for_as_long_as_it_is_connected(place: Place, theirs: Path) -> None:
    with client(place, trusting=True, folder=place.work) as editor:
        cwd = str(place.work)
        assert [one["slug"] for one in editor.request("agents/list", cwd=cwd)["items"]] == ["theirs"]
        found = editor.request("agents/validate", uri=theirs.as_uri())["diagnostics"]
        assert [one["code"] for one in found] == ["runs-everything"]
        session = editor.request("agents/start", agent="theirs", prompt="x", cwd=cwd)
        assert place.session(session["sessionId"])["configState"] == "ok"
        with pytest.raises(Refusal):
            start(place, agent="theirs")
        folder = {"uri": place.work.as_uri(), "name": "work"}
        editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}})
        assert editor.request("agents/list", cwd=cwd) == {"items": [], "untrusted": [cwd]}
        assert place.session(session["sessionId"])["configState"] == "stale"
        editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
        assert editor.request("agents/get", sessionId=session["sessionId"])["session"]["configState"] == "ok"
    until(lambda: place.session(session["sessionId"])["configState"] == "stale")
    assert place.rpc("agents/trust", action="list") == {"items": []}


def test_a_trusted_workspace_is_live_for_whoever_has_it_open(place: Place, theirs: Path) -> None:
    trust(place)
    with client(place, trusting=False, folder=place.work) as editor:
        editor.request("agents/list", cwd=str(place.work))
        save(place, theirs, "two", description="new")
        heard = editor.hear("agents/configChanged")
        assert [one["description"] for one in heard["items"]] == ["new"]
        theirs.write_text("{")
        heard = editor.hear("agents/configChanged")
        assert [one["state"] for one in heard["items"]] == ["stale"]
        assert [one["path"] for one in heard["diagnostics"]] == [str(theirs)]
        trust(place, "remove")
        assert editor.hear("agents/configChanged") == {"items": [], "diagnostics": []}


def test_a_damaged_list_trusts_nothing_and_says_so(place: Place, theirs: Path) -> None:
    trust(place)
    file = place.state / "trust.json"
    file.write_text(file.read_text()[:-10])
    fault = place.rpc("agents/trust", action="list")["damaged"]
    assert fault.startswith(f"{file} is damaged: ")
    assert place.rpc("agents/list", cwd=str(place.work))["untrusted"] == [str(place.work)]


@pytest.mark.parametrize(
    "params",
    [{}, {"action": "add"}, {"action": "list", "dir": "/"}, {"action": "add", "dir": "work"}, {"action": "x"}],
    ids=str,
)
def test_what_is_no_choice_is_refused(place: Place, params: dict[str, str]) -> None:
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/trust", **params)
    assert refused.value.code == -32602


EVIL = ("json", "asyncio", "socket", "abey", "abey_cli", "sitecustomize", "usercustomize", "encodings", "watchfiles")


def test_no_module_of_the_current_folder_is_ever_imported(place: Place) -> None:
    seen = place.root / "imported"
    evil = f"import os\nwith open({str(seen)!r}, 'a') as file:\n    file.write(__name__ + '\\n')\n"
    for name in EVIL:
        (place.work / f"{name}.py").write_text(evil)
        (place.work / name).mkdir()
        (place.work / name / "__init__.py").write_text(evil)
    agent = place.agent(script=[calls(("bump", {})), says("done")])
    place.kill_daemon()
    assert place.abey("run", "--agent-file", str(agent), "-p", "x") == "done\n"
    assert place.ran() == 1
    command = Path(f"/proc/{place.daemon_pid()}/cmdline").read_bytes().split(b"\0")
    place.kill_daemon()
    place.abey("--transport", "stdio", "session", "list")
    place.abey("demo", "--yes")
    forwarder = subprocess.run(
        [PROGRAMS / "abey-daemon", "--stdio"], cwd=place.work, env=place.env, input=b"", timeout=PATIENCE, check=False
    )
    assert (command[1:3], forwarder.returncode, seen.exists()) == ([b"-P", b"-m"], 0, False)
    subprocess.run([sys.executable, "-c", "import json"], cwd=place.work, env=place.env, timeout=PATIENCE, check=False)
    assert seen.read_text().split() == ["json"]
