"""docs/extensions.md has the whole extension API, and the example as it is tested."""

import dataclasses
import inspect
import re
from typing import Any

import pytest
from support.extensions import EXAMPLE
from support.pages import DOCS, blocks

from abey import extensions as api

PAGE = DOCS / "extensions.md"
TEXT = PAGE.read_text(encoding="utf-8")
CODES = {name for code in re.findall(r"`([^`\n]+)`", TEXT) for name in re.findall(r"\w+", code)}
PLAIN = {"Block", "Json", "Message", "Proceed", "Start", "TextPart", "Capabilities"}
"""Names for types alone."""


def members(kind: type[Any]) -> set[str]:
    if dataclasses.is_dataclass(kind):
        fields = {field.name for field in dataclasses.fields(kind)}
        return fields | {name for name, value in vars(kind).items() if isinstance(value, property)}
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_the_page_has_every_name_of_the_api() -> None:
    assert set(api.__all__) - CODES - PLAIN == set()


WRITTEN = (
    api.Extension,
    api.ModelCall,
    api.Answer,
    api.AnsweredCall,
    api.Tool,
    api.ToolRun,
    api.Capability,
    api.Capabilities,
    api.Program,
    api.SessionInfo,
    api.Signal,
)


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.__name__)
def test_the_page_has_every_member(kind: type[Any]) -> None:
    assert members(kind) - {"stage"} - CODES == set()


@pytest.mark.parametrize("name", ["persistent_shell.py", "pyproject.toml"])
def test_the_example_is_the_one_that_is_tested(name: str) -> None:
    shown = [line for block in blocks(PAGE) if block.kind.endswith(f" {name}") for line in block.text.splitlines()]
    written = (EXAMPLE / name).read_text(encoding="utf-8").splitlines()
    assert [line for line in shown if line] == [line for line in written if line]
