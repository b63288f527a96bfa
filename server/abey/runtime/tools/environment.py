"""The environment of a tool: what is on the list, and what its file names (security.md, Secrets)."""

from collections.abc import Iterable, Mapping

_ALLOWED = frozenset({"PATH", "HOME", "LANG", "TZ", "TMPDIR", "TERM", "USER", "SHELL", "VIRTUAL_ENV"})


def allowed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of `environment` that every tool may have."""
    return {name: value for name, value in environment.items() if name in _ALLOWED or name.startswith("LC_")}


def tool_environment(session: Mapping[str, str], named: Iterable[str], daemon: Mapping[str, str]) -> dict[str, str]:
    """The allowed variables of the session, and those the tool names, from the session or else from the daemon."""
    environment = allowed_environment(session)
    for name in named:
        value = session.get(name, daemon.get(name))
        if value is not None:
            environment[name] = value
    return environment
