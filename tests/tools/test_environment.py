"""The environment of a tool."""

from abey.runtime.tools.environment import allowed_environment, tool_environment


def test_only_what_is_on_the_list_is_allowed() -> None:
    everything = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "LC_X": "1",
        "VIRTUAL_ENV": "/v",
        "OPENAI_API_KEY": "k",
        "LD_PRELOAD": "x",
    }
    assert allowed_environment(everything) == {"PATH": "/bin", "LC_ALL": "C", "LC_X": "1", "VIRTUAL_ENV": "/v"}


def test_a_named_variable_comes_from_the_session_else_from_the_daemon() -> None:
    session = {"PATH": "/bin", "A": "session", "SECRET": "s"}
    daemon = {"A": "daemon", "B": "daemon", "HOME": "/daemon", "OTHER": "o"}
    assert tool_environment(session, ["A", "B", "C"], daemon) == {"PATH": "/bin", "A": "session", "B": "daemon"}
