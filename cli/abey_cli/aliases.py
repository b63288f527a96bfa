"""The prompts that `--alias` knows by name: those of `aliases.json`, and some that are built in."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from abey.shared.places import config_dir
from abey_cli.context import Context
from abey_cli.failures import Failure, refused_input, usage
from abey_cli.reading import read_text

FILE = "aliases.json"
BUILT_IN = {
    "translate": "Translate the following text into English. Answer with the translation alone.\n\n{{content}}",
    "summarize": "Summarize the following text in a few sentences, the most important thing first.\n\n{{content}}",
    "code-review": "Review the following code: defects first, each with its line and what to do about it, then what "
    "could be simpler. {{filename}}\n\n```{{language}}\n{{content}}\n```",
    "explain": "Explain the following to somebody who sees it for the first time: what it is for, and how it works. "
    "{{filename}}\n\n```{{language}}\n{{content}}\n```",
}
LANGUAGES = {
    "bash": "bash",
    "cc": "cpp",
    "h": "c",
    "hs": "haskell",
    "js": "javascript",
    "kt": "kotlin",
    "md": "markdown",
    "pl": "perl",
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "sh",
    "ts": "typescript",
    "txt": "text",
    "yml": "yaml",
}
"""The names of languages that are not the ending of their files, in the words of a Markdown fence."""
_VARIABLE = re.compile(r"\{\{(content|filename|language)\}\}")


def template_of(context: Context, name: str) -> str:
    """The template of an alias. Raises Failure: `usage` for a name that there is none of, `input` for a file that
    cannot be read or is none."""
    known = {**BUILT_IN, **_own(context)}
    if name not in known:
        raise usage(f"there is no alias {name!r}; there are: {', '.join(sorted(known))}")
    return known[name]


def filled(template: str, content: str, files: Sequence[str]) -> str:
    """`template` with its variables in place; one that has no place for the content is put before it. What stands in
    the content is no variable."""
    values = {"content": content, "filename": ", ".join(files), "language": _language(files)}
    text = _VARIABLE.sub(lambda found: values[found[1]], template)
    return text if "{{content}}" in template or not content else f"{text}\n{content}"


def needs_content(template: str) -> bool:
    return "{{content}}" in template


def _own(context: Context) -> dict[str, str]:
    path = os.fspath(config_dir(context.env) / FILE)
    if not os.path.exists(path):
        return {}
    try:
        value = json.loads(read_text(context, path))
    except (ValueError, RecursionError) as error:
        raise _no_aliases(path, f"it is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise _no_aliases(path, "it is no object of names")
    return {name: _template(path, name, one) for name, one in value.items()}


def _template(path: str, name: str, value: Any) -> str:
    """A text, or an object with one as `template`; what else stands in that is for people."""
    text = value.get("template") if isinstance(value, Mapping) else value
    if not isinstance(text, str):
        raise _no_aliases(path, f"{name!r} has no template: a text, or an object with a text as `template`")
    return text


def _no_aliases(path: str, why: str) -> Failure:
    return refused_input(f"{path} cannot be used: {why}")


def _language(files: Sequence[str]) -> str:
    """That of the files, as their ending says it; none where they have several."""
    endings = {os.path.splitext(file)[1].removeprefix(".").lower() for file in files}
    ending = endings.pop() if len(endings) == 1 else ""
    return LANGUAGES.get(ending, ending)
