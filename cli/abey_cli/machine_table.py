"""The commands about the daemon, the machine and the program itself, and the one that speaks the protocol."""

from abey.shared.logs import LOG_LEVELS
from abey_cli.arguments import TIMEOUT
from abey_cli.parsing import Command, arg

NOW = arg("--now", action="store_true", help="do not let running steps finish")

MACHINE = (
    Command(
        "rpc",
        "rpc:rpc",
        "One request, or with - JSON lines in and JSON lines out.",
        (
            arg("method", metavar="METHOD|-"),
            arg("params", metavar="PARAMS|-", nargs="?", help="a JSON object, - for stdin"),
            arg("--fail", action="store_true", help="with JSON lines: exit 1 if any answer is an error"),
            arg("--events", action="store_true", help="with JSON lines: also what the daemon says unasked"),
            TIMEOUT,
        ),
    ),
    Command("daemon status", "daemon:status", "What the daemon says of itself; starts none.", ()),
    Command("daemon start", "daemon:start", "Start the shared daemon if there is none.", ()),
    Command(
        "daemon stop",
        "daemon:stop",
        "End the shared daemon; returns when it is gone.",
        (NOW,),
    ),
    Command(
        "daemon restart",
        "daemon:restart",
        "Stop and start the shared daemon.",
        (NOW, arg("--log-level", choices=LOG_LEVELS, help="what the next one logs")),
    ),
    Command(
        "daemon logs",
        "logs:logs",
        "What the shared daemon wrote, whether or not it runs.",
        (arg("-f", "--follow", action="store_true", help="and what it will write, until Ctrl-C"),),
    ),
    Command("doctor", "doctor:doctor", "What is well here, what is not, and what to do about it.", ()),
    Command(
        "gc",
        "doctor:gc",
        "Clear up: old stopped and archived sessions go to the trash, what is left over goes.",
        (arg("--dry-run", action="store_true", help="only say what would go"),),
    ),
    Command(
        "schema",
        "schema:schema",
        "The JSON schema of the protocol, or of agent files.",
        (arg("of", nargs="?", choices=("protocol", "agent-file"), default="protocol"),),
    ),
    Command(
        "completion",
        "completion:completion",
        "What lets a shell complete the words of abey; the manual says where it goes.",
        (arg("shell", choices=("bash", "zsh", "fish")),),
    ),
)
