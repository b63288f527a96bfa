"""The user's agent files, and whether the variables that they name are there; no value is ever said."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from abey.runtime.doctor.findings import Finding, error, info, ok, warning
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject
from abey.shared.escaping import escape_line

if TYPE_CHECKING:
    from abey.core.agent import Agent
    from abey.protocol.queries import AgentListing


def agents(_: Host, subject: Subject) -> Iterator[Finding]:
    """One finding an agent, and one for each variable that is missing."""
    from abey.runtime.agents.registry import Registry  # not where pydantic may be broken

    registry = Registry(subject.config_dir)
    listed = registry.list().items
    if not listed:
        folder = subject.config_dir / "agents"
        yield info(
            "agents",
            f"there is no agent in {folder}",
            "`abey agents new SLUG` writes one there; or say --agent-file FILE",
        )
    for item in listed:
        yield _file(item)
        if item.state != "invalid":
            yield from _keys(item, registry.by_file(Path(item.path)), subject)


def _file(item: "AgentListing") -> Finding:
    name = f"{escape_line(item.slug)} ({item.path})"
    if item.state == "invalid":
        first = next((one.message for one in item.diagnostics if one.severity == 1), "it is invalid")
        return error("agents", f"{name} cannot be used: {first}", f"`abey agents check {item.path}`")
    if item.state == "shadowed":
        what = f"{name} is hidden by another file with this slug"
        return warning("agents", what, "give one of the two another slug")
    if item.diagnostics:
        return warning("agents", f"{name}: {item.diagnostics[0].message}", f"`abey agents check {item.path}`")
    return ok("agents", name)


def _keys(item: "AgentListing", agent: "Agent", subject: Subject) -> Iterator[Finding]:
    """The key of its model, wherever it is kept, and the variables that its tools name."""
    from abey.protocol.config import AgentConfig, HttpModel
    from abey.runtime.models.keys import Keys
    from abey.runtime.models.places import variable_of

    model = AgentConfig.model_validate(agent.config).model
    key = variable_of(model) if isinstance(model, HttpModel) else None
    if isinstance(model, HttpModel):
        fault = Keys(subject.config_dir, subject.env).missing(model, None)
        slug = escape_line(item.slug)
        if fault is None:
            yield ok("keys", f"the model of {slug} has its key, or needs none")
        else:
            yield warning("keys", f"the model of {slug} cannot be asked: {fault}", _where(key))
    yield from _variables(item, [name for name in item.env_names if name != key], subject)


def _where(key: str | None) -> str:
    if key is None:
        return "put the key where the agent file says"
    return f"set {escape_line(key)} in the environment of the client that starts the session, or in keys.json"


def _variables(item: "AgentListing", names: Iterable[str], subject: Subject) -> Iterator[Finding]:
    for name in map(escape_line, names):
        if subject.env.get(name):
            yield ok("keys", f"{name}, which {escape_line(item.slug)} names, is set")
        else:
            what = f"{name}, which {escape_line(item.slug)} names, is not set here"
            yield warning("keys", what, f"set {name} in the environment of the client that starts the session")
