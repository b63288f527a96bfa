"""Calls of tools of MCP servers: what comes of them, and what does not (agent-file.md, Tools)."""

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.mcp_desk import RAW, SAMPLE, Desk, listening, source
from support.processes import until

from abey.core.conversation import ToolOutcome
from abey.protocol.base import Json
from abey.protocol.transcript import Question
from abey.runtime.ports import Progress
from abey.runtime.tools.mcp.limit import TimeLimit
from abey.runtime.tools.mcp.servers import McpServer


def failed(text: str) -> ToolOutcome:
    return ToolOutcome(f"tool/failed: {text}", "tool/failed")


def result(value: Json) -> ToolOutcome:
    return ToolOutcome({"type": "json", "content": {"result": value}})


async def everything(desk: Desk, server: McpServer) -> None:
    """What a server of the SDK does over any transport."""
    answers: list[Json] = [{"name": "Ada", "sure": True}, None]

    async def ask(_: Question) -> Json:
        return answers.pop(0)

    desk.ask = ask
    named = {tool.name: tool.destructive for tool in server.tools}
    names = ("echo", "keep", "write", "picture", "fail", "count", "ask", "grow")
    assert named == {f"mcp_it_{name}": name in ("keep", "write") for name in names}
    assert await desk.run(server, "echo", message="hi") == result("Echo: hi")
    picture = await desk.run(server, "picture")
    assert (picture.content["type"], picture.content["mimeType"]) == ("media", "image/png")
    assert await desk.run(server, "fail") == ToolOutcome("Error executing tool fail", "tool/failed")
    assert await desk.run(server, "count", steps=2) == result("counted")
    assert desk.told == [Progress(message=f"step {step}", done=step, total=2) for step in (1, 2)]
    for notes in (["a"], ["a", "b"]):
        assert await desk.run(server, "keep", note=notes[-1]) == result(notes)
    assert await desk.run(server, "ask", prompt="who?") == result("accept Ada")
    assert await desk.run(server, "ask", prompt="who?") == result("decline -")
    assert server.is_current()
    assert await desk.run(server, "grow") == result("grown")
    await until(lambda: not server.is_current())
    await server.renew()
    assert (server.is_current(), server.tools[-1].name) == (True, "mcp_it_fresh")


async def test_a_server_over_stdio_does_all_that_a_server_can(desk: Desk) -> None:
    server = await desk.open(source(command=SAMPLE))
    await everything(desk, server)
    await server.close()


async def test_a_server_over_http_does_all_that_a_server_can_and_is_found_again_when_it_was_gone(desk: Desk) -> None:
    async with listening() as (url, program):
        server = await desk.open(source(url=url))
        await everything(desk, server)
        program.kill()
        await program.wait()
        gone = await desk.run(server, "echo", message="hi")
        assert (gone.error, "the call may have run" in gone.content) == ("tool/failed", True)
        unreachable = await desk.run(server, "echo", message="hi")
        assert (unreachable.error, "nothing was run" in unreachable.content) == ("tool/failed", True)
        async with listening(url):
            assert await desk.run(server, "echo", message="again") == result("Echo: again")
            await server.close()


async def test_parts_of_every_kind_come_to_the_model(desk: Desk) -> None:
    server = await desk.open(source(command=RAW))
    linked = await desk.run(server, "link")
    assert linked == ToolOutcome(
        {
            "type": "mixed",
            "parts": [
                {"type": "text", "content": "[a: file:///a] text/plain"},
                {"type": "text", "content": "[file:///b]\ninside"},
                {"type": "media", "mimeType": "audio/wav", "base64Data": "AAAA"},
                {"type": "json", "content": {"a": [1]}},
            ],
        }
    )
    await server.close()


async def test_a_text_that_is_too_long_is_cut_in_the_middle_and_kept_whole(desk: Desk) -> None:
    server = await desk.open(source(command=RAW))
    outcome = await desk.run(server, "big", size=3_000_000)
    assert (outcome.content[:3], outcome.content[-3:], "bytes left out" in outcome.content) == ("xxx", "end", True)
    assert (len(outcome.content) < 300_000, outcome.whole and outcome.whole.bytes) == (True, 3_000_003)
    await server.close()


async def test_noise_on_stderr_and_garbage_on_stdout_hold_up_nothing(desk: Desk) -> None:
    server = await desk.open(source(command=[*RAW, "garbage"]))
    assert await desk.run(server, "noise") == ToolOutcome("quiet")
    await server.close()


async def test_an_answer_that_makes_no_sense_fails_its_call_at_once_and_no_other(desk: Desk) -> None:
    server = await desk.open(source(command=[*RAW, "senseless"]))
    for name in ("list", "deep"):
        assert await desk.run(server, name) == failed("its answer makes no sense: it is no message")
    assert await desk.run(server, "say") == ToolOutcome("said")
    await server.close()


async def test_half_a_character_spoils_no_answer(desk: Desk) -> None:
    server = await desk.open(source(command=RAW))
    parts = [{"type": "text", "content": "half \ufffd a character"}, {"type": "json", "content": {"a": 1}}]
    assert await desk.run(server, "half") == ToolOutcome({"type": "mixed", "parts": parts})
    await server.close()


async def test_no_pattern_of_a_server_keeps_the_daemon_busy(desk: Desk) -> None:
    server = await desk.open(source(command=[*RAW, "slow"]))
    answer = {"type": "json", "content": {"a": "a" * 40 + "!"}}
    assert await desk.run(server, "slow") == ToolOutcome(answer)
    await server.close()


async def test_a_tool_that_its_server_changed_after_the_call_was_judged_is_not_run(desk: Desk) -> None:
    server = await desk.open(source(command=[*RAW, "turncoat"]))
    [judged] = server.tools
    await until(lambda: not server.is_current())
    told = failed("its tool is another one now than the one that was judged; nothing was run")
    assert await desk.servers.run(judged, desk.call({})) == told
    assert await desk.run(server, "say") == ToolOutcome("said")
    await server.close()


async def test_half_a_character_in_the_arguments_is_refused_before_anything_is_sent(desk: Desk) -> None:
    server = await desk.open(source(command=RAW))
    assert await desk.run(server, "say", text="\ud800") == failed(
        "the arguments hold half a character, which no server can be sent; nothing was run"
    )
    assert await desk.run(server, "calls") == ToolOutcome("1")
    await server.close()


async def test_a_server_that_dies_fails_the_call_it_had_and_is_started_again_for_the_next(desk: Desk) -> None:
    server = await desk.open(source(command=RAW))
    assert await desk.run(server, "die") == failed(
        "the MCP server it is gone (killed by signal 9); the call may have run"
    )
    assert not server.is_current()
    assert await desk.run(server, "calls") == ToolOutcome("1")
    await server.close()


async def test_a_call_is_never_sent_again_by_itself(desk: Desk) -> None:
    server = await desk.open(source(command=[*RAW, "quits"]))
    for _ in range(2):
        assert await desk.run(server, "act") == failed(
            "the MCP server it is gone (exit code 1: it had enough); the call may have run"
        )
    await server.close()


async def test_a_tool_that_came_back_as_another_one_is_not_run(desk: Desk) -> None:
    server = await desk.open(source(command=[*RAW, "growing"]))
    tool = next(tool for tool in server.tools if tool.name == "mcp_it_act")
    assert await desk.servers.run(replace(tool, hash="0" * 64), desk.call({})) == failed(
        "its tool is another one now than the one that was judged; nothing was run"
    )
    await server.close()


async def test_a_call_that_takes_too_long_is_cancelled_at_the_server_and_the_connection_lives(desk: Desk) -> None:
    server = await desk.open(source(command=RAW))
    mark = desk.cwd / "mark"
    outcome = await desk.run_within(0.4, server, "hang", mark=str(mark))
    assert outcome == ToolOutcome(
        "[timed out after 0.4 s; the server was told to stop, and the call may have run]", "tool/timeout"
    )
    await until(lambda: mark.exists() and mark.read_text() == "stopped")
    assert await desk.run(server, "say") == ToolOutcome("said")
    await server.close()


async def test_a_cancelled_call_is_cancelled_at_the_server_and_the_connection_lives(desk: Desk) -> None:
    server = await desk.open(source(command=RAW))
    mark = desk.cwd / "mark"
    running = asyncio.create_task(desk.run(server, "hang", mark=str(mark)))
    await until(mark.exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: mark.read_text() == "stopped")
    assert await desk.run(server, "say") == ToolOutcome("said")
    await server.close()


FORM = {"type": "object", "properties": {}}


async def test_a_question_of_a_server_is_asked_of_a_person_and_the_answer_goes_back(desk: Desk) -> None:
    asked: list[Question] = []
    answers: list[Json] = [{"name": "Ada"}, None]

    async def ask(question: Question) -> Json:
        asked.append(question)
        return answers[len(asked) - 1]

    desk.ask = ask
    server = await desk.open(source(command=RAW))
    said = [json.loads((await desk.run(server, "ask")).content) for _ in answers]
    assert said == [{"action": "accept", "content": {"name": "Ada"}}, {"action": "decline"}]
    assert [one.wire() for one in asked] == [{"kind": "response", "prompt": "who?\u202e", "schema": FORM}] * 2
    await server.close()


async def test_the_time_of_a_call_stands_still_while_a_person_is_asked(desk: Desk) -> None:
    asked = asyncio.Event()
    answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()

    async def ask(_: Question) -> Json:
        asked.set()
        return await answer

    desk.ask = ask
    server = await desk.open(source(command=RAW))
    running = asyncio.create_task(desk.run_within(2, server, "ask"))
    await asked.wait()
    asyncio.get_running_loop().call_later(2.2, answer.set_result, {})
    assert json.loads((await running).content) == {"action": "accept", "content": {}}
    await server.close()


async def test_time_that_was_used_before_a_pause_is_not_given_back() -> None:
    with pytest.raises(TimeoutError):
        async with TimeLimit(0.05) as limit:
            with limit.paused(), limit.paused():
                await asyncio.sleep(0.1)
            await asyncio.Event().wait()


async def test_a_question_ends_with_the_call_that_asks_it(desk: Desk) -> None:
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def ask(_: Question) -> Json:
        asked.set()
        try:
            return await asyncio.Event().wait()
        finally:
            withdrawn.set()

    desk.ask = ask
    server = await desk.open(source(command=RAW))
    running = asyncio.create_task(desk.run(server, "ask"))
    await asked.wait()
    running.cancel()
    await asyncio.wait({running})
    await withdrawn.wait()
    assert await desk.run(server, "say") == ToolOutcome("said")
    await server.close()


async def test_a_form_that_nobody_could_fill_in_is_declined_and_said(desk: Desk) -> None:
    server = await desk.open(source(command=[*RAW, "riddles"]))
    assert json.loads((await desk.run(server, "ask")).content) == {"action": "decline"}
    assert desk.told == [Progress(message="the server wanted more than a form; it was told that nobody does that")]
    await server.close()


async def test_a_page_that_a_server_wants_opened_is_declined_and_said(desk: Desk) -> None:
    server = await desk.open(source(command=RAW))
    assert json.loads((await desk.run(server, "fields")).content) == {"action": "decline"}
    assert desk.told == [
        Progress(
            message="the server wanted more than a form (https://example.org/\\u202ex); it was told that "
            "nobody does that"
        )
    ]
    await server.close()


async def test_calls_of_one_server_run_beside_each_other(desk: Desk) -> None:
    server = await desk.open(source(command=RAW))
    marks = [desk.cwd / f"mark{number}" for number in range(3)]
    running = [asyncio.create_task(desk.run(server, "hang", mark=str(mark))) for mark in marks]
    await until(lambda: all(mark.exists() for mark in marks))
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    await server.close()


async def test_a_server_gets_the_listed_variables_and_the_folder_of_the_session(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NAMED", "yes")
    monkeypatch.setenv("SECRET", "no")
    said = 'import os; open("seen", "w").write(" ".join(sorted(os.environ)))'
    command = [RAW[0], "-c", f"{said}; exec(open({RAW[-1]!r}).read())"]
    server = await desk.open(source(command=command, env=["NAMED"]))
    assert {"NAMED", "SECRET"} & set((tmp_path / "seen").read_text().split()) == {"NAMED"}
    assert os.environ["SECRET"] == "no"
    await server.close()
