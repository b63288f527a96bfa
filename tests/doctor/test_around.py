"""What the doctor says of what is around abey: PATH, extras, traces, editors."""

import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from support.fake_host import FakeHost

from abey.runtime.doctor import around
from abey.runtime.doctor.findings import info, ok, warning
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject
from abey.runtime.extras import way_to

HERE = Path("/opt/abey/bin")
SUBJECT = Subject(Path("/s"), Path("/c"), Path("/r/x"), {})


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


def test_programs_that_are_found_are_well(host: FakeHost) -> None:
    assert list(around.path(host, SUBJECT)) == [ok("path", f"abey and abey-daemon are found, in {HERE}")]


def test_programs_that_are_not_on_the_path_are_named_with_their_folder(host: FakeHost) -> None:
    del host.found["abey-daemon"]
    what = "PATH does not have abey-daemon: editors and other shells do not find abey"
    advice = f"add {HERE} to PATH, or install with `pipx` or `uv tool`"
    assert list(around.path(host, SUBJECT)) == [info("path", what, advice)]


def test_another_installation_on_the_path_is_named(host: FakeHost) -> None:
    host.found["abey"] = Path("/usr/bin/abey")
    what = "PATH has another installation than this one: abey is /usr/bin/abey"
    advice = f"put {HERE} before it in PATH, or uninstall one of the two"
    assert list(around.path(host, SUBJECT)) == [warning("path", what, advice)]


def test_a_link_to_a_program_of_ours_is_ours(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "abey-daemon"
    link, other = tmp_path / "abey-daemon", tmp_path / "abey"
    link.symlink_to(program)
    other.write_text("")
    other.chmod(0o755)
    host, env = Host(), {"PATH": os.fspath(tmp_path)}
    found = [host.program(name, env) for name in ("abey-daemon", "abey", "nothing")]
    assert found == [link, other, None]
    assert [host.is_ours(path) for path in (program, link, other)] == [True, True, False]
    assert host.program("abey", {}) is None


def test_an_extra_that_is_not_there_is_said_with_what_it_is_for(host: FakeHost) -> None:
    assert list(around.extras(host, SUBJECT)) == [ok("extras", "all are installed: keyring, mcp, otel")]
    host.without = {"mcp"}
    advice = f"where that is wanted: {way_to('mcp')}"
    said = info("extras", "mcp is not installed: no tools of MCP servers", advice)
    assert list(around.extras(host, SUBJECT)) == [said]


@pytest.mark.parametrize(
    ("has_pip", "way"),
    [
        (True, "'/opt/a b/bin/python' -m pip install 'abey[mcp]'"),
        (False, "install abey once more, as abey[mcp]: docs/operations.md says how"),
    ],
)
def test_an_extra_is_installed_beside_this_abey(monkeypatch: pytest.MonkeyPatch, has_pip: bool, way: str) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/a b/bin/python")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: ModuleSpec(name, None) if has_pip else None)
    assert way_to("mcp") == way


def test_modules_are_found_without_their_packages_being_there() -> None:
    assert [Host().has(name) for name in ("json.decoder", "nothing_of_that_name", "nothing_of_that_name.at_all")] == [
        True,
        False,
        False,
    ]


def test_traces_are_said_to_be_sent_or_why_not(host: FakeHost) -> None:
    told = "none are sent; OTEL_EXPORTER_OTLP_ENDPOINT in the environment of the daemon has them sent"
    assert list(around.traces(host, SUBJECT)) == [ok("traces", told)]
    host.env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}
    sent = "turns are sent as traces; the log of the daemon says where they are not taken"
    assert list(around.traces(host, SUBJECT)) == [ok("traces", sent)]
    host.env["OTEL_TRACES_EXPORTER"] = "zipkin"
    what = "none are sent: OTEL_TRACES_EXPORTER is 'zipkin', and only otlp is spoken here"
    assert list(around.traces(host, SUBJECT)) == [warning("traces", what, "mend that, then `abey daemon restart`")]


def test_editors_that_are_there_are_named(host: FakeHost) -> None:
    found = ok("editors", "Neovim: docs/vscode.md and docs/editors say how abey is used in them")
    assert list(around.editors(host, SUBJECT)) == [found]
    host.found = {}
    what = "none of VS Code, Neovim, Emacs, Helix, Vim is on PATH"
    advice = "any editor that speaks LSP will do: docs/editors"
    assert list(around.editors(host, SUBJECT)) == [info("editors", what, advice)]
