"""`abey doctor` and `abey gc`: what is well here, and what can be spared."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

from abey.shared import starting
from abey.shared.escaping import escape_line
from abey.shared.findings import finding_lines
from abey.shared.kinds import EXIT_OK, EXIT_UNREACHABLE
from abey.shared.version import VERSION
from abey_cli.context import Context
from abey_cli.failures import Failure

ALONE_SECONDS = 300.0
"""How long the examination without a daemon may take."""


def doctor(context: Context) -> int:
    """Asks the daemon; where there is none and none can be started, the files tell."""
    try:
        result = context.request("agents/doctor")
        result = {**result, "findings": [*_other_build(context), *result["findings"]]}
    except Failure as failure:
        if failure.exit_code != EXIT_UNREACHABLE:
            raise
        result = _without_daemon(context, failure)
    context.answer(result, lambda: _show(context, [line for one in result["findings"] for line in finding_lines(one)]))
    return EXIT_OK


def gc(context: Context) -> int:
    result = context.request("agents/gc", dryRun=context.options.dry_run)
    context.answer(result, lambda: _show(context, list(_gc_lines(result))))
    return EXIT_OK


def _other_build(context: Context) -> list[dict[str, str]]:
    """What only the command line knows: that it is not of the daemon's build."""
    build = context.client.daemon.get("daemon", {}).get("buildId", VERSION)
    if build == VERSION:
        return []
    what = f"the daemon is of build {build}, this command line of {VERSION}"
    return [{"check": "version", "severity": "warning", "message": what, "advice": "`abey daemon restart`"}]


def _without_daemon(context: Context, failure: Failure) -> Any:
    """The findings of `abey-daemon --doctor`, after the one that no daemon could be asked. Raises `failure` where that
    has none either."""
    try:
        argv = [*starting.command(context.env), "--doctor", "--json"]
        done = subprocess.run(
            argv,
            cwd="/",
            env=dict(context.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ALONE_SECONDS,
            check=False,
        )
        findings = json.loads(done.stdout)["findings"]
    except (starting.DidNotStart, OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError):
        raise failure from None
    advice = "mend what is an error below; without one, `abey daemon start` tries again"
    first = {"check": "daemon", "severity": "error", "message": failure.message, "advice": advice}
    return {"findings": [first, *findings]}


def _gc_lines(result: Any) -> Iterator[str]:
    for item in result["items"]:
        yield f"{item['kind']}  {item['bytes']} bytes  {escape_line(item['path'])}  {escape_line(item['reason'])}"
    if result.get("omitted"):
        yield f"and {result['omitted']} more"
    count = len(result["items"]) + result.get("omitted", 0)
    would = "would go" if result["dryRun"] else "went"
    things = "1 thing" if count == 1 else f"{count} things"
    yield f"{things}, {result['bytes']} bytes {would}" if count else "nothing can be spared"


def _show(context: Context, lines: list[str]) -> None:
    for line in lines:
        context.console.out(line)
