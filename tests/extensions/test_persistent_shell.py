"""The shell of the worked example, by itself: what each command leaves, and what is left of it in the end."""

import asyncio
import importlib.util
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.extensions import EXAMPLE
from support.processes import alive, until
from support.stories import dispatched

from abey.extensions import SessionInfo, ToolError
from abey.runtime.extending.programs import Starting
from abey.runtime.tools.helper import ProcessHelper


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("persistent_shell", EXAMPLE / "persistent_shell.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = _module()


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Any]:
    helper = ProcessHelper()
    session = dispatched("ok").session
    there = session.created.model_copy(update={"cwd": str(tmp_path), "env": {"PATH": os.environ["PATH"]}})
    start = Starting(helper).of(replace(session, created=there))
    shell = MODULE.Shell(SessionInfo("s1", "a", str(tmp_path), start=start))
    yield shell
    await shell.end()
    await helper.close()


async def test_commands_leave_what_they_do_to_the_shell(shell: Any, tmp_path: Path) -> None:
    said = [await shell.run(command) for command in ("pwd", "cd / && X=1", "pwd; echo $X", "false", "printf 'a b'")]
    assert said == [
        {"status": 0, "output": f"{tmp_path}\n"},
        {"status": 0, "output": ""},
        {"status": 0, "output": "/\n1\n"},
        {"status": 1, "output": ""},
        {"status": 0, "output": "a b"},
    ]


async def test_what_is_no_command_ends_nothing(shell: Any) -> None:
    await shell.run("X=1")
    for command in ("echo 'a", "if", "cat", "", "# nothing", "echo é\n"):
        await shell.run(command)
    assert await shell.run("echo $X é") == {"status": 0, "output": "1 é\n"}


async def test_what_bash_would_read_as_another_command_is_not_run(shell: Any) -> None:
    await shell.run("X=1")
    with pytest.raises(ToolError, match="the NUL"):
        await shell.run("X=\0002")
    assert await shell.run("echo $X") == {"status": 0, "output": "1\n"}


@pytest.mark.parametrize(("command", "why"), [("exit 3", "has ended the shell"), ("yes", "prints too much")])
async def test_a_command_that_ends_the_shell_has_failed_and_the_next_one_has_another(
    shell: Any, command: str, why: str
) -> None:
    await shell.run("X=1")
    with pytest.raises(ToolError, match=f"the command {why}; the next one begins a new one"):
        await shell.run(command)
    assert await shell.run("echo $X") == {"status": 0, "output": "\n"}


async def test_a_command_that_is_cancelled_is_gone_with_all_that_it_began(shell: Any) -> None:
    work = asyncio.create_task(shell.run("sleep 98231 & sleep 98231"))
    await until(lambda: len(alive("98231")) == 2)
    work.cancel()
    await asyncio.wait({work})
    assert work.cancelled()
    await until(lambda: not alive("98231"))


async def test_commands_wait_for_one_another(shell: Any) -> None:
    said = await asyncio.gather(*(shell.run(f"echo {number}") for number in range(20)))
    assert said == [{"status": 0, "output": f"{number}\n"} for number in range(20)]
