"""The commands about what a session is told, and what it was told and has not taken yet."""

from abey_cli.arguments import EFFECT, EVENTS, SESSION, THINKING
from abey_cli.parsing import Command, arg

INPUTS = (
    Command(
        "session send",
        "session:send",
        "Give a session another input.",
        (
            SESSION,
            arg("text", metavar="TEXT", help="- for stdin"),
            arg("--interrupt", action="store_true", help="overtake the queue"),
            arg("--queue", action="store_true", help="a turn of its own, later"),
            *EFFECT,
        ),
    ),
    Command(
        "session withdraw",
        "session:withdraw",
        "Take an input out of the queue.",
        (SESSION, arg("input", metavar="INPUT", help="its id or a unique prefix, as send and show print it"), *EFFECT),
    ),
    Command(
        "session continue",
        "driving:go_on",
        "Run a turn without another input, where the last one ended without an answer.",
        (SESSION, EVENTS, THINKING, *EFFECT),
    ),
)
