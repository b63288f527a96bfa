"""The command line and the environment of the daemon."""

from pathlib import Path

import pytest

from abey.daemon.main import main
from abey.daemon.settings import Settings, Tcp, read_settings
from abey.shared.places import socket_path
from abey.shared.version import VERSION

TOGETHER = "go together: nobody is let in over TCP without the token"
ELSEWHERE = "is not on this machine's own loopback; say 127.0.0.1:0, and reach it from elsewhere through ssh"
ENV = {"ABEY_STATE_DIR": "/s", "ABEY_CONFIG_DIR": "/c", "ABEY_RUNTIME_DIR": "/r"}


def test_settings_have_defaults() -> None:
    assert read_settings([], ENV) == Settings(
        mode="shared",
        state_dir=Path("/s"),
        config_dir=Path("/c"),
        runtime_dir=Path("/r"),
        socket=socket_path(Path("/s"), ENV),
        durability="power",
        log_level="info",
        log_format="text",
        idle_exit=1800.0,
        tcp=None,
        env=ENV,
    )


def test_settings_are_what_was_said() -> None:
    env = {**ENV, "ABEY_DURABILITY": "process", "ABEY_LOG": "DEBUG"}
    said = read_settings(["--stdio", "--standalone", "--idle-exit", "5", "--rest-after", "0.5"], env)
    assert (said.mode, said.durability, said.log_level) == ("standalone", "process", "debug")
    assert (said.idle_exit, said.rest_after) == (5.0, 0.5)
    assert read_settings([], {**ENV, "ABEY_LOG_FORMAT": "json"}).log_format == "json"
    assert read_settings(["--log-level", "error"], env).log_level == "error"


@pytest.mark.parametrize(
    ("listen", "address", "port"),
    [("127.0.0.1:0", "127.0.0.1", 0), ("127.8.8.8:9", "127.8.8.8", 9), ("[::1]:0", "::1", 0)],
)
def test_tcp_is_served_on_loopback_where_it_is_asked_for(listen: str, address: str, port: int) -> None:
    said = read_settings(["--listen", listen, "--token-file", "/t"], ENV)
    assert said.tcp == Tcp(address, port, Path("/t"))


def test_stdio_alone_is_the_forwarder() -> None:
    assert read_settings(["--stdio"], ENV).mode == "forward"


@pytest.mark.parametrize(
    ("arguments", "env", "reason"),
    [
        (["--standalone"], {}, "--standalone serves stdio itself: say --stdio, too"),
        (["--idle-exit", "0"], {}, "argument --idle-exit: 0 is no number of seconds above 0"),
        (["--idle-exit", "nan"], {}, "argument --idle-exit: nan is no number of seconds above 0"),
        (["--rest-after", "0"], {}, "argument --rest-after: 0 is no number of seconds above 0"),
        (["--idle-exit", "soon"], {}, "argument --idle-exit: invalid _seconds value: 'soon'"),
        ([], {"ABEY_DURABILITY": "none"}, "ABEY_DURABILITY is power or process, not 'none'"),
        ([], {"ABEY_LOG_FORMAT": "xml"}, "ABEY_LOG_FORMAT is text or json, not 'xml'"),
        ([], {"ABEY_LOG": "loud"}, "ABEY_LOG is one of debug, info, warning, error, not 'loud'"),
        (["--listen", "127.0.0.1:0"], {}, f"--listen and --token-file {TOGETHER}"),
        (["--token-file", "/t"], {}, f"--listen and --token-file {TOGETHER}"),
        (["--listen", "0.0.0.0:0", "--token-file", "/t"], {}, f"argument --listen: 0.0.0.0:0 {ELSEWHERE}"),
        (["--listen", ":0", "--token-file", "/t"], {}, f"argument --listen: :0 {ELSEWHERE}"),
        (["--listen", "localhost:0", "--token-file", "/t"], {}, f"argument --listen: localhost:0 {ELSEWHERE}"),
        (["--listen", "[::]:0", "--token-file", "/t"], {}, f"argument --listen: [::]:0 {ELSEWHERE}"),
        (
            ["--listen", "127.0.0.1:-1", "--token-file", "/t"],
            {},
            "argument --listen: 127.0.0.1:-1 has no port; 0 is a free one",
        ),
        (
            ["--listen", "127.0.0.1:65536", "--token-file", "/t"],
            {},
            "argument --listen: 127.0.0.1:65536 has no port; 0 is a free one",
        ),
        (
            ["--stdio", "--listen", "127.0.0.1:0", "--token-file", "/t"],
            {},
            "--listen is for a daemon: say --standalone, too, or leave --stdio out",
        ),
        (["--std"], {}, "unrecognized arguments: --std"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: list[str], env: dict[str, str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read_settings(arguments, {**ENV, **env})
    assert (ended.value.code, capsys.readouterr().err.endswith(f"abey-daemon: error: {reason}\n")) == (2, True)


def test_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"abey-daemon {VERSION}\n")


def test_settings_do_not_show_the_environment() -> None:
    assert "canary" not in repr(read_settings([], {**ENV, "KEY": "canary"}))
