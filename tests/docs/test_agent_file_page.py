"""docs/agent-file.md has every field of an agent file, every disposition and every finding."""

import re
from typing import get_args

import pytest
from pydantic.alias_generators import to_camel
from support.pages import DOCS, ROOT

from abey.protocol import config, policy
from abey.protocol.base import Wire
from abey.shared.kinds import MODEL_CODES

TEXT = (DOCS / "agent-file.md").read_text(encoding="utf-8")
CODES = set(re.findall(r"`([A-Za-z*-]+)`", TEXT))

WRITTEN: tuple[type[Wire], ...] = (
    config.AgentConfig,
    config.HttpModel,
    config.ApiKey,
    config.Prices,
    config.ScriptedModel,
    config.ScriptEntry,
    config.ScriptedCall,
    config.CommandTool,
    config.ExternalTool,
    config.Limits,
    policy.Policy,
    policy.PolicyRule,
    policy.Defer,
    policy.RunIsolated,
)
"""What an author may write, of the things that work and of the models."""


def words_of(tagged: object, name: str) -> set[str]:
    return {get_args(kind.model_fields[name].annotation)[0] for kind in get_args(tagged)}


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.__name__)
def test_the_page_has_every_field(kind: type[Wire]) -> None:
    assert {to_camel(name) for name in kind.model_fields} - CODES == set()


def test_the_page_has_every_kind_of_tool_disposition_and_decorator() -> None:
    tools = words_of(config.AnyToolKind, "kind")
    dispositions = words_of(policy.AnyDisposition, "tag")
    decorators = words_of(get_args(policy.Decorator)[0], "tag")
    assert (tools | dispositions | decorators) - CODES == set()


def test_a_script_can_fail_with_every_model_error() -> None:
    assert get_args(config.ModelCode) == MODEL_CODES


def raised() -> dict[str, set[str]]:
    """How bad each finding is where the code makes it."""
    sources = [
        *(ROOT / "server/abey/runtime/agents").glob("*.py"),
        ROOT / "server/abey/language/agent_files/diagnostics.py",
    ]
    finding = re.compile(
        r'''(?:"|DiagnosticSeverity\.)(error|warning|information|hint)"?, "([a-z-]+)"''', re.IGNORECASE
    )
    found: dict[str, set[str]] = {}
    for path in sources:
        for severity, code in finding.findall(path.read_text(encoding="utf-8")):
            found.setdefault(code, set()).add(severity.lower())
    return {code: found[code] for code in found if code not in ("warning", "hint", "information")}


def test_the_page_has_every_finding_and_how_bad_it_is() -> None:
    rows = re.findall(r"^\| (`.*?) \| (error|warning|information|hint) \|", TEXT[TEXT.index("## Findings") :], re.M)
    said = {code: {severity} for codes, severity in rows for code in re.findall(r"`([a-z-]+)`", codes)}
    assert {code: said.get(code) for code in raised()} == raised()
