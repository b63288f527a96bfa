"""The user's agent files, and whether the variables that they name are there; no value is ever said."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from abey.runtime.doctor.findings import Finding, error, info, ok, warning
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject
from abey.shared.escaping import escape_line

if TYPE_CHECKING:
    from abey.protocol.queries import AgentListing


def agents(_: Host, subject: Subject) -> Iterator[Finding]:
    """One finding an agent, and one for each variable that is missing."""
    from abey.runtime.agents.registry import Registry  # not where pydantic may be broken

    listed = Registry(subject.config_dir).list().items
    if not listed:
        folder = subject.config_dir / "agents"
        yield info("agents", f"there is no agent in {folder}", f"put agent files into {folder}, or say --agent-file")
    for item in listed:
        yield _file(item)
        if item.state != "invalid":
            yield from _variables(item, subject)


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


def _variables(item: "AgentListing", subject: Subject) -> Iterator[Finding]:
    for name in map(escape_line, item.env_names):
        if subject.env.get(name):
            yield ok("keys", f"{name}, which {escape_line(item.slug)} names, is set")
        else:
            what = f"{name}, which {escape_line(item.slug)} names, is not set here"
            yield warning("keys", what, f"set {name} in the environment of the client that starts the session")
