"""Records told again in another session: their calls have other tokens, since a token belongs to one session."""

from collections.abc import Callable

from abey.core.ids import derive
from abey.protocol import journal as j

Retoken = Callable[[str], str]


def retold(data: j.RecordData, again: Retoken) -> j.RecordData:
    """The same with the tokens that `again` gives in place of its own."""
    match data:
        case j.CallDecided():
            return data.model_copy(update={"token": again(data.token)})
        case j.Stopped():
            calls = tuple(_cancelled(call, again) for call in data.cancelled_calls)
            return data.model_copy(update={"cancelled_calls": calls})
        case _:
            return data


def renewed(entropy: bytes) -> Retoken:
    """Another token for each, always the same one for the same."""
    return lambda token: derive(entropy, f"token:{token}")[:16].hex()


def _cancelled(call: dict[str, str], again: Retoken) -> dict[str, str]:
    return {name: again(value) if name == "token" else value for name, value in call.items()}
