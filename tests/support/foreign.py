"""Session files of agents-exe for the tests: our own small ones, the real ones, and what comes of importing them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abey.core.agent import Agent
from abey.core.conversation import ModelRequest, OfferedTool, UserMessage
from abey.core.history import history
from abey.core.replay import fold, recover
from abey.core.session import Session
from abey.protocol import journal as j
from abey.protocol.transcript import TextPart
from abey.runtime.agents.registry import Registry
from abey.runtime.models.strictness import fault_of
from abey.runtime.transfer.agents_exe import read_session_file
from abey.runtime.transfer.agents_exe_agent import implied_config
from abey.runtime.transfer.agents_exe_import import import_records, title_of
from abey.runtime.transfer.cursor import read_json

ROOT = Path(__file__).parents[2]
OURS = ROOT / "tests" / "data" / "agents-exe"
REAL = ROOT.parent / "shared" / "data" / "sessions"
NOW = "2026-01-01T00:00:00.000Z"
REGISTRY = Registry(Path("/nowhere"))


@dataclass(frozen=True)
class Brought:
    """An imported file: its text, the records it became, the session they tell of, and its agent."""

    text: str
    records: tuple[j.Record, ...]
    session: Session
    agent: Agent

    @property
    def data(self) -> list[j.RecordData]:
        return [record.data for record in self.records]

    @property
    def types(self) -> list[str]:
        return [record.data.type for record in self.records]


def brought(text: str, source: str = "talk.json", entropy: bytes = bytes(32)) -> Brought:
    """The file of that text, imported. Raises InvalidSeed."""
    file = read_session_file(read_json(source, text))
    agent = REGISTRY.inline(implied_config(file, source), "/")
    created = j.Created(
        session_id="s1",
        agent=agent.slug,
        config=agent.config,
        config_hash=agent.config_hash,
        cwd="/",
        title=title_of(file, agent.slug),
        forked_from=file.forked_from,
    )
    imported = j.Imported(format="agents-exe", source=source, original=text)
    records = import_records(file, created, imported, agent, NOW, entropy)
    session = fold(records)
    assert session is not None
    return Brought(text, records, recover(session), agent)


def ours(name: str) -> Brought:
    """One of the small files of tests/data, imported."""
    return brought((OURS / f"{name}.json").read_text(), f"{name}.json")


def value(name: str) -> Any:
    return json.loads((OURS / f"{name}.json").read_text())


def fault_in_history(session: Session, agent: Agent) -> str | None:
    """Why a strict provider would refuse the session's next request, once somebody has said something."""
    messages = history(session)
    said = UserMessage((TextPart(text="go on"),))
    if messages and isinstance(messages[-1], UserMessage):
        messages = (*messages[:-1], UserMessage(messages[-1].parts + said.parts))
    else:
        messages = (*messages, said)
    tools = tuple(OfferedTool(one.name, one.description, one.parameters) for one in agent.tools.values())
    return fault_of(ModelRequest(agent.system_prompt, messages, tools, 0))
