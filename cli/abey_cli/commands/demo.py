"""`abey demo`: a whole session with the embedded model, in a temporary folder; nothing of it is left."""

import contextlib
import io
import json
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NoReturn

from abey.shared.kinds import EXIT_OK, EXIT_YIELDED
from abey_cli.calls import show_call
from abey_cli.console import Console
from abey_cli.context import Context
from abey_cli.parsing import parse
from abey_cli.showing import show_state
from abey_cli.table import COMMANDS

PROMPT = "What is in this folder, and what time is it?"
AGENT = {
    "slug": "demo",
    "description": "Shows a deferred call",
    "systemPrompt": "You answer questions about a folder and a clock.",
    "model": {
        "provider": "scripted",
        "script": [
            {
                "text": "I list the folder and ask the clock.",
                "calls": [
                    {"tool": "list_folder", "arguments": {}},
                    {"tool": "bash_command", "arguments": {"command": "date"}},
                ],
            },
            {"text": "Done: the folder was listed at once, and the clock was for you to decide."},
        ],
    },
    "executionMode": "asynchronous",
    "toolCallPolicy": {
        "default": "runSync",
        "rules": [{"tool": "bash_command", "disposition": {"tag": "defer", "reason": "approval required"}}],
    },
    "tools": [
        {
            "kind": "command",
            "name": "list_folder",
            "description": "Lists the folder",
            "parameters": {"type": "object", "properties": {}},
            "argv": ["ls"],
        },
        {
            "kind": "command",
            "name": "bash_command",
            "description": "Runs a shell command",
            "parameters": {
                "type": "object",
                "properties": {"command": {"type": "string"}},
                "required": ["command"],
            },
            "argv": ["sh", "-c", "{command}"],
        },
    ],
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

FAREWELL = "\nNothing of this is left. Next: `abey agents new SLUG` writes an agent file of your own."


def demo(context: Context) -> int:
    """Exit 3 where nobody can be asked and --yes is not given: the call then waits, as it would for days."""
    with cleaning_up(), tempfile.TemporaryDirectory(prefix="abey-demo-") as root, _stage(context, root) as stage:
        return _play(context, stage)


def _play(context: Context, stage: Context) -> int:
    stage.console.note("A session in a temporary folder; its model is embedded and plays a script.")
    _run(stage, ["session", "start", "--agent-file", "demo.json", "-p", PROMPT])
    _run(stage, ["session", "step", "@"])
    _run(stage, ["session", "step", "@"])
    [call] = stage.request("agents/pending")["items"]
    stage.console.note("\nThis call waits, through restarts and for days, until somebody decides:")
    show_call(stage, call)
    choice = _choice(context)
    if choice is None:
        context.console.err("Nobody can be asked here: `abey demo --yes` approves it, a terminal asks")
        _finish(context, stage, call["sessionId"])
        return EXIT_YIELDED
    _decide(stage, call, choice)
    _run(stage, ["session", "step", "@"])
    _finish(context, stage, call["sessionId"])
    return EXIT_OK


def _choice(context: Context) -> str | None:
    """`approve` or `deny`; None where nobody says."""
    if context.options.yes:
        context.console.note("--yes: approved")
        return "approve"
    while context.console.interactive:
        answer = context.console.ask("[a]pprove or [d]eny?")
        if answer is None:
            return None
        if answer.lower() in ("a", "approve", "d", "deny"):
            return "approve" if answer.lower().startswith("a") else "deny"
        context.console.note("a word, or the letter in brackets: approve runs the call, deny does not")
    return None


def _decide(stage: Context, call: Any, choice: str) -> None:
    shown = {"argumentsHash": call["argumentsHash"]} if choice == "approve" else {}
    bound = ["--hash", call["argumentsHash"]] if choice == "approve" else []
    _say(stage, ["session", choice, call["token"], *bound])
    result = stage.request("agents/complete", token=call["token"], outcome={"kind": choice}, **shown)
    show_state(stage, result["session"])


def _run(stage: Context, words: list[str]) -> None:
    """Runs a command line as it is printed."""
    from abey_cli.main import function_of

    _say(stage, words)
    line = parse(words, COMMANDS)
    function_of(line)(stage.again(line.options))


def _say(stage: Context, words: list[str]) -> None:
    stage.console.out(f"\n$ abey {shlex.join(words)}")


def _finish(context: Context, stage: Context, session_id: str) -> None:
    result = stage.request("agents/get", sessionId=session_id)
    context.answer(result, lambda: context.console.note(FAREWELL))


@contextlib.contextmanager
def _stage(context: Context, root: str) -> Iterator[Context]:
    """A context with a machine of its own below `root` and a daemon that ends with it."""
    work = os.path.join(root, "work")
    os.mkdir(work)
    with open(os.path.join(work, "demo.json"), "w", encoding="utf-8") as file:
        json.dump(AGENT, file, indent=2)
    folders = {f"ABEY_{name.upper()}_DIR": os.path.join(root, name) for name in ("state", "config", "runtime")}
    env = {**context.env, **folders, "ABEY_TRANSPORT": "stdio"}
    console = Console(None, io.StringIO(), sys.stderr, env) if context.console.json else context.console
    stage = context.elsewhere(console, env, os.path.realpath(work))
    try:
        yield stage
    finally:
        stage.close()


@contextlib.contextmanager
def cleaning_up() -> Iterator[None]:
    """A signal unwinds, so that the daemon and the folder go; while they go, another one is not heard."""
    heard: list[int] = []

    def unwind(number: int, _frame: Any) -> NoReturn:
        heard.append(number)
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = [(number, signal.signal(number, unwind)) for number in SIGNALS]
    try:
        yield
    except Exception:
        # what was interrupted may fail in its own cleaning up, as argparse does
        if not heard:
            raise
        raise SystemExit(128 + heard[0]) from None
    finally:
        for number, handler in before:
            signal.signal(number, handler)
