"""The commands that take a session back, make one of another, or tell it as a value."""

from abey_cli.arguments import AGENT, AT, CWD, EFFECT, NEW_ID, SESSION, TO
from abey_cli.parsing import Command, arg

LINES = (
    Command(
        "session fork",
        "forking:fork",
        "Make a session that goes on from what another one is, or was; that one stays as it is.",
        (SESSION, AT, arg("--title", metavar="T"), *EFFECT),
    ),
    Command(
        "session rewind",
        "forking:rewind",
        "Take a session back to what it was at a revision; what came after is kept, and it can be taken there again.",
        (SESSION, TO, *EFFECT),
    ),
    Command(
        "session seed",
        "seeding:seed",
        "Make a session of a portable value, a seed or what `session record` prints; a stopped one goes on so.",
        (
            arg("file", metavar="FILE|-"),
            *AGENT,
            NEW_ID,
            arg("--title", metavar="T"),
            CWD,
            *EFFECT,
        ),
    ),
    Command("session record", "forking:record", "A session as a portable value, in JSON.", (SESSION,)),
)
