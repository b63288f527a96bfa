"""`abey trust`, and what is said where a workspace is not trusted."""

import json
import os
from pathlib import Path

import pytest
from support.canned_daemon import CannedDaemon, Refusal, session

from abey.shared.workspace import untrusted_words

WORDS = "{0} is not trusted, so that nothing in its .abey is read; `abey trust {0}` trusts it\n"


def item(folder: object, state: str = "ok") -> dict[str, str]:
    return {"dir": str(folder), "at": "2026-01-02T03:04:05.678Z", "state": state}


@pytest.fixture
def agents(work: Path) -> Path:
    folder = work / ".abey" / "agents"
    folder.mkdir(parents=True)
    for name in ("b.json", "a\x1b.json", "notes.txt", ".hidden.json"):
        (folder / name).write_text("never read")
    return folder


@pytest.fixture
def trusting(daemon: CannedDaemon) -> CannedDaemon:
    daemon.on["agents/trust"] = lambda params: {"items": [item(params["dir"])] if "dir" in params else []}
    daemon.on["agents/list"] = {"items": [], "untrusted": []}
    return daemon


def test_what_a_folder_brings_is_shown_before_it_is_trusted(abey, trusting, work: Path, agents: Path) -> None:
    ran = abey("trust", typed="perhaps\nyes\n", terminal=True)
    assert ran == (
        0,
        f"trusted: {work}\n",
        f"{work} has these agent files:\n  .abey/agents/a\\x1b.json\n  .abey/agents/b.json\n"
        "An agent runs programs as you. All folders below count too, and whatever is put there later.\n"
        f"Trust {work}? [yes/no] 'perhaps' is neither; write yes, the whole word, or no\nTrust {work}? [yes/no] ",
    )
    assert trusting.params("agents/trust") == [{"action": "add", "dir": str(work)}]


@pytest.mark.parametrize("answer", ["", "n\n", "no\n", "\n"])
def test_without_a_yes_nothing_is_trusted(abey, trusting, work: Path, answer: str) -> None:
    ran = abey("trust", ".", typed=answer, terminal=True)
    assert (ran.code, ran.out, trusting.asked) == (1, "", [])
    assert ran.err.startswith(f"{work} has no agent files now.\n") and ran.err.endswith("nothing was changed\n")


def test_where_nobody_can_be_asked_the_command_is_the_answer(abey, trusting, work: Path) -> None:
    assert abey("trust") == (0, f"trusted: {work}\n", "")
    assert abey("trust", ".", "--no-input", terminal=True) == (0, f"trusted: {work}\n", "")
    assert trusting.params("agents/trust") == 2 * [{"action": "add", "dir": str(work)}]


def test_with_yes_nobody_is_asked(abey, trusting, work: Path) -> None:
    assert abey("trust", "--yes", "-q", terminal=True) == (0, f"{work}\n", "")
    assert json.loads(abey("trust", "--yes", "--json").out) == {"items": [item(work)]}


def test_the_folder_that_is_trusted_is_the_workspace_around_by_its_real_path(abey, trusting, work, agents) -> None:
    (work.parent / "link").symlink_to(work)
    (work / "inner").mkdir()
    for given, meant in ((".abey/..", work), ("../link", work), ("inner", work / "inner"), (f"{work}/", work)):
        abey("trust", given, "--yes")
        assert trusting.params("agents/trust")[-1]["dir"] == str(meant)


def test_from_below_the_workspace_is_meant(abey, trusting, work, agents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(agents)
    assert abey("trust", "--yes").out == f"trusted: {work}\n"


def test_what_is_no_folder_is_exit_2(abey, trusting, work: Path) -> None:
    assert abey("trust", "none", "--yes") == (2, "", f"abey: {work}/none is not a folder\n")
    assert abey("trust", ".", "--list").code == 2
    assert trusting.asked == []


def test_the_list_says_which_folders_no_longer_count(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/trust"] = {"items": [item("/a b", "replaced"), item("/c", "gone"), item("/d")]}
    assert abey("trust", "--list") == (
        0,
        "/a b  (not trusted: another folder is in its place; `abey trust '/a b'` trusts that one)\n/c  (gone)\n/d\n",
        "",
    )
    assert daemon.asked == [("agents/trust", {"action": "list"})]
    daemon.on["agents/trust"] = {"items": []}
    assert abey("trust", "--list") == (0, "", "no folder is trusted; `abey trust DIR` trusts one\n")
    daemon.on["agents/trust"] = {"items": [], "damaged": "/s/trust.json is damaged"}
    assert abey("trust", "--list", "-q").err == (
        "nothing is trusted: /s/trust.json is damaged; it is kept, and the next `abey trust DIR` begins anew\n"
    )


def test_remove_says_what_still_covers_the_folder(abey, daemon: CannedDaemon, work: Path) -> None:
    daemon.on["agents/trust"] = {"items": [item(work.parent)]}
    assert abey("trust", "--remove", "../work") == (
        0,
        "",
        f"{work} was not in the list\nit is still trusted, as everything below {work.parent}\n",
    )
    assert daemon.params("agents/trust")[-1] == {"action": "remove", "dir": str(work)}
    answers = [{"items": [item(work)]}, {"items": []}]
    daemon.on["agents/trust"] = lambda _: answers.pop(0)
    assert abey("trust", "--remove", str(work)) == (0, "", "")


def test_whose_agent_of_two_runs_from_now_on_is_said(abey, trusting, work: Path, agents: Path) -> None:
    def listed(path: Path, state: str) -> dict[str, object]:
        return {"slug": "default", "path": str(path), "description": "", "state": state, "diagnostics": []}

    ours, twice = Path("/c/agents/a\x1b.json"), agents / "c.json"
    items = [listed(agents / "b.json", "ok"), listed(twice, "shadowed"), listed(ours, "shadowed")]
    trusting.on["agents/list"] = {"items": items, "untrusted": []}
    said = "its agent default comes before yours, /c/agents/a\\x1b.json\n"
    assert abey("trust", "--yes") == (0, f"trusted: {work}\n", said)
    assert trusting.params("agents/list") == [{"cwd": str(work)}]
    assert [abey("trust", "--yes", quiet).err for quiet in ("-q", "--json")] == ["", ""]


def test_a_folder_whose_name_is_not_utf_8_is_exit_2(abey, trusting, work: Path, monkeypatch) -> None:
    folder = os.fsdecode(os.fsencode(work) + b"/\xff")
    os.mkdir(folder)
    monkeypatch.chdir(folder)
    words = f"abey: {work}/\\udcff cannot be trusted: its name is not UTF-8\n"
    assert abey("trust", "--yes") == (2, "", words)
    assert trusting.asked == []


def test_the_way_out_works_for_a_folder_that_cannot_be_shown_as_it_is() -> None:
    assert untrusted_words("/a b\x1b") == (
        "/a b\\x1b is not trusted, so that nothing in its .abey is read; `abey trust` in it trusts it"
    )


def test_a_refusal_is_passed_on(abey, daemon: CannedDaemon) -> None:
    def refuse(_: object) -> None:
        raise Refusal(-31014, "too wide", kind="permission/denied", retryable=False)

    daemon.on["agents/trust"] = refuse
    assert abey("trust", "--yes") == (1, "", "abey: too wide (permission/denied)\n")


@pytest.mark.parametrize("command", [("session", "start"), ("run",)])
def test_an_untrusted_workspace_is_said_to_be_one(abey, daemon: CannedDaemon, work, agents, command) -> None:
    daemon.on["agents/start"] = session()
    daemon.on["agents/run"] = {"outcome": "completed", "steps": 1, "session": session(output="done")}
    daemon.on["agents/list"] = {"items": [], "untrusted": [str(work)]}
    ran = abey(*command, "--agent", "a", "-p", "hi")
    assert ran.err.startswith(WORDS.format(work))
    for quiet in ("-q", "--json"):
        assert "trusted" not in abey(*command, "--agent", "a", "-p", "hi", quiet).err
    daemon.on["agents/list"] = {"items": [], "untrusted": []}
    assert "trusted" not in abey(*command, "--agent", "a", "-p", "hi").err


def test_without_a_workspace_nobody_is_asked_for_it(abey, daemon: CannedDaemon, work: Path) -> None:
    daemon.on["agents/start"] = session()
    abey("session", "start", "--agent", "a", "-p", "hi")
    assert [method for method, _ in daemon.asked] == ["agents/start"]
