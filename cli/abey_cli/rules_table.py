"""The commands about remembered rules."""

from abey_cli.arguments import EFFECT
from abey_cli.parsing import Command, arg

SCOPES = ("session", "workspace", "user")
OF_SESSION = arg("--session", metavar="ID", help="also the rules of this session, or a rule of it")

RULES = (
    Command("rules list", "rules:list_rules", "The rules that are remembered.", (OF_SESSION,)),
    Command(
        "rules add",
        "rules:add",
        "Remember a rule; it is shown first, and applied to the calls that wait already.",
        (
            arg("tool", metavar="TOOL", help="the tool's name; with * only for --disposition deny"),
            arg("--scope", choices=SCOPES, required=True, help="for which sessions"),
            arg("--match", metavar="JSON", help='what the arguments must be, by pointer: {"/path": "notes.txt"}'),
            arg("--any-arguments", action="store_true", help="whatever the arguments are"),
            arg(
                "--disposition",
                choices=("runSync", "runAsync", "deny"),
                default="runSync",
                help="what happens to such calls; runSync without it",
            ),
            arg("--workspace", metavar="DIR", help="with --scope workspace; this one without it"),
            OF_SESSION,
            *EFFECT,
        ),
    ),
    Command(
        "rules remove",
        "rules:remove",
        "Forget a rule; what it has decided stays.",
        (arg("rule", metavar="RULE", help="its id, or a unique beginning of it"), OF_SESSION, *EFFECT),
    ),
)
