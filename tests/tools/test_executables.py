"""Programs that describe themselves as tools: what is understood, how they are called, what comes of it."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.processes import alive, call_of, until

from abey.core.agent import Tool, ToolSource
from abey.core.conversation import ToolOutcome
from abey.runtime.agents.registry import Registry
from abey.runtime.clock import ManualClock
from abey.runtime.tools.executables.describing import (
    BadDescription,
    Description,
    Parameter,
    command_line,
    description_of,
    schema_of,
)
from abey.runtime.tools.executables.folder import ExecutablesOpener, OpenedFolder
from abey.runtime.tools.executables.runner import ExecutableRunner
from abey.runtime.tools.helper import ProcessHelper
from abey.runtime.tools.programs import Programs
from abey.runtime.tools.sources import Place, SourceFailed


def described(slug: str = "echo", **members: Any) -> dict[str, Any]:
    return {"slug": slug, "description": "Says it again", "args": [], **members}


def argument(name: str, mode: str = "positional", **members: Any) -> dict[str, Any]:
    plain = {"name": name, "description": "d", "type": "string", "backing_type": "string", "arity": "single"}
    return {**plain, "mode": mode, **members}


def install(folder: Path, name: str, description: Any, run: str = 'printf "%s|" "$@"', mode: int = 0o755) -> Path:
    """A program that tells `description` as JSON, or as it stands where it is a text, and then runs a script."""
    told = description if isinstance(description, str) else json.dumps(description)
    program = folder / name
    program.write_text(f"#!/bin/sh\nif [ \"$1\" = describe ]; then cat <<'END'\n{told}\nEND\nexit; fi\nshift\n{run}\n")
    program.chmod(mode)
    return program


def source(directory: Path, **members: Any) -> ToolSource:
    written = {"kind": "executables", "directory": str(directory), **members}
    config = {"slug": "a", "model": {"provider": "scripted", "script": []}, "tools": [written]}
    return Registry(Path("/nonexistent")).inline(config, None).sources[0]


class Bench:
    """An opener and a runner over one helper, and a folder of programs."""

    def __init__(self, helper: ProcessHelper, folder: Path) -> None:
        self.folder = folder / "tools"
        self.folder.mkdir()
        self.cwd = folder
        self.clock = ManualClock()
        programs = Programs(self.clock)
        env = {"NAMED": "from the daemon", "UNNAMED": "secret"}
        self._opener = ExecutablesOpener(helper, programs, env)
        self._runner = ExecutableRunner(helper, programs, env)

    async def open(self, folder: Path | None = None, **members: Any) -> OpenedFolder:
        place = Place("s1", str(self.cwd), {"PATH": os.environ["PATH"], "HOME": str(self.cwd)})
        return await self._opener.open(source(folder or self.folder, **members), place)

    async def tool(self, **members: Any) -> Tool:
        (tool,) = (await self.open(**members)).tools
        return tool

    async def run(self, tool: Tool, **arguments: Any) -> ToolOutcome:
        return await self._runner.run(tool, replace(call_of(arguments, self.cwd), turn_id="t1"))


@pytest.fixture
async def bench(helper: ProcessHelper, tmp_path: Path) -> AsyncIterator[Bench]:
    yield Bench(helper, tmp_path)


def test_a_description_is_understood_whole() -> None:
    said = described(
        "read_file",
        args=[
            argument("path"),
            argument("lines", "dashdashspace", type="whatever", backing_type="int", arity="optional"),
            argument("all", "dashdashequal", type="boolean", backing_type="flag", tier="expert"),
            {"name": "bare"},
        ],
        **{"empty-result": {"tag": "AddMessage", "contents": "nothing"}, "output-media-type": "image/png", "x": 1},
    )
    description = description_of(json.dumps(said).encode())
    assert (description, schema_of(description)) == (
        Description(
            "read_file",
            "Says it again",
            (
                Parameter("path", "d", "string", False, "positional"),
                Parameter("lines", "d", "integer", True, "dashdashspace"),
                Parameter("all", "d", "boolean", False, "dashdashequal"),
                Parameter("bare", "", "string", False, "positional"),
            ),
            "nothing",
            "image/png",
        ),
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "d"},
                "lines": {"type": "integer", "description": "d"},
                "all": {"type": "boolean", "description": "d"},
                "bare": {"type": "string", "description": ""},
            },
            "required": ["path", "all", "bare"],
            "additionalProperties": False,
        },
    )


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "its description is no JSON"),
        ("[" * 100_000, "its description is no JSON"),
        ("\ufffd", "its description is no JSON"),
        ("[]", "its description is no JSON object"),
        ({"description": "d", "args": []}, "the description has no slug"),
        ({"slug": "s", "args": []}, "the description has no description"),
        (described("two words"), "its slug `two words` is not 1 to 59 of A-Z a-z 0-9 _ -"),
        (described("x" * 60), f"its slug `{'x' * 60}` is not 1 to 59 of A-Z a-z 0-9 _ -"),
        (described("\u202ex"), "its slug `<U+202E>x` is not 1 to 59 of A-Z a-z 0-9 _ -"),
        (described(args={}), "its args are no list"),
        (described(args=["a"]), "one of its args is no object"),
        (described(args=[{}]), "one of its args has no name"),
        (described(args=[argument("a=b")]), "an argument cannot be called `a=b`"),
        (described(args=[argument("")]), "an argument cannot be called ``"),
        (described(args=[argument("a"), argument("a")]), "two of its arguments are called `a`"),
        (
            described(args=[argument("a", "env")]),
            "the mode `env` of `a` is none of positional, dashdashspace, dashdashequal, stdin",
        ),
        (described(args=[argument("a", arity="many")]), "the arity `many` of `a` is neither single nor optional"),
        (described(**{"empty-result": "x"}), "its empty-result is neither DoNothing nor AddMessage"),
        (described(**{"output-media-type": 1}), "its output-media-type is no string"),
    ],
)
def test_what_is_no_description_is_named(said: Any, why: str) -> None:
    with pytest.raises(BadDescription) as refused:
        description_of(said.encode() if isinstance(said, str) else json.dumps(said).encode())
    assert str(refused.value).replace("\\u202e", "<U+202E>") == why


@pytest.mark.parametrize(
    ("arguments", "argv", "stdin"),
    [
        ({"p": "a b", "s": 1, "e": "x=y"}, ["a b", "--s", "1", "--e=x=y"], b""),
        ({"p": "-x", "i": "one", "j": "two\n"}, ["-x"], b"one\ntwo\n\n"),
        ({"s": None, "e": True}, ["--e=true"], b""),
        ({}, [], b""),
    ],
)
def test_each_mode_hands_its_value_over_in_its_way(arguments: Mapping[str, Any], argv: list[str], stdin: bytes) -> None:
    modes = {"p": "positional", "s": "dashdashspace", "e": "dashdashequal", "i": "stdin", "j": "stdin"}
    parameters = [{"name": name, "mode": mode} for name, mode in modes.items()]
    assert command_line(parameters, arguments) == (argv, stdin)


async def test_a_program_runs_with_its_arguments_and_stdout_is_the_result(bench: Bench) -> None:
    said = described(args=[argument("a"), argument("text", "stdin", arity="optional")])
    install(bench.folder, "echo.sh", said, 'printf "%s|" "$@"; cat; pwd; echo aside >&2')
    tool = await bench.tool()
    assert (tool.name, tool.description, tool.destructive, tool.kind) == (
        "bash_echo",
        "Says it again",
        False,
        "executables",
    )
    assert await bench.run(tool, a="$(x) é", text="in") == ToolOutcome(f"$(x) é|in\n{bench.cwd}\n")


async def test_a_program_gets_the_listed_variables_those_that_are_named_and_its_session(bench: Bench) -> None:
    install(bench.folder, "env", described(), "env | grep -v PWD | grep -v ^_= | sort")
    outcome = await bench.run(await bench.tool(env=["NAMED"]))
    assert outcome.content.splitlines() == [
        "AGENT_CONVERSATION_ID=s1",
        "AGENT_SESSION_ID=s1",
        "AGENT_TURN_ID=t1",
        "NAMED=from the daemon",
        f"PATH={os.environ['PATH']}",
    ]


@pytest.mark.parametrize(
    ("members", "script", "outcome"),
    [
        ({}, "echo out; echo err >&2; exit 3", ToolOutcome("out\nerr\n[exit code 3]", "tool/failed")),
        ({}, "kill -9 $$", ToolOutcome("[killed by SIGKILL]", "tool/failed")),
        ({}, "printf '\\377'", ToolOutcome("\ufffd\n[1 byte is no UTF-8]")),
        ({}, "true", ToolOutcome("")),
        ({"empty-result": {"tag": "AddMessage", "contents": "none found"}}, "true", ToolOutcome("none found")),
        ({"empty-result": {"tag": "AddMessage", "contents": "none found"}}, "echo x", ToolOutcome("x\n")),
        (
            {"empty-result": {"tag": "AddMessage", "contents": "none found"}},
            "exit 1",
            ToolOutcome("[exit code 1]", "tool/failed"),
        ),
        ({"output-media-type": "text/markdown"}, "echo '# x'", ToolOutcome("# x\n")),
        ({"output-media-type": "application/json"}, "echo '{}'", ToolOutcome("{}\n")),
        (
            {"output-media-type": "image/png"},
            "printf 'aGk\\n='",
            ToolOutcome({"type": "media", "mimeType": "image/png", "base64Data": "aGk="}),
        ),
        (
            {"output-media-type": "image/png"},
            "echo '{'",
            ToolOutcome("its output is not the base64 of image/png", "tool/failed"),
        ),
        (
            {"output-media-type": "image/png"},
            "echo no >&2; exit 2",
            ToolOutcome("no\n[exit code 2]", "tool/failed"),
        ),
        (
            {"output-media-type": "image/png"},
            "head -c 7000000 /dev/zero",
            ToolOutcome("its image/png is longer than 6291456 bytes", "tool/failed"),
        ),
    ],
)
async def test_what_comes_of_a_program(
    bench: Bench, members: dict[str, Any], script: str, outcome: ToolOutcome
) -> None:
    install(bench.folder, "one", described(**members), script)
    assert await bench.run(await bench.tool()) == outcome


async def test_a_large_value_on_stdin_arrives_whole_also_where_nobody_reads_it(bench: Bench) -> None:
    said = described(args=[argument("text", "stdin")])
    install(bench.folder, "count", said, "wc -c")
    assert await bench.run(await bench.tool(), text="é" * 400_000) == ToolOutcome("800001\n")
    install(bench.folder, "count", said, "echo unread")
    assert await bench.run(await bench.tool(), text="é" * 400_000) == ToolOutcome("unread\n")


async def test_after_its_time_a_program_and_its_children_are_gone(bench: Bench, mark: str) -> None:
    install(bench.folder, "slow", described(), f"(setsid sleep {mark} &) ; touch begun; sleep {mark}")
    tool = await bench.tool(timeoutSeconds=7)
    running = asyncio.ensure_future(bench.run(tool))
    await until((bench.cwd / "begun").exists)
    bench.clock.advance(7)
    assert (await running, alive(mark)) == (ToolOutcome("[timed out after 7 seconds]", "tool/timeout"), [])


async def test_a_broken_program_hides_no_other_and_is_told(bench: Bench) -> None:
    folder = bench.folder
    install(folder, "a_good", described("good"))
    install(folder, "b_again", described("good"))
    install(folder, "c_json", "{")
    install(folder, "d_mode", described("d", args=[argument("x", "telepathy")]))
    install(folder, "e_slug", described("no slug"))
    (folder / "f_fails").write_text("#!/bin/sh\necho usage: f >&2\nexit 2\n")
    (folder / "g_format").write_bytes(b"\0\0")
    install(folder, "i_noisy", described("noisy"), "true")
    for program in folder.iterdir():
        program.chmod(0o755)
    install(folder, "not_executable", described("x"), mode=0o644)
    install(folder, ".hidden", described("y"))
    (folder / "directory").mkdir()
    (folder / "z_link").symlink_to(install(bench.cwd, "elsewhere", described("linked")))
    (folder / "dangling").symlink_to(bench.cwd / "nowhere")
    opened = await bench.open()
    told = {name: why.replace(f"{folder}/", "") for name, why in opened.faults.items()}
    failed = "is no tool: asked to describe itself it failed: "
    assert ([tool.name for tool in opened.tools], told) == (
        ["bash_good", "bash_noisy", "bash_linked"],
        {
            "bash_b_again": "b_again is no tool: a_good has the same slug",
            "bash_c_json": "c_json is no tool: its description is no JSON",
            "bash_d_mode": "d_mode is no tool: the mode `telepathy` of `x` is none of positional, dashdashspace, "
            "dashdashequal, stdin",
            "bash_e_slug": "e_slug is no tool: its slug `no slug` is not 1 to 59 of A-Z a-z 0-9 _ -",
            "bash_f_fails": f"f_fails {failed}[exit code 2]: usage: f",
            "bash_g_format": f"g_format {failed}cannot start g_format: Exec format error",
        },
    )


async def test_a_program_has_ten_seconds_to_describe_itself(bench: Bench, mark: str) -> None:
    (bench.folder / "endless").write_text("#!/bin/sh\ntouch endless\nexec yes\n")
    (bench.folder / "hangs").write_text(f"#!/bin/sh\ntouch hangs\n(setsid sleep {mark} &)\nsleep {mark}\n")
    for program in bench.folder.iterdir():
        program.chmod(0o755)
    opening = asyncio.ensure_future(bench.open())
    await until(lambda: all((bench.cwd / name).exists() for name in ("endless", "hangs")))
    bench.clock.advance(10)
    opened = await opening
    failed = "is no tool: asked to describe itself it failed: [timed out after 10 seconds]"
    assert (opened.tools, opened.faults, alive(mark)) == (
        (),
        {f"bash_{name}": f"{bench.folder}/{name} {failed}" for name in ("endless", "hangs")},
        [],
    )


async def test_a_warning_on_stderr_spoils_no_description(bench: Bench) -> None:
    program = install(bench.folder, "loud", described())
    program.write_text(program.read_text().replace("#!/bin/sh\n", "#!/bin/sh\necho careful >&2\n"))
    assert (await bench.tool()).name == "bash_echo"


async def test_a_folder_that_is_not_there_cannot_be_asked(bench: Bench) -> None:
    with pytest.raises(SourceFailed) as failed:
        await bench.open(bench.cwd / "nowhere")
    assert str(failed.value) == f"{bench.cwd}/nowhere: No such file or directory"


async def test_a_folder_with_too_many_programs_is_not_asked(bench: Bench) -> None:
    for number in range(257):
        (bench.folder / str(number)).touch(0o755)
    with pytest.raises(SourceFailed) as failed:
        await bench.open()
    assert str(failed.value) == f"{bench.folder}: there are more than 256 programs"


async def test_a_folder_of_anything_is_not_looked_through(bench: Bench) -> None:
    for number in range(1025):
        (bench.folder / str(number)).touch(0o644)
    with pytest.raises(SourceFailed) as failed:
        await bench.open()
    assert str(failed.value) == f"{bench.folder}: there are more than 1024 files"


async def test_one_program_may_stand_in_the_place_of_a_folder(bench: Bench) -> None:
    program = install(bench.folder, "one", described())
    install(bench.folder, "other", described("other"))
    opened = await bench.open(program)
    assert [tool.name for tool in opened.tools] == ["bash_echo"]


async def test_a_home_stands_for_its_tilde(bench: Bench) -> None:
    install(bench.folder, "one", described())
    opened = await bench.open(Path("~/tools"))
    assert [tool.name for tool in opened.tools] == ["bash_echo"]


async def test_a_program_that_came_went_or_changed_has_the_folder_asked_anew(bench: Bench) -> None:
    first, link = install(bench.folder, "first", described("first")), bench.folder / "link"
    seen = []
    opened = await bench.open()
    for change in (
        lambda: install(bench.folder, "second", described("second")),
        lambda: install(bench.folder, "second", described("renamed")),
        first.unlink,
        lambda: link.symlink_to(install(bench.cwd, "away", described("linked"))),
        lambda: install(bench.cwd, "away", described("relinked")),
        lambda: link.chmod(0o644),
    ):
        before = opened.is_current()
        change()
        seen.append((before, opened.is_current()))
        opened = await bench.open()
        seen.append([tool.name for tool in opened.tools])
    assert seen == [
        (True, False),
        ["bash_first", "bash_second"],
        (True, False),
        ["bash_first", "bash_renamed"],
        (True, False),
        ["bash_renamed"],
        (True, False),
        ["bash_linked", "bash_renamed"],
        (True, False),
        ["bash_relinked", "bash_renamed"],
        (True, False),
        ["bash_renamed"],
    ]


@pytest.mark.parametrize("change", ["content", "link", "gone", "pipe"])
async def test_a_program_that_is_no_longer_the_one_that_described_itself_is_not_run(bench: Bench, change: str) -> None:
    """Whoever approved the call was shown the other one."""
    away = install(bench.cwd, "away", described(), "touch ran; echo first")
    other = install(bench.cwd, "other", described(), "touch ran; echo other")
    link = bench.folder / "link"
    link.symlink_to(away)
    tool = await bench.tool()
    if change == "content":
        install(bench.cwd, "away", described(), "touch ran; echo evil!")
    else:
        link.unlink()
    if change == "link":
        link.symlink_to(other)
    if change == "pipe":
        os.mkfifo(link)  # nobody writes to it
    outcome = await bench.run(tool)
    told = {
        "gone": f"cannot start {link}: No such file or directory",
        "pipe": f"cannot start {link}: it is no file",
    }.get(change, f"{link} is another program than the one that described itself; it was not run")
    assert (outcome, (bench.cwd / "ran").exists()) == (ToolOutcome(told, "tool/failed"), False)


async def test_the_hash_of_a_tool_covers_its_program_and_what_it_says_of_itself(bench: Bench) -> None:
    hashes = []
    for description, script in (
        (described(), "echo one"),
        (described(), "echo two"),
        (described(args=[argument("x")]), "echo two"),
        (described(args=[argument("x")], description="Harmless"), "echo two"),
    ):
        install(bench.folder, "one", description, script)
        hashes.append((await bench.tool()).hash)
    hashes.append((await bench.tool(env=["NAMED"])).hash)
    assert (len(set(hashes)), (await bench.tool(env=["NAMED"])).hash) == (5, hashes[-1])


async def test_what_the_source_says_holds_for_each_of_its_tools(bench: Bench) -> None:
    install(bench.folder, "one", described("one", args=[argument("command")]))
    install(bench.folder, "two", described("two"))
    opened = await bench.open(shell="command", idempotent=True, timeoutSeconds=3)
    assert [(tool.command, tool.destructive, tool.idempotent, tool.timeout_seconds) for tool in opened.tools] == [
        ("command", True, True, 3.0),
        (None, False, True, 3.0),
    ]
    assert [tool.destructive for tool in (await bench.open(destructive=True)).tools] == [True, True]


async def test_a_cancelled_listing_leaves_nothing(helper: ProcessHelper, tmp_path: Path, mark: str) -> None:
    bench = Bench(helper, tmp_path)
    (bench.folder / "hangs").write_text(f"#!/bin/sh\ntouch hanging\nexec sleep {mark}\n")
    (bench.folder / "hangs").chmod(0o755)
    opening = asyncio.ensure_future(bench.open())
    await until((tmp_path / "hanging").exists)
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)
    assert (opening.cancelled(), alive(mark)) == (True, [])
