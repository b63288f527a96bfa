"""Servers as sources of tools: how they are found, what they offer, and that nothing of them is left."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
from support.mcp_desk import RAW, Desk, source
from support.processes import alive, until

from abey.core.conversation import ToolOutcome
from abey.protocol.config import AgentConfig
from abey.runtime.agents import checks
from abey.runtime.extras import way_to
from abey.runtime.tools.helper import ProcessHelper
from abey.runtime.tools.mcp import servers
from abey.runtime.tools.mcp.listing import LONGEST_NAME, model_name
from abey.runtime.tools.sources import SourceFailed


async def why_not(desk: Desk, **entry: object) -> str:
    with pytest.raises(SourceFailed) as failed:
        await desk.open(source(**entry))
    return str(failed.value)


async def test_a_server_that_cannot_be_used_says_why(desk: Desk) -> None:
    cannot = "the MCP server it cannot be used: "
    assert await why_not(desk, command=["no/such"]) == f"{cannot}cannot start no/such: No such file or directory"
    assert await why_not(desk, command=["sh", "-c", "printf 'oh\\033[2J' >&2; exit 3"]) == (
        f"{cannot}exit code 3: oh\\x1b[2J"
    )
    assert await why_not(desk, url="http://127.0.0.1:9/mcp") == f"{cannot}All connection attempts failed"


async def test_a_server_that_never_answers_is_given_up_and_nothing_of_it_is_left(desk: Desk, mark: str) -> None:
    command = [*RAW, "mute", "stays", mark]
    assert await why_not(desk, command=command, timeout_seconds=0.3) == (
        "the MCP server it does not answer within 0.3 s"
    )
    assert alive(mark) == []


async def test_whoever_gives_up_while_a_server_starts_leaves_nothing(desk: Desk, mark: str) -> None:
    opening = asyncio.create_task(desk.open(source(command=[*RAW, "mute", "stays", mark])))
    await until(lambda: alive(mark) != [])
    opening.cancel()
    await asyncio.wait({opening})
    assert (opening.cancelled(), alive(mark)) == (True, [])


async def test_a_closed_server_leaves_nothing_of_its_tree(desk: Desk, mark: str) -> None:
    script = f'setsid sleep {mark} & (sleep {mark} &) & exec "$@"'
    server = await desk.open(source(command=["sh", "-c", script, "sh", *RAW, "stays"]))
    await until(lambda: len(alive(mark)) == 2)
    await server.close()
    assert alive(mark) == []


async def test_a_server_runs_in_a_process_group_where_there_is_no_helper(tmp_path: Path, mark: str) -> None:
    without = ProcessHelper(("-c", "pass"))
    desk = Desk(without, tmp_path)
    server = await desk.open(source(command=[*RAW, "stays", mark]))
    assert (await desk.run(server, "say"), without.leaves_nothing) == (ToolOutcome("said"), False)
    assert await why_not(desk, command=["no/such"]) == (
        "the MCP server it cannot be used: cannot start no/such: No such file or directory"
    )
    await server.close()
    assert alive(mark) == []
    await without.close()


async def test_a_closed_server_is_not_started_again(desk: Desk) -> None:
    server = await desk.open(source(command=RAW))
    [tool] = [tool for tool in server.tools if tool.name == "mcp_it_say"]
    await server.close()
    gone = ToolOutcome("tool/failed: its server is not connected; nothing was run", "tool/failed")
    assert await desk.servers.run(tool, desk.call({})) == gone
    assert await server.run(tool, desk.call({})) == ToolOutcome(
        "tool/failed: the MCP server it is not needed any more; nothing was run", "tool/failed"
    )


async def test_a_list_of_tools_without_an_end_is_cut(desk: Desk) -> None:
    server = await desk.open(source(command=[*RAW, "forever", "growing"]))
    assert len(server.tools) == 111
    await server.close()


async def test_a_server_that_changes_its_tools_all_the_time_is_asked_once_a_step(desk: Desk) -> None:
    server = await desk.open(source(command=[*RAW, "fickle", "growing"]))
    seen = []
    for _ in range(3):
        await until(lambda: not server.is_current())
        await server.renew()
        seen.append(len(server.tools))
    assert seen == [13, 14, 15]
    await server.close()


async def test_hostile_names_become_names_that_providers_take_and_no_two_are_alike(desk: Desk) -> None:
    server = await desk.open(source(command=[*RAW, "odd"]))
    names = [tool.name for tool in server.tools]
    assert [name for name in names if len(name) < 15] == ["mcp_it_a_b", "mcp_it__evil", "mcp_it_"]
    assert [name.rpartition("_")[0] for name in names[1:3]] == ["mcp_it_a_b", "mcp_it_a_b"]
    assert (len(names), len(set(names)), max(map(len, names))) == (7, 7, LONGEST_NAME)
    [(bad, why)] = server.faults.items()
    assert (bad, why.partition(": ")[0]) == ("mcp_it_bad", "the tool's schema is broken at /properties/a/type")
    await server.close()


async def test_a_list_of_any_length_is_read_only_so_far_and_what_is_too_long_is_no_tool(desk: Desk) -> None:
    server = await desk.open(source(command=[*RAW, "forever", "large"]))
    [(name, why)] = server.faults.items()
    assert [tool.name for tool in server.tools] == [f"mcp_it_say_{page}" for page in range(1, 9)]
    told = re.sub(r"\d{7}", "N", why)
    assert (name, told) == ("mcp_it_chatty", "its definition has N bytes; at most 262144 can be told to a model")
    await server.close()


def test_a_name_that_fits_is_kept_and_a_long_one_ends_in_a_mark_of_its_own() -> None:
    assert model_name("mcp_a_", "read_file-2") == "mcp_a_read_file-2"
    names = {model_name("mcp_a_", "x" * length) for length in range(50, 300)}
    assert (len(names), max(map(len, names))) == (250, LONGEST_NAME)


async def test_the_entry_has_the_last_word_about_what_a_server_says_of_its_tools(desk: Desk) -> None:
    async def marked(**entry: object) -> tuple[set[bool], set[str | None]]:
        server = await desk.open(source(command=RAW, **entry))
        await server.close()
        return {tool.destructive for tool in server.tools}, {tool.command for tool in server.tools}

    assert await marked() == ({True, False}, {None})
    assert await marked(destructive=True) == ({True}, {None})
    assert await marked(destructive=False, shell="x") == ({False}, {None})


async def test_the_hash_of_a_tool_covers_its_server_its_schema_and_its_description(desk: Desk) -> None:
    hashes = set()
    for command in (RAW, [*RAW, "garbage"]):
        server = await desk.open(source(command=command))
        hashes |= {tool.hash for tool in server.tools}
        await server.close()
    assert len(hashes) == 2 * len(server.tools)


async def test_without_the_extra_a_server_is_missing_with_the_way_out(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "is_installed", lambda: False)
    assert await why_not(desk, command=RAW) == f"tools of MCP servers need the extra `mcp`: {way_to('mcp')}"


def test_without_the_extra_a_check_of_the_file_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    model = {"provider": "scripted", "script": []}
    file = {"slug": "a", "model": model, "tools": [{"kind": "mcp", "name": "it", "url": "http://127.0.0.1/mcp"}]}

    def said() -> list[tuple[str, str]]:
        facts = checks.sense_facts(AgentConfig.model_validate(file), file)
        return [(fact.pointer, fact.message) for fact in facts]

    assert said() == []
    monkeypatch.setattr(checks, "is_installed", lambda: False)
    missing = f"tools of MCP servers need the extra `mcp`: {way_to('mcp')}; `it` is left out"
    assert said() == [("/tools/0", missing)]


def test_the_sdk_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, abey.daemon.tooling; sys.exit('mcp' in sys.modules)"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0
