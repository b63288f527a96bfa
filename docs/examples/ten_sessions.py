"""Runs ten sessions side by side over one `abey rpc -`, and answers by rule what they ask for.

python ten_sessions.py AGENT_FILE [PROMPT...]
"""

import json
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

CITIES = ("Accra", "Bogota", "Cairo", "Delhi", "Havana", "Lima", "Oslo", "Paris", "Quito", "Seoul")
HARMLESS = re.compile(r"echo [\w ]+")
"""All of a command that is approved: no other program, and nothing that a shell would read."""

Work = Generator[tuple[str, dict[str, Any]], Any, str]
"""What is to be done in a session: gives requests away, gets their results, and ends with what came of it."""


def work(agent_file: str, prompt: str) -> Work:
    session = yield "agents/start", {"agentFile": agent_file, "prompt": prompt, "cwd": str(Path.cwd()), "run": "none"}
    while True:
        result = yield "agents/run", {"sessionId": session["sessionId"]}
        session = result["session"]
        if result["outcome"] != "waiting":
            return f"{prompt} {session.get('output', result['outcome'])}"
        approvals = [call for call in session["pending"] if call["kind"] == "approval"]
        if not approvals:
            return f"{prompt} It waits for somebody: abey session pending {session['sessionId']}"
        for call in approvals:
            yield "agents/complete", {"token": call["token"], **verdict(call)}


def verdict(call: dict[str, Any]) -> dict[str, Any]:
    """Bound to what was looked at: if the call has changed meanwhile, the daemon refuses the answer."""
    arguments = call["arguments"]
    if call["tool"] == "bash_command" and HARMLESS.fullmatch(arguments.get("command", "")):
        return {"outcome": {"kind": "approve"}, "argumentsHash": call["argumentsHash"]}
    return {"outcome": {"kind": "deny", "message": "only echo is allowed here"}}


def run(works: dict[str, Work]) -> bool:
    """All of them at once; prints what comes of each when it does. True if none failed."""
    with subprocess.Popen(["abey", "rpc", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as abey:
        assert abey.stdin is not None
        assert abey.stdout is not None

        def ask(name: str, request: tuple[str, dict[str, Any]]) -> None:
            method, params = request
            print(json.dumps({"id": name, "method": method, "params": params}), file=abey.stdin, flush=True)

        failed = 0
        for name, one in works.items():
            ask(name, next(one))
        while works:
            answer = json.loads(abey.stdout.readline() or '{"id": null}')
            if answer["id"] is None:
                return False  # `abey` has said on stderr why there is no more
            name = answer["id"]
            try:
                if "error" in answer:
                    failed += 1
                    print(f"{name}: {answer['error']['message']}", file=sys.stderr)
                    del works[name]
                else:
                    ask(name, works[name].send(answer["result"]))
            except StopIteration as end:
                print(end.value)
                del works[name]
        return failed == 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    agent_file = str(Path(sys.argv[1]).resolve())
    prompts = sys.argv[2:] or [f"How warm is it in {city}?" for city in CITIES]
    sys.exit(0 if run({f"session {n}": work(agent_file, prompt) for n, prompt in enumerate(prompts, 1)}) else 1)
