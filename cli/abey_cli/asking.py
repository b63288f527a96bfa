"""Asks a person at the terminal about the calls that wait, each until there is an answer; none is a default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from abey_cli.calls import show_call, show_outcome
from abey_cli.failures import Failure

if TYPE_CHECKING:
    from abey_cli.context import Context

End = Literal["answered", "later", "again"]
"""What comes of an answer: it was taken, the call is left as it is, or the person is asked again."""
WIDTH = 8
"""Of the column of the words, where they are explained."""


@dataclass(frozen=True, slots=True)
class Desk:
    """A call before a person; `resume`: the session goes on by itself once it is answered."""

    context: Context
    call: Any
    resume: bool

    def send(self, outcome: dict[str, Any], *, rule: Any = None, bound: bool = True) -> End:
        """Answers the call; `bound`: only as it was shown. Raises Failure where the daemon refuses that."""
        result = self.context.request(
            "agents/complete",
            token=self.call["token"],
            outcome=outcome,
            argumentsHash=self.call["argumentsHash"] if bound else None,
            rule=rule,
            resume=self.resume or None,
        )
        if not result["applied"]:
            self.context.console.err(f"already answered: {result['resolution']['text']}")
        elif outcome["kind"] in ("approve", "rerun"):
            show_outcome(self.context, result, self.call["token"])
        return "answered"

    def ask(self, question: str) -> str | None:
        return self.context.console.ask(question)


@dataclass(frozen=True, slots=True)
class Choice:
    """A word that is an answer, and so is its letter; `does` sends what it stands for, or says why not."""

    word: str
    letter: str
    explained: str
    does: Callable[[Desk], End]

    @property
    def shown(self) -> str:
        return self.word.replace(self.letter, f"[{self.letter}]", 1)

    @property
    def explanation(self) -> str:
        return f"  {self.word:<{WIDTH}} {self.explained}"


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked about the pending calls of a kind; the last choice is *later*, and so is the end of input."""

    kind: str
    choices: tuple[Choice, ...]
    before: str = ""
    resume: bool = False

    @property
    def question(self) -> str:
        return f"{self.before}{', '.join(choice.shown for choice in self.choices)}?"

    @property
    def explained(self) -> str:
        lines = [choice.explanation for choice in self.choices]
        return "\n".join([*lines, "A word or the letter in brackets is an answer."])


def later(how: str) -> Choice:
    """Leaves the call as it is, to be answered by the command `how`."""
    return Choice("later", "l", f"leaves it as it is, to be answered with {how}", lambda _: "later")


def call_key(call: Any) -> str:
    """Of what is asked: one call may ask again and again, and what it would do may change."""
    return f"{call['token']} {call['argumentsHash']}"


def unasked(session: Any, asked: set[str], askings: Sequence[Asking]) -> list[tuple[Asking, Any]]:
    """What is to be asked about the session: its pending calls of each kind whose key is not in `asked`."""
    return [
        (asking, call)
        for asking in askings
        for call in session["pending"]
        if call["kind"] == asking.kind and call_key(call) not in asked
    ]


def ask_about(context: Context, asking: Asking, call: Any) -> bool:
    """Whether it was answered. A refusal of the daemon asks again. Raises Failure where no further answer helps."""
    context.console.forget_typed()  # by somebody who has not seen it
    show_call(context, call)
    desk = Desk(context, call, asking.resume)
    while (end := _once(desk, asking)) == "again":
        pass
    return end == "answered"


def _once(desk: Desk, asking: Asking) -> End:
    said = desk.ask(asking.question)
    if said is None:
        return "later"
    for choice in asking.choices:
        if said.lower() in (choice.word, choice.letter):
            return _tried(desk, choice)
    desk.context.console.err(asking.explained)
    return "again"


def _tried(desk: Desk, choice: Choice) -> End:
    try:
        return choice.does(desk)
    except Failure as failure:
        desk.context.console.err(f"abey: {failure.message}")
        if failure.kind in ("daemon/unreachable", "arguments/mismatch"):
            raise
    return "again"
