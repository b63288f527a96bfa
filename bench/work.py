"""The work that everybody does: a turn is a prompt, a call that needs approval, the approval, its tool, the answer.

About 1.3 KB of new text a turn. A step is half a turn, from what a client sends until it is durable and answered:
`start` is the prompt, up to the call that waits; `approve` is the rest. The model and the tool are in process, and take
no time of their own.
"""

from typing import Any

PROMPT = ("Please look at the working tree and report what has changed. " * 4)[:200]
ARGUMENTS = {"command": "git -C repo show --stat HEAD~7", "timeoutSeconds": 30}
RESULT = ("commit 0badcafe src/module_7.py | 12 ++++++------\n" * 11)[:512]
FINAL = ("Done. The command changed module_7, as the plan has it. " * 8)[:400]

STEPS_A_TURN = 2

_PARAMETERS = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "timeoutSeconds": {"type": "integer"}},
    "required": ["command"],
}

Value = dict[str, Any]


def config(calls: int = 1, asks: bool = True) -> Value:
    """An agent whose answers ask for so many calls, and then are final; with `asks` each call needs approval."""
    asked = [{"tool": "bash_command", "arguments": ARGUMENTS}] * calls
    needs = [{"tool": "bash_command", "disposition": {"tag": "defer", "reason": "approval required"}}]
    return {
        "slug": "worker",
        "systemPrompt": "You work in a repository.",
        "model": {"provider": "scripted", "script": [{"calls": asked}, {"text": FINAL}], "loop": True},
        "toolCallPolicy": {"default": "runSync", "rules": needs if asks else []},
        "tools": [tool("bash_command", ["true"])],
    }


def tool(name: str, argv: list[str]) -> Value:
    """A tool that runs a program."""
    return {"kind": "command", "name": name, "description": name, "parameters": _PARAMETERS, "argv": argv}


def streaming(seconds: float, pause_ms: int) -> Value:
    """An agent whose one answer has a word every so many milliseconds, for so long."""
    words = "word " * round(seconds * 1000 / pause_ms)
    return config() | {"model": {"provider": "scripted", "script": [{"text": words, "chunkMs": pause_ms}]}}
