"""docs/operations.md, the unit of systemd and the versions of the protocol say what the code says."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.e2e import Place, until
from support.pages import DOCS, ROOT, first_column, sections

from abey.protocol.handshake import PROTOCOL_VERSION
from abey.runtime.telemetry import wanted
from abey.shared import kinds
from abey.shared.logs import KEPT_LOGS, LOG_BYTES, LOG_LEVELS
from abey_cli import manual

PAGE = DOCS / "operations.md"
SECTIONS = sections(PAGE)
UNIT = DOCS / "examples" / "systemd" / "abey.service"


def test_the_page_has_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(first_column(SECTIONS["Extras"])) == set(extras) - {"dev"}


def test_the_page_has_the_bounds_of_the_log() -> None:
    text = SECTIONS["Logs"]
    assert (LOG_BYTES, KEPT_LOGS) == (4 << 20, 3)
    assert ("longer than 4 MiB" in text, "three old ones" in text, "16 MiB" in text) == (True, True, True)
    assert all(f"`{level}`" in text for level in LOG_LEVELS)


def test_the_page_has_every_variable_of_traces_that_is_read() -> None:
    source = Path(wanted.__file__).read_text(encoding="utf-8")
    named = set(re.findall(r"OTEL_[A-Z_]+", SECTIONS["Traces"]))
    assert set(re.findall(r'"(OTEL_[A-Z_]+)"', source)) - {*wanted.PROTOCOLS} <= named


def test_the_version_of_the_protocol_is_the_same_everywhere() -> None:
    schema = json.loads((DOCS / "schema.json").read_text(encoding="utf-8"))
    said = re.search(r"`MAJOR\.MINOR`, now (\d+\.\d+),", sections(DOCS / "protocol.md")["Versions"])
    assert said is not None
    assert (schema["protocolVersion"], said[1]) == (PROTOCOL_VERSION, PROTOCOL_VERSION)


def test_the_manual_page_has_every_exit_code_and_only_variables_that_there_are() -> None:
    assert set(manual.EXITS) == {value for name, value in vars(kinds).items() if name.startswith("EXIT_")}
    known = set(first_column(sections(DOCS / "command-line.md")["Environment"]))
    assert set(manual.ENVIRONMENT) - known == {"NO_COLOR"}


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man")
def test_the_manual_page_is_good_roff() -> None:
    done = subprocess.run(
        ["man", "--warnings=all", "-l", str(DOCS / "abey.1")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "abey session approve" in done.stdout


def test_contributing_has_the_one_command_of_the_readme() -> None:
    one = re.findall(r"^python3 -m venv .*-m pytest$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(one) == 1
    assert one[0] in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()


def unit() -> configparser.ConfigParser:
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]  # names as they are written
    parsed.read(UNIT, encoding="utf-8")
    return parsed


def test_the_unit_starts_a_daemon_that_stays_and_that_ends_on_a_signal(tmp_path: Path) -> None:
    program, *arguments = shlex.split(unit()["Service"]["ExecStart"])
    assert program == "%h/.local/bin/abey-daemon"
    place = Place(tmp_path / "machine")
    command = [str(Path(sys.executable).parent / "abey-daemon"), *arguments]
    with subprocess.Popen(command, cwd="/", env=place.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as daemon:
        until(lambda: place.daemon_pid() == daemon.pid)
        daemon.terminate()
        _, said = daemon.communicate(timeout=60)
    assert (daemon.returncode, b"Traceback" in said) == (0, False)
    assert not (place.state / "logs").exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "abey-daemon"
    here = tmp_path / "abey.service"
    # manual pages are looked for where they are installed, which this one is not
    text = UNIT.read_text(encoding="utf-8").replace("%h/.local/bin/abey-daemon", str(program))
    here.write_text(text.replace("Documentation=man:abey(1)\n", ""))
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(here)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if "abey" in line]) == (0, [])
