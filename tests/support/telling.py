"""A page told as a story: its blocks in order, on a machine of its own, as somebody would who follows the page."""

import json
import re
import subprocess
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from support.e2e import Place
from support.e2e_peer import PATIENCE, Peer, Refusal
from support.pages import Block, plain, replacements, shown_part

from abey.shared.starting import connect

SHELLS = ("sh", "console")
REQUESTS = ("json request", "json answer", "json error", "json notification")


class Story:
    """`named` are names of the page, and what each is here; what others of them are here is added as it is printed."""

    def __init__(self, place: Place, named: dict[str, str]) -> None:
        self._place = place
        self._named = named
        self._open = ExitStack()
        self._peer: Peer | None = None
        self._last: tuple[str, Any] = ("", None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._open.close()

    def tell(self, block: Block) -> None:
        """Does what the block says. Fails where it does not come to what the page shows; what is only shown, passes."""
        if block.file is not None:
            self._write(block, block.file)
        elif block.form == "console":
            self._console(block)
        elif block.form == "sh":
            done = self._run(self._here(block.text))
            assert done.returncode == 0, (block.name, done.stderr)
        elif block.form == "json request":
            self._ask(self._value(block))
        elif block.form in REQUESTS:
            self._compare(block)

    def _write(self, block: Block, file: str) -> None:
        path = self._place.work / self._here(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as written:
            written.write(self._here(block.text))

    def _console(self, block: Block) -> None:
        for command, shown in _commands(block.text):
            done = self._run(self._here(command))
            assert plain(done.stdout) == plain(self._here(shown)), (block.name, command, done.stdout, done.stderr)
            for before, after in dict(replacements(shown, done.stdout)).items():
                self._named |= {before: after, before[:8]: after[:8]}

    def _ask(self, request: Any) -> None:
        if self._peer is None:
            connection = connect(self._place.state, self._place.env, start=True, timeout=PATIENCE)
            self._peer = self._open.enter_context(Peer(connection))
        try:
            self._last = "json answer", self._peer.request(request["method"], **request["params"])
        except Refusal as refusal:
            self._last = "json error", {"code": refusal.code, "message": refusal.message, "data": refusal.data}

    def _compare(self, block: Block) -> None:
        shown = self._value(block)
        if block.form == "json notification":
            self._last = block.form, self._heard(shown)
        assert (block.form, shown_part(shown, shown)) == (self._last[0], shown_part(shown, self._last[1])), block.name
        self._named |= dict(replacements(shown, self._last[1]))

    def _heard(self, shown: Any) -> Any:
        """The notification that was heard and looks like the one shown, else the last one."""
        heard = self._peer.heard if self._peer else []
        found = [{name: value for name, value in one.items() if name != "jsonrpc"} for one in heard]
        alike = [one for one in found if shown_part(shown, one) == shown_part(shown, shown)]
        return (alike or found)[-1]

    def _value(self, block: Block) -> Any:
        return json.loads(self._here(block.text))

    def _here(self, text: str) -> str:
        """`text` with what the page names as it is called here, the longest names first."""
        for before in sorted(self._named, key=len, reverse=True):
            text = text.replace(before, self._named[before])
        return text

    def _run(self, script: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self._place.work,
            env=self._place.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )


def script_of(block: Block) -> str:
    """What a block of shell runs, without what it prints."""
    return "\n".join(command for command, _ in _commands(block.text)) if block.form == "console" else block.text


def _commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it prints; `> ` goes on with the line before."""
    parts = re.split(r"^\$ (.*(?:\n> .*)*)\n", text, flags=re.MULTILINE)[1:]
    asked = [command.replace("\n> ", "\n") for command in parts[::2]]
    return list(zip(asked, parts[1::2], strict=True))
