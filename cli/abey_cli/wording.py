"""An error for people: in the words of the command line where the daemon has those of the protocol."""

from abey_cli.failures import Failure

NEXT = {
    "session/unknown": "; `abey session list` has those there are",
    "token/unknown": "; `abey session pending` has those that wait",
    "protocol/unsupported": "; `abey daemon restart` puts one of this build in its place, and sessions stay",
    "agent/invalid": "; `abey agents check FILE` says all that is wrong with it",
}
"""What to do about an error, where a command helps."""

OURS = (
    ("; use agents/send", "; `abey session send ID TEXT` gives it another input"),
    ("; force deletes", "; `--force` deletes"),
)
"""What the daemon says of the protocol, and what it is on the command line."""

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
        message = message.replace(theirs, ours)
    is_taken = failure.kind == "state/invalid" and message == f"session {failure.data.get('sessionId')} exists"
    return message + TAKEN.get(command, "") if is_taken else message


def _next(failure: Failure) -> str:
    """What to do about an error of this kind; where the error names what there is, that is enough."""
    if failure.kind == "agent/unknown" and "found" in failure.data:
        return "; `abey agents new SLUG` writes one"
    if failure.kind == "revision/conflict" and "revision" in failure.data:
        repeat = f"repeat it with --if-revision {failure.data['revision']}"
        return f"; look at it again (`abey session show`), and where it is still meant, {repeat}"
    if failure.kind == "model/auth" and "sessionId" in failure.data:
        cure = f"set {name}" if (name := failure.data.get("missingEnv")) else "mend the key"
        return f"; {cure}, then `abey session resume {failure.data['sessionId']}` goes on"
    return "" if "trashed" in failure.data else NEXT.get(failure.kind or "", "")
