"""`abey agents new`: a file to begin with, of which the daemon has nothing to say."""

import json
from pathlib import Path

import pytest
from support.canned_daemon import CannedDaemon

from abey.runtime.agents.loading import load_text
from abey_cli.commands.new_agent import agent_text

NEXT = 'next: edit it, then `abey run --agent helper -p "What is in this folder?"`\n'


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def checking(daemon: CannedDaemon) -> CannedDaemon:
    daemon.on["agents/list"] = {"items": [], "untrusted": []}
    daemon.on["agents/validate"] = {"diagnostics": []}
    return daemon


@pytest.fixture
def folder(work: Path) -> Path:
    return work.parent / "config" / "agents"


@pytest.mark.parametrize("provider", ["scripted", "openai", "openai-responses", "anthropic"])
def test_there_is_nothing_to_say_of_the_file(provider: str) -> None:
    loaded = load_text(agent_text("helper", provider, 'a "name"'))
    assert (loaded.findings, loaded.config and loaded.config.model.provider) == ((), provider)


def test_it_is_written_checked_and_named(abey, checking: CannedDaemon, folder: Path) -> None:
    assert abey("agents", "new", "helper") == (0, f"{folder}/helper.json\n", NEXT)
    text = (folder / "helper.json").read_text()
    assert text == agent_text("helper", "scripted", "")
    assert checking.params("agents/validate") == [{"text": text}]


def test_what_is_to_be_said_of_it_is_said(abey, checking: CannedDaemon, folder: Path) -> None:
    place = {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 3}}
    found = {"range": place, "severity": 2, "code": "missing-key", "message": "no API key", "source": "abey"}
    checking.on["agents/validate"] = {"diagnostics": [found]}
    ran = abey("agents", "new", "helper", "--provider", "openai")
    assert (ran.code, ran.err) == (0, f"{folder}/helper.json:2:3: warning: no API key\n{NEXT}")
    ran = abey("agents", "new", "other", "--json", "-q")
    assert json.loads(ran.out) == {"path": f"{folder}/other.json", "diagnostics": [found]}


@pytest.mark.parametrize(
    ("keys", "options", "model"),
    [
        ([], (), ("scripted", None)),
        (["OPENAI_API_KEY"], (), ("openai", "gpt-5.4-mini")),
        (["OPENAI_API_KEY", "ANTHROPIC_API_KEY"], (), ("anthropic", "claude-sonnet-4-5")),
        (["OPENAI_API_KEY"], ("--provider", "scripted"), ("scripted", None)),
        ([], ("--provider", "openai-responses", "--model", "x"), ("openai-responses", "x")),
    ],
)
def test_the_model_is_the_one_that_there_is_a_key_for(
    abey, checking, folder: Path, monkeypatch: pytest.MonkeyPatch, keys, options, model
) -> None:
    for key in keys:
        monkeypatch.setenv(key, "secret")
    assert abey("agents", "new", "helper", *options).code == 0
    text = (folder / "helper.json").read_text()
    config = load_text(text).config
    assert config is not None
    assert (config.model.provider, getattr(config.model, "name", None)) == model
    assert "secret" not in text


def test_the_embedded_model_has_no_name(abey, checking: CannedDaemon, folder: Path) -> None:
    assert abey("agents", "new", "helper", "--model", "x").code == 2
    assert not folder.exists()


def test_a_file_that_is_there_is_kept(abey, checking: CannedDaemon, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "helper.json").write_text("mine")
    ran = abey("agents", "new", "helper")
    assert (ran.code, ran.err) == (1, f"abey: {folder}/helper.json exists and is kept; take another slug\n")
    (folder / "other.json").symlink_to("nowhere")
    assert abey("agents", "new", "other").code == 1
    assert ((folder / "helper.json").read_text(), (folder / "nowhere").exists()) == ("mine", False)


def test_a_second_file_of_one_slug_is_not_written(abey, checking: CannedDaemon, folder: Path) -> None:
    checking.on["agents/list"] = {"items": [{"slug": "helper", "path": f"{folder}/x.json"}], "untrusted": []}
    ran = abey("agents", "new", "helper")
    assert (ran.code, ran.err) == (
        1,
        f"abey: there is an agent helper already: {folder}/x.json; edit it, or take another slug\n",
    )
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_exit_1(abey, checking: CannedDaemon, folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file")
    ran = abey("agents", "new", "helper")
    assert (ran.code, ran.err) == (1, f"abey: {folder} cannot be made: File exists\n")


def test_for_a_workspace_it_is_written_there_and_trust_is_spoken_of(abey, checking, work: Path) -> None:
    checking.on["agents/list"] = {"items": [], "untrusted": [str(work)]}
    path = work / ".abey" / "agents" / "helper.json"
    ran = abey("agents", "new", "helper", "--workspace")
    words = f"{work} is not trusted, so that nothing in its .abey is read; `abey trust {work}` trusts it\n"
    assert (ran, path.is_file()) == ((0, f"{path}\n", f"{words}{NEXT}"), True)


def test_a_bad_slug_is_exit_2(abey, checking: CannedDaemon, folder: Path) -> None:
    for slug in ("A", "../x", "a" * 65, ""):
        assert abey("agents", "new", slug).code == 2
    assert not folder.exists()
