"""`abey rules`: what is remembered, for which sessions."""

import json
import re
from typing import Any

from abey.shared.escaping import escape_line
from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.failures import Failure, usage
from abey_cli.rule_lines import rule_line, rule_lines
from abey_cli.workspaces import workspace

RULE_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")


def list_rules(context: Context) -> int:
    result = context.request("agents/rules", action="list", sessionId=_session(context))
    context.answer(result, lambda: _show(context, result))
    return EXIT_OK


def add(context: Context) -> int:
    rule = _asked(context)
    if not context.console.json:
        context.console.note(f"to be remembered: {rule_line(rule)}")
    result = context.request("agents/rules", action="add", rule=rule, sessionId=_session(context), **_effect(context))
    context.answer(result, lambda: _show(context, result))
    return EXIT_OK


def remove(context: Context) -> int:
    session = _session(context)
    rule_id = _whole(context, context.options.rule, session)
    try:
        result = context.request("agents/rules", action="remove", ruleId=rule_id, sessionId=session, **_effect(context))
    except Failure as failure:
        raise _with_the_way_out(failure, session) from failure
    context.answer(result, lambda: context.console.note(f"forgotten: {escape_line(rule_id)}"))
    return EXIT_OK


def _with_the_way_out(failure: Failure, session: str | None) -> Failure:
    """The same refusal; of a rule that is not there it says where others are."""
    if failure.kind != "arguments/invalid":
        return failure
    others = "" if session else "those of a session go with --session ID, and "
    return Failure(f"{failure.message}; {others}`abey rules list` has those there are", failure.code, failure.data)


def _effect(context: Context) -> dict[str, Any]:
    if (
        context.options.session is None
        and (context.effect["ifRevision"], context.effect["idempotencyKey"]) != (None,) * 2
    ):
        raise usage("--if-revision and --idempotency-key go with --session")
    return context.effect


def _session(context: Context) -> str | None:
    given = context.options.session
    return None if given is None else lookup.session_id(context, given)


def _asked(context: Context) -> Any:
    """The rule that the options say. Raises Failure `usage`."""
    options = context.options
    if (options.scope == "session") != (options.session is not None):
        raise usage("--scope session and --session ID go together")
    if options.workspace is not None and options.scope != "workspace":
        raise usage("--workspace goes with --scope workspace")
    if options.match is None and not options.any_arguments:
        raise usage("say --match JSON, or --any-arguments where they do not matter")
    if options.match is not None and options.any_arguments:
        raise usage("say --match or --any-arguments, not both")
    match = None if options.match is None else _match(options.match)
    folder = _workspace(context) if options.scope == "workspace" else None
    return {
        "tool": options.tool,
        "disposition": options.disposition,
        "scope": options.scope,
        **({} if match is None else {"match": match}),
        **({} if folder is None else {"workspace": folder}),
    }


def _match(text: str) -> dict[str, Any]:
    try:
        match = json.loads(text)
        json.dumps(match, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise usage(f"--match is no JSON value: {error}") from error
    if not isinstance(match, dict) or not match:
        raise usage('--match is a JSON object of pointers, such as {"/path": "notes.txt"}')
    return match


def _workspace(context: Context) -> str:
    """The folder that was named, else this workspace: the same that its sessions have."""
    if context.options.workspace is not None:
        return context.absolute(context.options.workspace)
    return str(workspace(context, context.cwd) or context.cwd)


def _whole(context: Context, given: str, session: str | None) -> str:
    """The id that it begins, where it begins just one. Raises Failure `usage`."""
    if RULE_ID.fullmatch(given):
        return given
    items = context.request("agents/rules", action="list", sessionId=session)["items"]
    found = sorted({item["ruleId"] for item in items if item["ruleId"].startswith(given)})
    if given in found or not found:
        return given
    if len(found) > 1:
        raise usage(f"{given!r} begins {len(found)} rules: {', '.join(found[:5])}")
    return str(found[0])


def _show(context: Context, result: Any) -> None:
    console = context.console
    if result.get("damaged"):
        console.err(f"no rule counts: {result['damaged']}; the next rule that is remembered begins a new file")
    elif not result["items"]:
        console.note("no rule is remembered; `abey session approve TOKEN --always SCOPE` remembers one")
    for rule in result["items"]:
        for line in [escape_line(rule["ruleId"])] if console.quiet else rule_lines(rule):
            console.out(line)
