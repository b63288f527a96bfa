"""Every command that `abey` has, and what it takes."""

from abey_cli.agents_table import AGENTS
from abey_cli.arguments import (
    AGENT,
    ALWAYS,
    CWD,
    DENY,
    DIFF,
    EFFECT,
    EVENTS,
    FORMAT,
    LIST,
    MAX_STEPS,
    NEW_ID,
    PROMPT,
    RESUME,
    REVISIONS,
    SESSION,
    THINKING,
    TIMEOUT,
    TOKEN,
    UNTIL,
)
from abey_cli.inputs_table import INPUTS
from abey_cli.lines_table import LINES
from abey_cli.machine_table import MACHINE
from abey_cli.parsing import Command, arg
from abey_cli.rules_table import RULES
from abey_cli.upkeep_table import UPKEEP

COMMANDS = (
    Command(
        "demo",
        "demo:demo",
        "A whole session with the embedded model; no key, nothing kept, no process left.",
        (arg("--yes", action="store_true", help="approve without asking"),),
    ),
    Command(
        "run",
        "driving:run",
        "Run a new session, or --session, until it answers or yields.",
        (
            *AGENT,
            *PROMPT,
            arg("--session", metavar="ID"),
            arg("--title", metavar="T"),
            CWD,
            UNTIL,
            MAX_STEPS,
            EVENTS,
            THINKING,
            *EFFECT,
        ),
    ),
    Command(
        "session start",
        "session:start",
        "Create a session; no model is called without --step.",
        (
            *AGENT,
            *PROMPT,
            arg("--step", action="store_true", help="and one step"),
            NEW_ID,
            arg("--title", metavar="T"),
            CWD,
            THINKING,
            *EFFECT,
        ),
    ),
    Command(
        "session step",
        "session:step",
        "Exactly one step.",
        (SESSION, *PROMPT, EVENTS, THINKING, *EFFECT),
    ),
    Command(
        "session resume",
        "driving:resume",
        "Run until it answers or yields.",
        (SESSION, UNTIL, MAX_STEPS, EVENTS, THINKING, *EFFECT),
    ),
    Command(
        "session wait", "driving:wait", "Wait until it answers or yields; drives nothing.", (SESSION, UNTIL, TIMEOUT)
    ),
    Command(
        "session pause",
        "session:pause",
        "Take no further step until it is resumed.",
        (SESSION, arg("--reason", metavar="TEXT"), *EFFECT),
    ),
    Command(
        "session pending",
        "pending:pending",
        "The calls that wait for somebody.",
        (
            arg("session", metavar="ID", nargs="?", help="of this session only"),
            arg("--watch", action="store_true", help="and those that come and go, as they do"),
            TIMEOUT,
        ),
    ),
    Command(
        "session complete",
        "completing:complete",
        "Give a call its result: FILE or - (text, or an object with a known type), --text, --data or --error.",
        (
            TOKEN,
            arg("file", metavar="FILE|-", nargs="?"),
            arg("--text", metavar="T", help="a text"),
            arg("--data", metavar="JSON", help="any JSON value"),
            arg("--error", metavar="MSG", help="the call failed"),
            RESUME,
            *EFFECT,
        ),
    ),
    Command(
        "session approve",
        "completing:approve",
        "Let a call run; prints the whole call on stderr first.",
        (
            TOKEN,
            arg("--hash", metavar="H", help="only if it is still the call with this argumentsHash"),
            arg("--arguments", metavar="FILE", help="run it with these arguments instead (JSON, - for stdin)"),
            arg("--edit", action="store_true", help="edit its arguments in $EDITOR first"),
            ALWAYS,
            RESUME,
            *EFFECT,
        ),
    ),
    Command(
        "session answer",
        "completing:answer",
        "Answer a question that a tool asks.",
        (
            TOKEN,
            arg("words", metavar="VALUE", nargs="*", help="a text, JSON, or NAME=VALUE for each field"),
            arg("--decline", action="store_true", help="tell the tool that nobody answers"),
            RESUME,
            *EFFECT,
        ),
    ),
    Command(
        "session rerun",
        "completing:rerun",
        "Run again a call that a crash cut off; it may have run already.",
        (
            TOKEN,
            arg("--hash", metavar="H", help="only if it is still the call with this argumentsHash"),
            RESUME,
            *EFFECT,
        ),
    ),
    Command("session deny", "completing:deny", "Refuse a call; the model is told so.", DENY),
    Command("session reject", "completing:deny", "The same as deny.", DENY),
    Command(
        "session run-isolated",
        "isolating:run_isolated",
        "Run in a sandbox the calls that wait for one.",
        (SESSION, *EFFECT),
    ),
    *INPUTS,
    Command("session cancel", "session:cancel", "End the running turn.", (SESSION, *EFFECT)),
    Command(
        "session stop",
        "session:stop",
        "End the session for good.",
        (SESSION, arg("--yes", action="store_true", help="do not ask"), *EFFECT),
    ),
    Command("session list", "listing:list_sessions", "The sessions, or those in which all words of QUERY stand.", LIST),
    Command("session show", "show:show", "One session.", (SESSION, REVISIONS)),
    Command("session diff", "diff:diff", "What a call would change in a file, or what a session has changed.", DIFF),
    Command(
        "session output",
        "output:output",
        "All that a call has printed.",
        (SESSION, arg("call", metavar="CALL", nargs="?", help="its id or token, or a beginning; the last without it")),
    ),
    Command(
        "session tail",
        "watching:tail",
        "The end of a session's transcript.",
        (SESSION, arg("-f", "--follow", action="store_true", help="and what happens from then on"), TIMEOUT),
    ),
    Command(
        "session export",
        "transfer:export",
        "Write a session to a file, or to stdout.",
        (SESSION, FORMAT, arg("-o", "--output", metavar="FILE", help="the file; stdout without it"), TIMEOUT),
    ),
    Command(
        "session import",
        "transfer:import_",
        "Make a session out of a file; its agent is trusted like a file you name.",
        (
            arg("file", metavar="FILE|-", help="an export, a journal.jsonl, or a session file of agents-exe"),
            FORMAT,
            *AGENT,
            NEW_ID,
            arg("--cwd", metavar="DIR", help="the session's folder; the file's, or else this one, without it"),
            *EFFECT,
        ),
    ),
    *LINES,
    *UPKEEP,
    *AGENTS,
    *RULES,
    *MACHINE,
)
