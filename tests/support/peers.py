"""Third-party programs that stand in for providers: where they are, how one is started, and how it is asked."""

import json
import os
import re
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.e2e import until

WIRES = ("openai", "openai-responses", "anthropic")

_LISTENS = re.compile(r"http://127\.0\.0\.1:([1-9]\d*)")
_STRAIGHT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_SECONDS = 30


def named(variable: str, what: str) -> str:
    """The file that `variable` names. Skips the test where it is not set, fails where there is no such file."""
    file = os.environ.get(variable)
    if not file:
        pytest.skip(f"{variable} does not name {what} (see README.md)")
    assert Path(file).is_file(), f"{variable} names {file}, which is no file"
    return file


@dataclass(frozen=True, slots=True)
class Server:
    """A third-party server on this machine."""

    port: int
    printed: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str) -> Any:
        return self._ask("GET", path)

    def post(self, path: str, value: Any) -> Any:
        return self._ask("POST", path, json.dumps(value).encode())

    def delete(self, path: str) -> Any:
        return self._ask("DELETE", path)

    def _ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        headers = {"content-type": "application/json"}
        asked = urllib.request.Request(f"{self.url}{path}", body, headers, method=method)
        with _STRAIGHT.open(asked, timeout=_SECONDS) as answer:
            return json.loads(answer.read() or b"null")


@contextmanager
def serving(argv: list[str], folder: Path) -> Iterator[Server]:
    """The program runs, and has said at which port of this machine it listens; it ends with the test."""
    printed = folder / "printed"
    with (
        printed.open("wb") as file,
        subprocess.Popen(argv, cwd=folder, stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT) as program,
    ):
        try:
            yield Server(_port(program, printed), printed)
        finally:
            program.terminate()
            with suppress(subprocess.TimeoutExpired):
                program.wait(_SECONDS)
            program.kill()


def _port(program: subprocess.Popen[bytes], printed: Path) -> int:
    def found() -> str:
        text = printed.read_text(errors="replace")
        assert program.poll() is None, f"{program.args} ended: {text[-2000:]}"
        return "".join(_LISTENS.findall(text)[-1:])

    return int(until(found, f"for {program.args} to listen"))


def model_at(wire: str, base_url: str, tokens: int | None = None, **parameters: Any) -> Mapping[str, Any]:
    """The `model` of an agent file; `tokens` is the most that an answer has."""
    most = "max_output_tokens" if wire == "openai-responses" else "max_tokens"
    limits = {} if tokens is None else {most: tokens}
    return {"provider": wire, "name": "stand-in", "baseUrl": base_url, "parameters": {**limits, **parameters}}
