"""The rules that would answer a call like this one from now on: the narrowest that there are, for each scope
(machine.md, Remembered rules)."""

import re
from collections.abc import Iterable, Iterator

from abey.core.agent import Tool
from abey.core.remembering import rule_name
from abey.protocol.base import Json, canonical_json
from abey.protocol.policy import Rule, RunSync, Scope
from abey.protocol.transcript import Pending

MOST_BYTES = 2048
"""Of the arguments: a rule about more than that nobody reads, and it would stand in every list."""
RULE_BYTES = 8 * MOST_BYTES
"""More than a rule takes in JSON beside its texts: its match has the arguments twice, spelled in one way or another."""
LETTER_BYTES = 12
"""What a character takes at most, as two halves that are escaped."""
SCOPES: tuple[Scope, ...] = ("session", "workspace", "user")

_BARE = r"[A-Za-z0-9_./:=@%+,-]"
_WORD = rf"(?:{_BARE}|'(?:{_BARE}| )*'|\"(?:{_BARE}| )*\")+"
_PLAIN = re.compile(rf"(?!{_BARE}*=){_WORD}(?: {_WORD})*")
"""Words that no shell makes anything else of, and no variable before them. Less than what is one plain command."""

_PROGRAM = re.compile(r"[./]*[A-Za-z0-9_][A-Za-z0-9_./+-]*")
_STARTERS = """
. alias ash at bash batch bind builtin busybox bwrap caffeinate case cgexec chpst chroot chrt command compgen complete
coproc csh dash dbus-run-session do doas done elif else enable end env esac eval exec fakeroot faketime fc fi find
firejail fish flock for foreach function gdb hash if in ionice ksh ltrace mapfile mksh nice nocorrect noglob nohup
nsenter numactl parallel pkexec prlimit proot pwsh rbash readarray repeat rlwrap runcon runuser script select setarch
setpriv setsid sg sh source ssh stdbuf strace su sudo systemd-run taskset tcsh then time timeout toybox trap unbuffer
unshare until valgrind watch while xargs zsh
"""
STARTERS = frozenset(_STARTERS.split())
"""What starts another program, or is no program: of its words nobody can tell what will run."""
LOOKING = frozenset({("ls",), ("pwd",)} | {("git", word) for word in ("describe", "ls-files", "status")})
"""The beginnings of commands that only look at what is there, whatever follows them. `git log` is none: it writes what
its format says to the file that its `--output` names, and so do all that show changes."""

Match = dict[str, Json]

_RUN = RunSync()


def suggestions(call: Pending, tool: Tool, workspace: str) -> tuple[Rule, ...]:
    """For each scope the rule about exactly this call, then about its like, where that is safe: as they would be
    remembered. None for a call that waits for something else than an approval."""
    arguments = call.arguments
    if call.kind != "approval" or not isinstance(arguments, dict) or len(canonical_json(arguments)) > MOST_BYTES:
        return ()
    return tuple(_rule(call, match, scope, workspace) for match in _matches(tool, arguments) for scope in SCOPES)


def most_bytes(rules: Iterable[Rule]) -> int:
    """What rules that were suggested take in JSON at most: to know that they are few costs less than to write them
    down."""
    letters = [len(rule.tool + rule.origin + rule.created_at + (rule.workspace or "")) for rule in rules]
    return RULE_BYTES * len(letters) + LETTER_BYTES * sum(letters)


def _rule(call: Pending, match: Match, scope: Scope, workspace: str) -> Rule:
    about = workspace if scope == "workspace" else None
    owner = call.session_id if scope == "session" else None
    return Rule(
        rule_id=rule_name(call.tool, match, _RUN, scope, about, owner),
        tool=call.tool,
        match=match,
        disposition=_RUN,
        scope=scope,
        workspace=about,
        origin=f"{call.call_id} of session {call.session_id}",
        created_at=call.created_at,
        uses=0,
    )


def _matches(tool: Tool, arguments: dict[str, Json]) -> Iterator[Match]:
    """What the arguments have to be: narrowest first. Of a shell-like tool nothing but one plain command."""
    if tool.command is None:
        if set(arguments) != {"glob"}:  # that would be read as a glob itself
            yield {"": arguments}
        return
    command = arguments.get(tool.command)
    if not isinstance(command, str) or not is_plainly_one(command):
        return
    pointer = f"/{tool.command.replace('~', '~0').replace('/', '~1')}"
    alone = set(arguments) == set(tool.parameters.get("properties", ())) == {tool.command}
    yield {pointer: command} if alone else {"": arguments, pointer: command}
    beginning = _beginning(command) if alone else None
    if beginning is not None:
        yield {pointer: {"glob": f"{beginning}*"}}


def is_plainly_one(command: str) -> bool:
    """Whether the text is one plain command beyond doubt: neither another one in it, nor one that it starts."""
    if _PLAIN.fullmatch(command) is None:
        return False
    first, *others = command.split(" ")
    if _PROGRAM.fullmatch(first) is None or first.rpartition("/")[2] in STARTERS:
        return False
    return first.rpartition("/")[2] != "git" or not others or not others[0].startswith("-")


def _beginning(command: str) -> str | None:
    """The first words, where whatever follows them only looks."""
    words = tuple(command.split(" "))
    return next((" ".join(words[:size]) for size in (1, 2) if words[:size] in LOOKING), None)
