"""`abey agents new`: an agent file to begin with, with what may stand in one said in comments."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from abey.shared.escaping import escape_line
from abey.shared.kinds import EXIT_OK
from abey.shared.places import config_dir
from abey.shared.workspace import MARK
from abey_cli.context import Context
from abey_cli.failures import refused_input, usage
from abey_cli.render import diagnostic_line
from abey_cli.workspaces import tell_of_untrusted, workspace

KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""Looked for in this order."""
NAMES = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-5.4-mini", "openai-responses": "gpt-5.4-mini"}
PACKAGE = Path(__file__).parent.parent


def new(context: Context) -> int:
    options = context.options
    folder = _folder(context)
    text = agent_text(options.slug, *_model(context))
    path = folder / f"{options.slug}.json"
    _refuse_twice(context, folder, options.slug)
    _write(path, text)
    found = context.request("agents/validate", text=text)["diagnostics"]
    context.answer({"path": str(path), "diagnostics": found}, lambda: context.console.out(escape_line(str(path))))
    for diagnostic in found:
        context.console.note(diagnostic_line(str(path), diagnostic))
    if options.workspace:
        tell_of_untrusted(context, str(folder))
    context.console.note(f'next: edit it, then `abey run --agent {options.slug} -p "What is in this folder?"`')
    return EXIT_OK


def agent_text(slug: str, provider: str, name: str) -> str:
    """The file, as it is to be written."""
    scripted = provider == "scripted"
    model = (PACKAGE / ("model_scripted.jsonc" if scripted else "model_http.jsonc")).read_text(encoding="utf-8")
    key = KEYS["anthropic" if provider == "anthropic" else "openai"]
    for mark, value in (("PROVIDER", provider), ("NAME", name), ("KEY", key)):
        model = model.replace(f'"${mark}"', json.dumps(value))
    agent = (PACKAGE / "agent.jsonc").read_text(encoding="utf-8")
    return agent.replace('"$SLUG"', json.dumps(slug)).replace('"$MODEL"', model.strip())


def _model(context: Context) -> tuple[str, str]:
    """The provider and the model's name; of the embedded model that is no matter."""
    options = context.options
    found = next((provider for provider, key in KEYS.items() if context.env.get(key, "").strip()), "scripted")
    provider = options.provider or found
    if provider == "scripted" and options.model is not None:
        raise usage("the embedded model has no name; say --provider, too")
    return provider, options.model or NAMES.get(provider, "")


def _folder(context: Context) -> Path:
    if not context.options.workspace:
        return config_dir(context.env) / "agents"
    return (workspace(context, context.cwd) or Path(context.cwd)) / MARK / "agents"


def _refuse_twice(context: Context, folder: Path, slug: str) -> None:
    """Of two with one slug only one would count."""
    for item in context.request("agents/list", cwd=context.cwd)["items"]:
        if item["slug"] == slug and Path(item["path"]).parent == folder:
            message = f"there is an agent {slug} already: {escape_line(item['path'])}; edit it, or take another slug"
            raise refused_input(message)


def _write(path: Path, text: str) -> None:
    """A new file; one that is there is kept. Raises Failure `input`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused_input(f"{escape_line(str(path.parent))} cannot be made: {error.strerror}") from error
    try:
        with open(path, "x", encoding="utf-8") as file, _whole_or_not_at_all(path):
            file.write(text)
            file.flush()
    except FileExistsError:
        raise refused_input(f"{escape_line(str(path))} exists and is kept; take another slug") from None
    except OSError as error:
        raise refused_input(f"{escape_line(str(path))} cannot be written: {error.strerror}") from error


@contextlib.contextmanager
def _whole_or_not_at_all(path: Path) -> Any:
    try:
        yield
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
