"""Every command that `abey` has, and what it takes."""

import argparse

from abey_cli.parsing import Argument, Command, arg, piece


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return value


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _revision(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no revision")
    return int(text)


AGENT = (
    arg("--agent", metavar="SLUG", help="an agent by its slug"),
    arg("--agent-file", metavar="FILE", help="an agent by its file; naming it trusts it for this session"),
)
PROMPT = (
    piece("text", "-p", "--prompt", metavar="TEXT", help="text of the prompt; all of these are joined in order"),
    piece("file", "-f", "--file", metavar="FILE", help="a text file"),
    piece("shell", "--shell", metavar="CMD", help="what a command prints, run in the session's folder"),
    piece("media", "-m", "--media", metavar="[MIME;]PATH", help="a picture or another medium"),
)
SESSION = arg("session", metavar="ID", help="a session, a unique prefix of its id, or @ for this folder's latest")
TOKEN = arg("token", metavar="TOKEN", help="a continuation token or a unique prefix of 8 characters and more")
TIMEOUT = arg("--timeout", type=_seconds, metavar="S", help="stop waiting after S seconds; the session goes on")
UNTIL = arg("--until", choices=("yield", "turn"), default="yield", help="turn: wait for completions from anywhere")
MAX_STEPS = arg("--max-steps", type=_positive, metavar="N", help="at most N steps")
IF_REVISION = arg("--if-revision", type=_revision, metavar="N", help="only if the session is still at revision N")
RESUME = arg("--resume", action="store_true", help="then run on")
CWD = arg("--cwd", metavar="DIR", help="the session's folder; this one without it")
EFFECT = (TIMEOUT, IF_REVISION)
DENY: tuple[Argument, ...] = (TOKEN, arg("reason", metavar="REASON", nargs="?"), RESUME, *EFFECT)

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
        (*AGENT, *PROMPT, arg("--session", metavar="ID"), arg("--title", metavar="T"), CWD, UNTIL, MAX_STEPS, TIMEOUT),
    ),
    Command(
        "session start",
        "session:start",
        "Create a session; no model is called without --step.",
        (
            *AGENT,
            *PROMPT,
            arg("--step", action="store_true", help="and one step"),
            arg("--id", metavar="ID", help="an id of your own"),
            arg("--title", metavar="T"),
            CWD,
            TIMEOUT,
        ),
    ),
    Command("session step", "session:step", "Exactly one step.", (SESSION, *PROMPT, *EFFECT)),
    Command(
        "session resume",
        "driving:resume",
        "Run until it answers or yields.",
        (SESSION, UNTIL, MAX_STEPS, *EFFECT),
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
        "session:pending",
        "The calls that wait for somebody.",
        (arg("session", metavar="ID", nargs="?", help="of this session only"),),
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
    Command("session cancel", "session:cancel", "End the running turn.", (SESSION, *EFFECT)),
    Command(
        "session stop",
        "session:stop",
        "End the session for good.",
        (SESSION, arg("--yes", action="store_true", help="do not ask"), *EFFECT),
    ),
    Command("session list", "session:list_sessions", "All sessions.", ()),
    Command("session show", "session:show", "One session.", (SESSION,)),
    Command("agents list", "agents:list_agents", "The agents found.", ()),
    Command(
        "agents check",
        "agents:check",
        "What is wrong with agent files.",
        (arg("files", metavar="FILE", nargs="+"),),
    ),
    Command(
        "agents explain",
        "agents:explain",
        "What the policy says of a call, and why.",
        (*AGENT, arg("tool", metavar="TOOL"), arg("arguments", metavar="ARGS-JSON", nargs="?")),
    ),
    Command(
        "rpc",
        "rpc:rpc",
        "One request, or with - JSON lines in and JSON lines out.",
        (
            arg("method", metavar="METHOD|-"),
            arg("params", metavar="PARAMS|-", nargs="?", help="a JSON object, - for stdin"),
            arg("--fail", action="store_true", help="with JSON lines: exit 1 if any answer is an error"),
            TIMEOUT,
        ),
    ),
    Command("daemon status", "daemon:status", "What the daemon says of itself; starts none.", ()),
    Command("daemon start", "daemon:start", "Start the shared daemon if there is none.", ()),
    Command(
        "daemon stop",
        "daemon:stop",
        "End the shared daemon; returns when it is gone.",
        (arg("--now", action="store_true", help="do not let running steps finish"),),
    ),
    Command(
        "daemon restart",
        "daemon:restart",
        "Stop and start the shared daemon.",
        (arg("--now", action="store_true", help="do not let running steps finish"),),
    ),
    Command("schema", "schema:schema", "The JSON schema of the protocol.", ()),
)
