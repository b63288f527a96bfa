"""What is wrong with a block of a page, by its form, whether it is run or not."""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from support.pages import Block
from support.shell_lines import faults as faults_of_shell
from support.telling import script_of

from abey.protocol.config import Prices
from abey.protocol.diffs import DiffResult
from abey.protocol.methods import METHODS
from abey.runtime.agents.findings import Finding
from abey.runtime.agents.floors import load_policy
from abey.runtime.agents.loading import load_text, load_value
from abey.runtime.tools.executables.describing import BadDescription, description_of

SMALL = {"slug": "small", "model": {"provider": "scripted", "script": []}}
"""An agent file that parts are put into."""
PARAMS = {method.name: method.params for method in METHODS}


def faults(block: Block) -> list[str]:
    """Nothing where nothing is wrong; a form that nobody knows is wrong."""
    return READ[block.form](block) if block.form in READ else [f"nobody knows the form {block.form!r}"]


def _shown(_: Block) -> list[str]:
    """What is only shown, or held against the code, or run, by a test of its own page."""
    return []


def _python(block: Block) -> list[str]:
    """Of a file that a page shows in parts, the tests of that page look at the whole."""
    try:
        compile(block.text if block.file is None else "", block.name, "exec")
    except SyntaxError as error:
        return [str(error)]
    return []


def _toml(block: Block) -> list[str]:
    try:
        tomllib.loads(block.text)
    except tomllib.TOMLDecodeError as error:
        return [str(error)]
    return []


def _shell(block: Block) -> list[str]:
    return faults_of_shell(script_of(block))


def _json(block: Block) -> list[str]:
    """That it is JSON; a story compares the rest."""
    try:
        json.loads(block.text)
    except ValueError as error:
        return [str(error)]
    return []


def _request(block: Block) -> list[str]:
    """Of one that is run the daemon judges the params, which may be wrong on purpose."""
    request = json.loads(block.text)
    return [] if block.reason is None else _misfits(PARAMS[request["method"]], request["params"])


def _agent(block: Block) -> list[str]:
    return _serious(load_text(block.text, block.page).findings)


def _agent_part(block: Block) -> list[str]:
    """Members of an agent file."""
    return _serious(load_value({**SMALL, **json.loads(block.text)}).findings)


def _policy(block: Block) -> list[str]:
    return _serious(load_policy(block.text)[1].findings)


def _serious(findings: Sequence[Finding]) -> list[str]:
    """That nothing is known yet of the tools of a server is none of a page's faults."""
    return [one.message for one in findings if one.severity in ("error", "warning")]


def _aliases(block: Block) -> list[str]:
    templates = [one if isinstance(one, str) else one.get("template") for one in json.loads(block.text).values()]
    return [f"{one!r} is no template" for one in templates if not isinstance(one, str)]


def _prices(block: Block) -> list[str]:
    return [fault for one in json.loads(block.text)["models"].values() for fault in _misfits(Prices, one)]


def _program(block: Block) -> list[str]:
    """What an executable says of itself."""
    try:
        description_of(block.text.encode())
    except BadDescription as bad:
        return [str(bad)]
    return []


def _diff(block: Block) -> list[str]:
    return _misfits(DiffResult, json.loads(block.text))


def _misfits(kind: type[BaseModel], value: Any) -> list[str]:
    try:
        kind.model_validate(value)
    except ValidationError as error:
        return [str(error)]
    return []


READ: Mapping[str, Callable[[Block], list[str]]] = {
    "sh": _shell,
    "console": _shell,
    "json request": _request,
    "json answer": _json,
    "json error": _json,
    "json notification": _json,
    "json agent": _agent,
    "jsonc": _agent,
    "json agent part": _agent_part,
    "json policy": _policy,
    "json prices": _prices,
    "json aliases": _aliases,
    "json program": _program,
    "json diff": _diff,
    "python": _python,
    "toml": _toml,
    "text": _shown,
    "mermaid": _shown,
    "lua": _shown,
    "elisp": _shown,
    "vim": _shown,
}
