"""What one daemon was told, by its command line and its environment."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from abey.shared import places
from abey.shared.logs import LOG_LEVELS
from abey.shared.version import VERSION

Mode = Literal["shared", "forward", "standalone"]
Durability = Literal["power", "process"]
LogFormat = Literal["text", "json"]

IDLE_EXIT_SECONDS = 1800.0
REST_AFTER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Settings:
    """`shared` listens, `forward` connects stdio to a shared daemon, `standalone` does both itself."""

    mode: Mode
    state_dir: Path
    config_dir: Path
    runtime_dir: Path
    socket: Path
    durability: Durability
    log_level: str
    log_format: LogFormat
    idle_exit: float
    tcp: "Tcp | None"
    env: Mapping[str, str] = field(repr=False)
    rest_after: float = REST_AFTER_SECONDS


@dataclass(frozen=True, slots=True)
class Tcp:
    """Another way in: a port of loopback, for who shows the token in a file."""

    address: str
    port: int
    token_file: Path


def read_settings(arguments: Sequence[str], env: Mapping[str, str]) -> Settings:
    """Raises SystemExit: 2 with the usage on stderr, 0 after `--version` and `--help`."""
    parser = _parser()
    options = read_options(arguments)
    log_level = options.log_level or env.get("ABEY_LOG", "info").lower()
    if log_level not in LOG_LEVELS:
        parser.error(f"ABEY_LOG is one of {', '.join(LOG_LEVELS)}, not {log_level!r}")
    log_format = env.get("ABEY_LOG_FORMAT", "text")
    if log_format not in ("text", "json"):
        parser.error(f"ABEY_LOG_FORMAT is text or json, not {log_format!r}")
    durability = env.get("ABEY_DURABILITY", "power")
    if durability not in ("power", "process"):
        parser.error(f"ABEY_DURABILITY is power or process, not {durability!r}")
    state = places.state_dir(env)
    return Settings(
        mode=("standalone" if options.standalone else "forward") if options.stdio else "shared",
        state_dir=state,
        config_dir=places.config_dir(env),
        runtime_dir=places.runtime_dir(env, state),
        socket=places.socket_path(state, env),
        durability="process" if durability == "process" else "power",
        log_level=log_level,
        log_format="json" if log_format == "json" else "text",
        idle_exit=options.idle_exit,
        tcp=_tcp(options),
        env=dict(env),
        rest_after=options.rest_after,
    )


def _tcp(options: argparse.Namespace) -> Tcp | None:
    if options.listen is None:
        return None
    address, port = options.listen
    return Tcp(address, port, options.token_file)


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line alone. Raises SystemExit as `read_settings`."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.standalone and not options.stdio:
        parser.error("--standalone serves stdio itself: say --stdio, too")
    if (options.listen is None) != (options.token_file is None):
        parser.error("--listen and --token-file go together: nobody is let in over TCP without the token")
    if options.listen and options.stdio and not options.standalone:
        parser.error("--listen is for a daemon: say --standalone, too, or leave --stdio out")
    if options.doctor and options.stdio:
        parser.error("--doctor serves nobody: say --doctor or --stdio, not both")
    if options.json and not options.doctor:
        parser.error("--json is how --doctor prints: say --doctor, too")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="abey-daemon",
        description="The abey daemon. Without options it serves, in the foreground, the socket of its state directory.",
        allow_abbrev=False,
    )
    parser.add_argument("--stdio", action="store_true", help="connect stdin and stdout to the shared daemon")
    parser.add_argument("--standalone", action="store_true", help="with --stdio: be the daemon, while stdin is open")
    parser.add_argument(
        "--idle-exit",
        type=_seconds,
        default=IDLE_EXIT_SECONDS,
        metavar="SECONDS",
        help="end after so long without clients and running work (%(default)g)",
    )
    parser.add_argument(
        "--rest-after",
        type=_seconds,
        default=REST_AFTER_SECONDS,
        metavar="SECONDS",
        help="let sessions leave memory that nobody has used for so long (%(default)g)",
    )
    parser.add_argument(
        "--listen",
        type=_loopback,
        metavar="ADDRESS:PORT",
        help="serve TCP, too, on 127.0.0.1 or [::1]; port 0 is a free one",
    )
    parser.add_argument(
        "--token-file",
        type=_absolute,
        metavar="FILE",
        help="with --listen: the token that clients show; made if absent",
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, help="what is logged; ABEY_LOG without it, else info")
    parser.add_argument("--doctor", action="store_true", help="serve nobody; say what is well here and what is not")
    parser.add_argument("--json", action="store_true", help="with --doctor: print one JSON value")
    parser.add_argument("--version", action="version", version=f"abey-daemon {VERSION}")
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0")
    return seconds


def _loopback(text: str) -> tuple[str, int]:
    """An address of loopback, and a port."""
    import ipaddress  # nobody else waits for it

    address, _, port = text.rpartition(":")
    bare = address[1:-1] if address.startswith("[") and address.endswith("]") else address
    try:
        is_loopback = ipaddress.ip_address(bare).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise argparse.ArgumentTypeError(
            f"{text} is not on this machine's own loopback; say 127.0.0.1:0, and reach it from elsewhere through ssh"
        )
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{text} has no port; 0 is a free one")
    return bare, int(port)


def _absolute(text: str) -> Path:
    return Path(text).absolute()
