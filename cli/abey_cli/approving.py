"""What a person at the terminal is asked about a call that waits for an approval."""

from abey_cli.always import choose
from abey_cli.asking import Asking, Choice, Desk, End, later
from abey_cli.editing import edit


def _approve(desk: Desk) -> End:
    return desk.send({"kind": "approve"})


def _always(desk: Desk) -> End:
    rule = choose(desk.context, desk.call)
    return "again" if rule is None else desk.send({"kind": "approve"}, rule=rule)


def _edit(desk: Desk) -> End:
    taken = edit(desk.context, desk.call, lambda edited: desk.send({"kind": "approve", "arguments": edited}))
    return taken or "again"


def deny(desk: Desk) -> End:
    """Refuses it for a reason, if the person writes one: an empty line is none, and refuses as well."""
    reason = desk.ask("why (empty: no reason):")
    return desk.send({"kind": "deny", **({"message": reason} if reason else {})}, bound=False)


APPROVING = Asking(
    "approval",
    (
        Choice("approve", "a", "runs the call as it is shown", _approve),
        Choice("always", "w", "runs it, and lets you choose a rule by which such calls run without asking", _always),
        Choice("edit", "e", "opens its arguments in your editor, and then runs it with those", _edit),
        Choice("deny", "d", "runs nothing; you are asked why, and the model is told so", deny),
        later("`abey session approve` or `deny`"),
    ),
)
