"""The commands that look after sessions: their names, the trash, and the repair of their journals."""

from abey_cli.arguments import EFFECT, SESSION, TITLE
from abey_cli.parsing import Command, arg

UPKEEP = (
    Command(
        "session rename",
        "upkeep:rename",
        "Give a session another title.",
        (SESSION, TITLE, *EFFECT),
    ),
    Command("session archive", "upkeep:archive", "Put a session away.", (SESSION, *EFFECT)),
    Command("session unarchive", "upkeep:unarchive", "Take a session out again.", (SESSION, *EFFECT)),
    Command(
        "session delete",
        "upkeep:delete",
        "Move a session to the trash.",
        (
            SESSION,
            arg("--yes", action="store_true", help="do not ask"),
            arg("--force", action="store_true", help="though calls wait, or nobody can tell"),
            *EFFECT,
        ),
    ),
    Command(
        "session restore",
        "upkeep:restore",
        "Bring a session back from the trash.",
        (arg("session", metavar="ID", help="its id, or a beginning that only one in the trash has"), *EFFECT),
    ),
    Command(
        "session reopen",
        "upkeep:reopen",
        "Load a session again after a write that failed.",
        (SESSION, *EFFECT),
    ),
    Command(
        "repair",
        "upkeep:repair",
        "What is wrong with a session's journal, and with --apply its repair.",
        (
            SESSION,
            arg("--apply", action="store_true", help="mend it; the original is kept"),
            arg("--yes", action="store_true", help="the same"),
            *EFFECT,
        ),
    ),
)
