"""What real shells do with a command, against what the policy says of it (agent-file.md, Shell-like tools)."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.test_shell_commands import denied, shell

from abey.runtime.tools.shell import read_command

SHELLS = tuple(found for name in ("bash", "dash", "zsh") if (found := shutil.which(name)) is not None)
FEW = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

PIECES = [
    *("rm x", "rm", "r", "m", "x", " ", " ", "\n", ";", "&&", "||", "|", "(", ")", "{ ", "; }", "$(", "`", "'", '"'),
    *("\\", "$'", "<", ">", "<<E\n", "\nE\n", "<<<", "#", "! ", "if ", "; then ", "; fi", "eval ", "X=", "$X", "${X}"),
    *(
        "~",
        "*",
        "?",
        "[",
        "\t",
        "\r",
        "\x0b",
        "\x0c",
        "\u00a0",
        "for x in ",
        "; do ",
        "; done",
        "case x in x) ",
        "esac",
    ),
    *("function g ", "g() ", "time ", "=", "\\\n", "\n\\", "echo ", "true", "))", "$((", "[[ ", " ]]", "<(", "2>"),
    *("trap ' ", " EXIT", "command ", "exec ", "set -- ", '"$@"', "{rm,x}", "sh -c ", "coproc ", ";;", "'rm x'"),
]


class Trap:
    """A folder of programs, each of which says with which arguments it was started."""

    def __init__(self, folder: Path) -> None:
        self.said = folder / "said"
        self.work = folder / "work"
        self.work.mkdir()
        self.programs = folder / "bin"
        self.programs.mkdir()
        for name in ("rm", "p"):
            program = self.programs / name
            program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$0" "$@" >> {self.said}\n')
            program.chmod(0o755)
        os.symlink(shutil.which("sh") or "/bin/sh", self.programs / "sh")

    def run(self, program: str, command: str) -> list[str] | None:
        """What was started, once everything that was begun has ended; None where the shell cannot be given it."""
        self.said.unlink(missing_ok=True)
        env = {"PATH": str(self.programs), "HOME": "/nowhere"}
        quiet = subprocess.DEVNULL
        try:
            subprocess.run(
                [program, "-c", command], env=env, cwd=self.work, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet,
                timeout=20, check=False,
            )  # fmt: skip
        except (ValueError, UnicodeEncodeError):
            return None
        return self.said.read_text().splitlines() if self.said.exists() else []


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Trap]:
    yield Trap(tmp_path)


@pytest.mark.skipif(not SHELLS, reason="there is no shell")
@FEW
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join))
def test_no_shell_runs_a_denied_command_that_the_policy_did_not_see(programs: Trap, command: str) -> None:
    for program in SHELLS:
        started = programs.run(program, command)
        if started and any(line.endswith("/rm") for line in started):
            assert denied("rm *", command) in ("deny", "defer"), (program, command)


WORDS = st.lists(
    st.sampled_from([*"abp-=+,:@%^.~!#*?[]{}$'\"\\ \t;&|<>()`/1\u00e9", "' '", '"a b"', "\\ ", "''", "a=b"])
)


@pytest.mark.skipif(not SHELLS, reason="there is no shell")
@FEW
@given(WORDS.map(lambda pieces: "p " + "".join(pieces)))
def test_every_shell_takes_a_plain_command_for_the_same_words(programs: Trap, command: str) -> None:
    script = read_command(shell(), {"command": command})
    if script.plain:
        words = [word.text for word in script.commands[0].words]
        for program in SHELLS:
            assert programs.run(program, command) == [str(programs.programs / "p"), *words[1:]], program
