"""`abey agents`: list, check, explain."""

import json
from pathlib import Path
from typing import Any

from abey.shared.escaping import escape_line
from abey.shared.kinds import EXIT_ERROR, EXIT_OK
from abey.shared.workspace import untrusted_words
from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.failures import refused_input, usage
from abey_cli.render import diagnostic_line

SEVERITY_ERROR = 1


def list_agents(context: Context) -> int:
    result = context.request("agents/list", cwd=context.cwd)
    context.answer(result, lambda: _show_agents(context, result))
    return EXIT_OK


def check(context: Context) -> int:
    """With --json: the method's result, or for several files a list of them."""
    results = [_validate(context, file) for file in context.options.files]
    context.answer(results[0] if len(results) == 1 else results, lambda: _show_checks(context, results))
    found = [diagnostic for result in results for diagnostic in result["diagnostics"]]
    return EXIT_ERROR if any(one["severity"] == SEVERITY_ERROR for one in found) else EXIT_OK


def explain(context: Context) -> int:
    options = context.options
    arguments = {} if options.arguments is None else _arguments(options.arguments)
    agent = lookup.agent(context)
    result = context.request("agents/explain", **agent, tool=options.tool, arguments=arguments, cwd=context.cwd)
    context.answer(result, lambda: _show_verdict(context, result))
    return EXIT_OK


def _validate(context: Context, file: str) -> Any:
    path = Path(context.absolute(file))
    if not path.is_file():
        raise refused_input(f"{file} cannot be read: no such file")
    return context.request("agents/validate", uri=path.as_uri())


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise usage(f'the arguments are no JSON value, such as \'{{"path": "notes.txt"}}\': {error}') from error


def _show_agents(context: Context, result: Any) -> None:
    console = context.console
    if not result["items"]:
        console.note("no agent found; `abey agents new SLUG` writes one, `abey demo` shows one at work")
    for item in result["items"]:
        described = f"  {escape_line(item['description'])}" if item["description"] else ""
        slug, path = escape_line(item["slug"]), escape_line(item["path"])
        console.out(slug if console.quiet else f"{slug}  {item['state']}  {path}{described}")
        for diagnostic in item["diagnostics"]:
            console.note(diagnostic_line(item["path"], diagnostic))
    for folder in result["untrusted"]:
        console.note(untrusted_words(folder))


def _show_checks(context: Context, results: list[Any]) -> None:
    for file, result in zip(context.options.files, results, strict=True):
        for diagnostic in result["diagnostics"]:
            context.console.out(diagnostic_line(file, diagnostic))
        if not result["diagnostics"]:
            context.console.note(f"{file}: nothing to say")


def _show_verdict(context: Context, result: Any) -> None:
    out = context.console.out
    out(f"disposition: {_compact(result['disposition'])}")
    if result.get("rule") is not None:
        out(f"rule: {_compact(result['rule'])}")
    for link in result["chain"]:
        matched = "matched" if link["matched"] else "did not match"
        rule = f"{_compact(link['rule'])} {matched}: " if link.get("rule") is not None else ""
        out(f"  {escape_line(link['layer'])}: {rule}{escape_line(link['why'])}")


def _compact(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return escape_line(text)
