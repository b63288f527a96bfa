"""The VS Code extension passes its own tests: types, units, the package, and what a person does in a real VS Code."""

import zipfile
from pathlib import Path

import pytest
from support.vscode_extension import CLIENT, Extension, check_none_is_skipped, chromium, vscode_of
from support.wheel import programs_of_a_wheel, wheels

LARGEST_PACKAGE = 600_000
PACKAGED = {
    *("[Content_Types].xml", "extension.vsixmanifest"),
    *("extension/package.json", "extension/readme" + ".md", "extension/changelog" + ".md"),
    "extension/LICENSE.txt",
    *("extension/dist/extension.js", "extension/dist/agent-file.schema.json"),
}
PACKAGED_FOLDERS = ("dist/webview", "dist/review", "media", "walkthrough")

WITH_A_WHEEL = {"first-run", "install"}
JOURNEYS = sorted(
    {path.name.removesuffix(".test.ts") for path in (CLIENT / "test" / "e2e").glob("*.test.ts")} - WITH_A_WHEEL
)
ON_THE_NEWEST = ("chain",)
SEEN = [("100", name) for name in JOURNEYS] + [("139", name) for name in ON_THE_NEWEST]


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    """Where the screenshots of a test are kept: a folder of its own."""
    folder = tmp_path / "shots"
    folder.mkdir()
    return folder


def test_the_types_hold(extension: Extension) -> None:
    extension.run("npm", "run", "check")


def test_the_units_do_what_they_say(extension: Extension) -> None:
    check_none_is_skipped(extension.run("npm", "run", "test:unit"))


def test_the_package_is_small_and_holds_nothing_but_what_runs(extension: Extension) -> None:
    with zipfile.ZipFile(extension.package) as package:
        names = set(package.namelist())
    folders = tuple(f"extension/{folder}/" for folder in PACKAGED_FOLDERS)
    assert {name for name in names if not name.startswith(folders)} == PACKAGED
    assert extension.package.stat().st_size <= LARGEST_PACKAGE


def test_the_page_of_a_session_in_a_browser(extension: Extension, shots: Path) -> None:
    extension.passes("page/*.test.js", CHROMIUM=chromium(), ABEY_SHOTS=str(shots))


def test_commands_tabs_and_documents_inside_the_extension_host(extension: Extension) -> None:
    extension.passes("host/run.test.js", VSCODE_DIR=vscode_of("100"), CHROMIUM=chromium())


@pytest.mark.parametrize(("which", "journey"), SEEN, ids=[f"{name}-{which}" for which, name in SEEN])
def test_a_person_in_a_real_vs_code(which: str, journey: str, extension: Extension, shots: Path) -> None:
    needed = {"VSCODE_DIR": vscode_of(which), "CHROMIUM": chromium()}
    extension.passes(f"e2e/{journey}.test.js", ABEY_SHOTS=str(shots), **needed)


def test_the_first_run_with_nothing_but_the_package_and_the_wheel(
    extension: Extension, shots: Path, tmp_path: Path
) -> None:
    needed = {"VSCODE_DIR": vscode_of("100"), "CHROMIUM": chromium()}
    programs = programs_of_a_wheel(tmp_path)
    extension.passes("e2e/first-run.test.js", ABEY_SHOTS=str(shots), ABEY_BIN=str(programs), **needed)


def test_the_daemon_is_installed_in_a_terminal(extension: Extension, shots: Path, tmp_path: Path) -> None:
    """On the newest, for 1.100 comes without terminals; from a folder in the place of an index."""
    needed = {"VSCODE_DIR": vscode_of("139"), "CHROMIUM": chromium()}
    extension.passes("e2e/install.test.js", ABEY_SHOTS=str(shots), ABEY_WHEELS=str(wheels(tmp_path)), **needed)
