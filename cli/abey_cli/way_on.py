"""Which command brings a session on from where it stands."""

from typing import Any

ANSWERS = {
    "approval": "`abey session approve {0}` (or `deny`)",
    "question": "`abey session answer {0} VALUE`",
    "external": "`abey session complete {0} FILE`",
    "uncertain": "`abey session rerun {0}`, or `abey session complete {0} FILE` (or `--error MSG`)",
    "running": "`abey session complete {0} FILE`",
}
"""What answers a pending call, by its kind."""
ISOLATION = "isolated runner required"
"""The reason of a call that waits for a sandbox."""


def way_on(session: Any) -> str | None:
    """Words for people; None where nothing is to be done, or somebody does it already."""
    session_id = session["sessionId"]
    if session["activity"] != "idle" or session["state"] == "stopped":
        return None
    if session["state"] == "completed":
        return _of_an_ended_turn(session_id, session.get("turn"))
    calls = [call for call in session["pending"] if call["kind"] in ANSWERS and call["kind"] != "running"]
    if not calls or session.get("paused") is not None:
        return f"{_of_a_child(session)}`abey session resume {session_id}` goes on"
    one = ANSWERS[calls[0]["kind"]].format(calls[0]["token"])
    if _may_be_isolated(calls[0]):
        one = f"{one}, or `abey session run-isolated {session_id}`"
    others = "" if len(calls) == 1 else f", and so for each token that `abey session pending {session_id}` shows"
    return f"next: {one}{others}; then `abey session resume {session_id}` goes on"


def _of_an_ended_turn(session_id: str, turn: Any) -> str | None:
    if turn is None:
        return f"`abey session send {session_id} TEXT` gives it an input"
    answered = turn.get("end", "answered") == "answered"
    return None if answered else f"`abey session continue {session_id}` goes on without another input"


def _may_be_isolated(call: Any) -> bool:
    """Whether the call waits for a sandbox, and its tool can run in one."""
    reason = str(call.get("reason", ""))
    return reason.startswith(ISOLATION) and not reason.startswith(f"{ISOLATION}, ")


def _of_a_child(session: Any) -> str:
    """What comes first where a child waits for somebody; nothing where none does."""
    waits = any(call.get("childId") and " waits for " in call.get("reason", "") for call in session["pending"])
    listed = f"`abey session pending {session['sessionId']}`"
    return f"next: answer what the children wait for, which {listed} shows; then " if waits else ""
