"""What a person at the terminal is asked about a call whose result only they can know: one that may have run, or one
that only others can run."""

from collections.abc import Callable

from abey_cli.approving import deny
from abey_cli.asking import Asking, Choice, Desk, End, later
from abey_cli.reading import read_text


def _said(kind: str, name: str, question: str) -> Callable[[Desk], End]:
    """An outcome with what the person writes; asks again where that is nothing."""

    def does(desk: Desk) -> End:
        text = desk.ask(question)
        return desk.send({"kind": kind, name: text}, bound=False) if text else "again"

    return does


def _file(desk: Desk) -> End:
    path = desk.ask("the file that holds its result:")
    if not path:
        return "again"
    return desk.send({"kind": "result", "content": read_text(desk.context, path).removesuffix("\n")}, bound=False)


_RESULT = _said("result", "content", "its result, in one line (a file: `abey session complete TOKEN FILE`):")
_FAILED = _said("error", "message", "what went wrong, in one line:")

SETTLING = Asking(
    "uncertain",
    (
        Choice("ran", "r", "it ran: you say what came of it, and the model is told that", _RESULT),
        Choice("again", "a", "runs it again, as it is shown", lambda desk: desk.send({"kind": "rerun"})),
        Choice("failed", "f", "you say what went wrong, and the model is told that", _FAILED),
        later("`abey session complete` or `rerun`"),
    ),
    before="it may have run: ",
)

SUPPLYING = Asking(
    "external",
    (
        Choice("result", "r", "you say what came of it in one line, and the model is told that", _RESULT),
        Choice("file", "f", "a file holds what came of it", _file),
        Choice("error", "e", "you say what went wrong, and the model is told that", _FAILED),
        Choice("deny", "d", "nobody runs it; you are asked why, and the model is told so", deny),
        later("`abey session complete` or `deny`"),
    ),
    before="its result comes from elsewhere: ",
)
