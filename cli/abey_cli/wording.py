"""An error for people: in the words of the command line where the daemon has those of the protocol."""

from abey_cli.failures import Failure

NEXT = {
    "session/unknown": "; `abey session list` has those there are",
    "session/busy": "; `abey session tail -f {id}` shows what it does, and `abey session cancel {id}` ends its turn",
    "session/stopped": "; `abey session fork {id} --at REV` makes another one that goes on from it, and "
    "`abey session show {id} --revisions` says from where",
    "token/unknown": "; `abey session pending` has those that wait",
    "protocol/unsupported": "; `abey daemon restart` puts one of this build in its place, and sessions stay",
    "method-not-found": "; `abey schema` has those there are",
    "agent/invalid": "; `abey agents check FILE` says all that is wrong with it",
}
"""What to do about an error, where a command helps; `id` is that of the session which was asked about."""

OURS = (
    ("; use agents/send", "; `abey session send {id} TEXT` gives it another input"),
    ("; say something with agents/send", "; `abey session send {id} TEXT` says something"),
    ("; agents/cancel ends", "; `abey session cancel {id}` ends"),
    ("adds it by hand, with agents/rules", "adds it by hand, with `abey rules add`"),
    (" waits in this session", " waits in this session; `abey session show {id}` names those that wait"),
    (", or a stopped one go on", ", or a stopped one go on; another --id is another session"),
    ("; force deletes", "; `--force` deletes"),
    ("; say its format", "; `--format` says its format"),
)
"""What the daemon says of the protocol, and what it is on the command line, of the session `id`."""

TAKEN = {
    "session start": "; another --id is another session",
    "session import": "; another --id is another session",
    "session restore": ", and the trash has none of that id",
}
"""What is to be said of an id that a session has."""


def in_words(failure: Failure, command: str) -> str:
    """The error in a line, after the command of these words (`session start`): fact, kind, what to do."""
    kind = f" ({failure.kind})" if failure.kind and failure.code else ""
    return f"{_fact(failure, command)}{kind}{_next(failure)}"


def _fact(failure: Failure, command: str) -> str:
    """What `abey rpc` passes on stays as it is: who uses it speaks the protocol."""
    message = failure.message
    if command.split(" ")[0] == "rpc":
        return message
    for theirs, ours in OURS:
        message = message.replace(theirs, ours.format(id=failure.session_id or "ID"))
    is_taken = failure.kind == "state/invalid" and message == f"session {failure.data.get('sessionId')} exists"
    return message + TAKEN.get(command, "") if is_taken else message


def _next(failure: Failure) -> str:
    """What to do about an error of this kind; where the error names what there is, that is enough."""
    if failure.kind == "session/invalid-seed":
        return "".join(f"; {error}" for error in failure.data.get("errors", [])[1:])
    if failure.kind == "agent/unknown" and "found" in failure.data:
        return "; `abey agents new SLUG` writes one"
    if failure.kind == "revision/conflict" and "revision" in failure.data:
        repeat = f"repeat it with --if-revision {failure.data['revision']}"
        return f"; look at it again (`abey session show`), and where it is still meant, {repeat}"
    if failure.kind == "model/auth" and "sessionId" in failure.data:
        cure = f"set {name}" if (name := failure.data.get("missingEnv")) else "mend the key"
        return f"; {cure}, then `abey session resume {failure.data['sessionId']}` goes on"
    if (failure.kind or "").startswith("model/") and "sessionId" in failure.data:
        return f"; `abey session resume {failure.data['sessionId']}` asks again"
    if "trashed" in failure.data:
        return "" if failure.data["trashed"] else "; `abey session list --trash` has those there are"
    return NEXT.get(failure.kind or "", "").format(id=failure.session_id or "ID")
