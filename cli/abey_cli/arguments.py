"""Arguments that several commands take."""

import re

from abey_cli.parsing import Argument, arg, piece


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise _unfit(f"{text} is no number of seconds")
    return value


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise _unfit(f"{text!r} is no whole number above 0")
    return int(text)


def _new_id(text: str) -> str:
    return _name(text, "id")


def _new_slug(text: str) -> str:
    return _name(text, "slug")


def _name(text: str, what: str) -> str:
    if not re.fullmatch(r"[0-9a-z][0-9a-z_-]{0,63}", text):
        raise _unfit(f"{text!r} is no {what}: 1 to 64 of 0-9 a-z _ -, the first no sign")
    return text


def _title(text: str) -> str:
    if len(text) > TITLE_LENGTH:
        raise _unfit(f"it has {len(text)} characters, and a title at most {TITLE_LENGTH}")
    return text


def _revision(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise _unfit(f"{text!r} is no revision")
    return int(text)


def _key(text: str) -> str:
    if not re.fullmatch(r"[ -~]{1,128}", text):
        raise _unfit(f"{text!r} is no key: 1 to 128 printable characters of ASCII")
    return text


def _unfit(reason: str) -> Exception:
    from argparse import ArgumentTypeError  # who gives one has it loaded

    return ArgumentTypeError(reason)


TITLE_LENGTH = 1000
TITLE = arg("title", metavar="TITLE", type=_title)
NEW_SLUG = arg("slug", metavar="SLUG", type=_new_slug, help="its name: 1 to 64 of 0-9 a-z _ -, the first no sign")
NEW_ID = arg("--id", metavar="ID", type=_new_id, help="an id of your own")
AGENT = (
    arg("--agent", metavar="SLUG", help="an agent by its slug"),
    arg("--agent-file", metavar="FILE", help="an agent by its file; naming it trusts it for this session"),
)
PROMPT = (
    piece("text", "-p", "--prompt", metavar="TEXT", help="text of the prompt; all of these are joined in order"),
    piece("file", "-f", "--file", metavar="FILE", help="a text file"),
    piece("shell", "--shell", metavar="CMD", help="what a command prints, run in the session's folder"),
    piece("session", "--session-file", metavar="ID|FILE", help="what was said in another session, or in a file of one"),
    piece("media", "-m", "--media", metavar="[MIME;]PATH", help="a picture or another medium"),
    piece(
        "alias",
        "--alias",
        metavar="NAME",
        help="puts what comes after it, or else before it, into a template: translate, summarize, code-review, explain",
    ),
)
SESSION = arg("session", metavar="ID", help="a session, a unique prefix of its id, or @ for this folder's latest")
TOKEN = arg("token", metavar="TOKEN", help="a continuation token or a unique prefix of 8 characters and more")
TIMEOUT = arg("--timeout", type=_seconds, metavar="S", help="stop waiting after S seconds; the session goes on")
THINKING = arg(
    "--thinking",
    choices=("none", "stdout", "stderr"),
    help="where what the model thinks goes, as it is recorded; none: a terminal does not show it meanwhile, either",
)
UNTIL = arg("--until", choices=("yield", "turn"), default="yield", help="turn: wait for completions from anywhere")
MAX_STEPS = arg("--max-steps", type=_positive, metavar="N", help="at most N steps")
REVISIONS = arg("--revisions", action="store_true", help="say at which revision each thing came, for rewind and fork")
AT = arg("--at", type=_positive, metavar="REV", help="as it was at this revision; as it is now without it")
TO = arg("--to", type=_positive, required=True, metavar="REV", help="one that `abey session show --revisions` names")
IF_REVISION = arg("--if-revision", type=_revision, metavar="N", help="only if the session is still at revision N")
KEY = arg("--idempotency-key", type=_key, metavar="K", help="a repeat under the same key is the same request")
EVENTS = arg("--events", action="store_true", help="tell what happens meanwhile; with --json a line each")
ALWAYS = arg(
    "--always",
    choices=("session", "workspace", "user"),
    help="and such calls from now on, in these sessions; shows the rule first",
)
RESUME = arg("--resume", action="store_true", help="then run on")
CWD = arg("--cwd", metavar="DIR", help="the session's folder; this one without it")
FORMAT = arg("--format", choices=("jsonl", "markdown", "agents-exe"), help="jsonl; an import tells by itself")
EFFECT = (TIMEOUT, IF_REVISION, KEY)
DENY: tuple[Argument, ...] = (TOKEN, arg("reason", metavar="REASON", nargs="?"), RESUME, *EFFECT)
DIFF = (
    arg("subject", metavar="TOKEN|ID", help="the token of a call, or a session"),
    arg("--turn", metavar="TURN", help="only what this turn of the session has changed; @ is the last one"),
)
LIST = (
    arg("query", metavar="QUERY", nargs="?", help="words that all stand in it; the last may be a beginning"),
    arg("--agent", metavar="SLUG", help="only of this agent"),
    arg("--state", metavar="STATE", choices=("userTurn", "llmTurn", "partialUserTurn", "completed", "stopped")),
    arg(
        "--attention",
        metavar="KIND",
        choices=("question", "approval", "external", "uncertain", "error", "none"),
        help="only those whose calls wait for this, or whose last step failed",
    ),
    arg("--archived", action="store_true", help="also those that are put away"),
    arg("--limit", type=_positive, metavar="N", help="at most N sessions, the newest"),
    arg("--trash", action="store_true", help="those that were deleted and can be restored, instead"),
)
