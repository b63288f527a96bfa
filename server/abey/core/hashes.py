"""What an approval is bound to (security.md, Approval)."""

from functools import lru_cache
from json import JSONDecoder
from math import isinf

from abey.core.call import Call
from abey.core.session import Session
from abey.protocol.base import Json, sha256_hex


def arguments_hash(session: Session, call: Call, arguments: str, preimage: str | None) -> str:
    """The argumentsHash of running `call` with this text on a file of this hash, under the verdict it has. The call is
    decided."""
    if call.verdict is None:
        raise ValueError(f"call {call.call_id} has no verdict yet")
    verdict = call.verdict
    bound = ("abey-1", session.id, verdict.token, call.tool, arguments, session.created.cwd, verdict.policy_hash)
    return _hash_of((*bound, verdict.tool_hash, *(() if preimage is None else (preimage,))))


@lru_cache(maxsize=8)
def _hash_of(bound: tuple[str, ...]) -> str:
    """Asked for where a call is shown, where somebody approves what was shown, and where that runs."""
    return sha256_hex(bound)


def proposed_hash(session: Session, call: Call) -> str:
    return arguments_hash(session, call, call.arguments, call.verdict.preimage if call.verdict else None)


def effective_hash(session: Session, call: Call) -> str:
    return arguments_hash(session, call, call.effective_arguments, call.effective_preimage)


def shown_hash(session: Session, call: Call) -> str:
    """The hash a client is shown: of the effective arguments where the call ran or runs, else of the proposed ones; and
    of the question, where it asks one: of this one, though it asks the same again after an answer."""
    if call.question is not None:
        return sha256_hex([effective_hash(session, call), call.question.wire(), call.answered_at])
    return effective_hash(session, call) if call.state in ("uncertain", "running") else proposed_hash(session, call)


def parse_arguments(text: str) -> Json:
    """The JSON value of an arguments text; an empty one is `{}`. Of members of one name the last counts: what is shown
    is what runs. Raises ValueError where it does not parse."""
    return _parsed(text or "{}", _ARGUMENTS)


def parse_json(text: str) -> Json:
    """The JSON value of a text that others will read. Raises ValueError where it does not parse, and where it would be
    another one to other readers."""
    return _parsed(text, _READ_BY_OTHERS)


def _parsed(text: str, decoder: JSONDecoder) -> Json:
    try:
        return decoder.decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has the same name twice")
    return members


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    """A number that no float holds would come back as Infinity, which nothing can write down."""
    if isinf(float(text)):
        raise ValueError(f"{text} is too large a number")
    return float(text)


_ARGUMENTS = JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_READ_BY_OTHERS = JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)
