"""The VS Code extension in a folder of its own, and its programs on Node.js."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "vscode"
MADE = ("dist", "out", "*.vsix")
BUNDLED = ("docs/agent-file.schema.json", "cli/abey_cli/*.jsonc")
"""What the extension has from its neighbours."""
PATIENCE = 660
"""Seconds: more than the longest test of the extension gives itself."""

_SKIPPED_NONE = re.compile(r"^(?:#|ℹ) skipped 0$", re.MULTILINE)


def demand(there: object, missing: str) -> None:
    """Skips the test where something is not there, with what is missing; under CI it fails."""
    if there:
        return
    if os.environ.get("CI"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)


def vscode_of(which: str) -> str:
    """The folder of a VS Code: `which` is what `clients/vscode/test/install` calls it, a variable names it."""
    variable = f"VSCODE_{which}"
    folder = os.environ.get(variable)
    demand(folder, f"{variable} does not name a VS Code: clients/vscode/test/install FOLDER {which} (see README.md)")
    assert folder is not None
    main = Path(folder, "code-server/lib/vscode/out/server-main.js")
    assert main.is_file(), f"{variable} names {folder}, where there is no VS Code"
    return folder


def chromium() -> str:
    """The browser that shows VS Code."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    demand(found, "chromium is missing: install it, or name one in CHROMIUM (see README.md)")
    assert found is not None
    return found


class Extension:
    """A copy of clients/vscode, so that what is built for a test is not built under the hands of who works there."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "clients" / "vscode"
        modules = "node_modules"  # copied, too: a bundler takes a linked one for where it was linked to
        shutil.copytree(CLIENT, self.folder, ignore=shutil.ignore_patterns(modules, *MADE))
        shutil.copytree(CLIENT / modules, self.folder / modules, symlinks=True)
        for name in BUNDLED:
            for file in ROOT.glob(name):
                there = root / file.relative_to(ROOT)
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, there)
        self._log = root / "said"

    @cached_property
    def package(self) -> Path:
        """The file that a user installs, made without a network."""
        self.alone("npm", "run", "package")
        return self.folder / "abey.vsix"

    @cached_property
    def built(self) -> Path:
        """The folder of the built tests; the package, which some of them install, is there, too."""
        assert self.package.is_file()
        self.run("node", "esbuild.mjs", "--tests")
        return self.folder / "out" / "test"

    def run(self, *argv: str, **more: str) -> str:
        """What a command says, which has to succeed; else the test fails with all of it."""
        own = {"ABEY_BIN": str(Path(sys.executable).parent), "NO_COLOR": "1", "NPM_CONFIG_UPDATE_NOTIFIER": "false"}
        with (
            self._log.open("wb") as log,
            subprocess.Popen(
                argv,
                cwd=self.folder,
                env={**os.environ, **own, **more},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as program,
        ):
            try:
                ended = f"ended with {program.wait(PATIENCE)}"
            except subprocess.TimeoutExpired:
                ended = f"did not end in {PATIENCE} s"
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(program.pid, signal.SIGKILL)
        said = self._log.read_text(encoding="utf-8", errors="replace")
        if ended != "ended with 0":
            pytest.fail(f"{' '.join(argv)} {ended}:\n{said}", pytrace=False)
        return said

    def alone(self, *argv: str, **more: str) -> str:
        """The same without any network but loopback, where the system can do that."""
        return self.run("test/isolated", *argv, **more)

    def passes(self, pattern: str, **more: str) -> None:
        """The test files pass, and nothing of them is skipped."""
        files = sorted(str(path) for path in self.built.glob(pattern))
        assert files, f"no test file is {pattern}"
        check_none_is_skipped(self.alone("node", "--test", "--test-concurrency=1", *files, **more))


def check_none_is_skipped(said: str) -> None:
    """What is needed is looked for before; a test that skips itself all the same would hide that it asks nothing."""
    if not _SKIPPED_NONE.search(said):
        pytest.fail(f"some tests were skipped:\n{said}", pytrace=False)
