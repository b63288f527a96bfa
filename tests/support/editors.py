"""Editors under remote control: each runs a script of ours that takes one order a line, does it as a user would with
the editor's own commands, and answers with one line. All else that an editor loads is what docs/editors says."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from support.e2e import Place, until
from support.e2e_peer import PATIENCE
from support.pages import DOCS, blocks

DRIVERS = Path(__file__).parents[1] / "editors"
INSTALL = "tests/editors/install FOLDER, then . FOLDER/variables (see README.md)"


class Refused(Exception):
    """The editor could not do it; the message is the editor's own."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A client that tests drive. `guide` is the block of docs/editors that it loads as a user's configuration."""

    name: str
    variable: str
    what: str
    driver: str
    guide: tuple[str, str] | None = None
    """The page and the kind of its first block that are the configuration."""
    called: str = "editor"
    """What the client calls itself in `initialize`."""
    asks: tuple[str, str] = ("", "")
    """What is replaced in the configuration, and by what, where the user wants to be asked."""


_LUA_ROOT = "root_dir = vim.fn.getcwd()"
_LUA_ASKS = (_LUA_ROOT, f"{_LUA_ROOT}, init_options = {{ ask = true }}")
_ELISP_COMMAND = '("abey-daemon" "--stdio")'
_ELISP_ASKS = (_ELISP_COMMAND, _ELISP_COMMAND.replace(")", " :initializationOptions (:ask t))"))
_NEOVIM = ("neovim.lua", ("neovim.md", "lua"), "Neovim", _LUA_ASKS)

NEOVIM = Kind("neovim", "EDITOR_NEOVIM", "Debian's Neovim", *_NEOVIM)
NEOVIM_CURRENT = Kind("neovim-current", "EDITOR_NEOVIM_CURRENT", "a current Neovim", *_NEOVIM)
EMACS = Kind("emacs", "EDITOR_EMACS", "an Emacs with eglot", "emacs.el", ("emacs.md", "elisp"), asks=_ELISP_ASKS)
VIM = Kind("vim", "EDITOR_VIM", "a Vim with ALE", "vim.vim", ("vim.md", "vim"))
NODE = Kind(
    "vscode-jsonrpc", "EDITOR_NODE_MODULES", "the package.json beside node_modules", "node/client.mjs", None,
    "vscode-jsonrpc",
)  # fmt: skip
PYTEST_LSP = Kind("pytest-lsp", "", "", "pytest_lsp_client.py", None, "pytest-lsp")


def file_of(variable: str, what: str) -> str:
    """The file that `variable` names. Where it is not set the test is skipped, but fails under CI."""
    file = os.environ.get(variable)
    if not file:
        missing = f"{variable} does not name {what}: {INSTALL}"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    assert Path(file).is_file(), f"{variable} names {file}, which is no file"
    return file


def own_env(place: Place, ask: bool) -> dict[str, str]:
    """What our drivers read."""
    given = {name: os.environ[name] for name in ("EDITOR_NODE_MODULES",) if name in os.environ}
    return {**given, "ABEY_TEST_ROOT": str(place.work), "ABEY_TEST_OPTIONS": json.dumps({"ask": ask})}


def argv_of(kind: Kind, home: Path, ask: bool) -> list[str]:
    """The command line of a client; what its guide says is the configuration stands in `home` afterwards."""
    driver = str(DRIVERS / kind.driver)
    file = file_of(kind.variable, kind.what) if kind.variable else sys.executable
    if kind.driver.endswith(".lua"):
        configure(kind, home / ".config" / "nvim" / "init.lua", ask)
        return [file, "--headless", "-i", "NONE", "-S", driver]
    if kind.driver.endswith(".el"):
        configured = configure(kind, home / ".emacs.d" / "init.el", ask)
        return [file, "--batch", "-l", str(configured), "-l", driver]
    if kind.driver.endswith(".vim"):
        configured = configure(kind, home / ".vimrc", ask)
        return [file, "-N", "-es", "-n", "-i", "NONE", "-u", str(configured), "-S", driver]
    if kind.driver.endswith(".mjs"):
        node = shutil.which("node")
        assert node, "node is missing"
        return [node, driver]
    return [file, driver]


def configure(kind: Kind, path: Path, ask: bool) -> Path:
    """Writes what the guide has for this editor's configuration."""
    assert kind.guide is not None
    page, language = kind.guide
    text = blocks(DOCS / "editors" / page, language)[0].text
    if ask:
        assert kind.asks[0] in text
        text = text.replace(*kind.asks)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


class Editor:
    """A running editor on a machine; it ends with the `with` block. Its words to people are in its folder."""

    def __init__(self, place: Place, kind: Kind, folder: Path, ask: bool = False) -> None:
        self.kind = kind
        self._folder = folder
        self._said = folder / "said"
        self._buffer = b""
        with socket.socket(socket.AF_UNIX) as listener, tempfile.TemporaryDirectory(prefix="abey-ed") as short:
            address = f"{short}/link"  # pytest's folders may be too long for a socket
            listener.bind(address)
            listener.listen()
            env = {**place.env, **own_env(place, ask), "ABEY_TEST_SOCKET": address}
            self._process = self._start(place, argv_of(kind, place.home, ask), env)
            self._link = self._accept(listener)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._link.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def order(self, verb: str, *arguments: Any) -> Any:
        """What the editor answers. Raises Refused; fails with the editor's log when it does not answer."""
        asked = {"verb": verb, "arguments": list(arguments)}
        self._link.sendall(json.dumps(asked).encode() + b"\n")
        answer = json.loads(self._line(verb))
        if "error" in answer:
            raise Refused(f"{self.kind.name}: {verb}: {answer['error']}")
        return answer["value"]

    def visit(self, path: Path) -> None:
        """Opens a file and waits until the server knows of it."""
        self.order("open", str(path))
        self.until("ready")

    def until(self, verb: str, wanted: Any = True, *arguments: Any) -> Any:
        """What `verb` answers, once it answers `wanted`; a function is asked whether it is that."""
        met = wanted if callable(wanted) else lambda answer: answer == wanted
        found: list[Any] = []

        def reached() -> bool:
            found[:] = [self.order(verb, *arguments)]
            return bool(met(found[0]))

        try:
            until(reached, f"for {verb}")
        except AssertionError:
            pytest.fail(f"{self.kind.name}: {verb} is {found}\n{self.words()}")
        return found[0]

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait()

    def leave(self) -> None:
        """Ends as a user ends the editor; returns when it is gone."""
        self.order("quit")
        assert self._process.wait(PATIENCE) == 0, self.words()

    def words(self) -> str:
        """What the editor printed, and its own log."""
        log = ""
        with suppress(OSError, Refused, AssertionError):
            log = self.order("log")
        return f"printed: {self._said.read_text(errors='replace')[-4000:]}\nlog: {log[-4000:]}"

    def _start(self, place: Place, argv: list[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        with self._said.open("wb") as said:
            return subprocess.Popen(
                argv, cwd=place.work, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT
            )

    def _accept(self, listener: socket.socket) -> socket.socket:
        listener.settimeout(0.05)
        end = time.monotonic() + PATIENCE
        while True:
            with suppress(TimeoutError):
                link = listener.accept()[0]
                link.settimeout(PATIENCE)
                return link
            ended = self._process.poll()
            assert ended is None, f"{self.kind.name} ended with {ended}: {self._said.read_text(errors='replace')}"
            assert time.monotonic() < end, f"{self.kind.name} does not come: {self._said.read_text(errors='replace')}"

    def _line(self, verb: str) -> bytes:
        while b"\n" not in self._buffer:
            try:
                chunk = self._link.recv(1 << 16)
            except ConnectionError:
                chunk = b""
            except TimeoutError:
                pytest.fail(f"{self.kind.name} does not answer {verb}: {self._said.read_text(errors='replace')}")
            assert chunk, f"{self.kind.name} went away at {verb}: {self._end()}"
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _end(self) -> str:
        """How it ended, and what it printed; of one that closed the link alone, that it runs."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        return f"ended with {self._process.poll()}: {self._said.read_text(errors='replace')}"


Sit = Callable[..., Editor]
"""Starts an editor of a kind: `sit(kind, **variables)`."""
