"""The wire forms of the providers: where a request goes, what it says, who reads the answer."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from abey.core.conversation import ModelRequest
from abey.errors import ModelFailed
from abey.protocol.config import HttpModel
from abey.runtime.models.bodies import Assembly
from abey.runtime.models.chat_answer import ChatAnswer
from abey.runtime.models.chat_request import chat_request
from abey.runtime.models.contents import mended
from abey.runtime.models.messages_answer import MessagesAnswer
from abey.runtime.models.messages_request import messages_request
from abey.runtime.models.places import OURS, Place
from abey.runtime.models.responses_answer import ResponsesAnswer
from abey.runtime.models.responses_request import responses_request
from abey.runtime.ports import OnDelta


def origin_of(model: HttpModel, place: Place) -> str:
    """Whose thoughts are sent back: the same form of the same host."""
    return f"{model.provider} {place.host}"


def has_key(headers: Mapping[str, str]) -> bool:
    """Whether a key is sent with them."""
    return any(name in headers for name in ("x-api-key", "api-key", "authorization"))


def headers_of(model: HttpModel, place: Place, key: str | None) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
    if model.provider == "anthropic":
        headers["anthropic-version"] = "2023-06-01"
    if key is not None and model.provider == "anthropic":
        headers["x-api-key"] = key
    elif key is not None and place.host.endswith(".azure.com"):
        headers["api-key"] = key
    elif key is not None:
        headers["authorization"] = f"Bearer {key}"
    return headers


def body_of(model: HttpModel, place: Place, request: ModelRequest) -> bytes:
    """The body for a request whose files are read. A parameter that is null takes away what we would have sent, and of
    two objects the members are put together.

    Raises ModelFailed (`invalid-request`) for what cannot be said.
    """
    body = _body(model, place, request)
    wanted = {name: value for name, value in model.parameters.items() if name not in OURS}
    whole = {"model": model.name, **body, **{name: _over(body.get(name), value) for name, value in wanted.items()}}
    kept = {name: value for name, value in whole.items() if value is not None}
    try:
        return json.dumps(mended(kept), ensure_ascii=False, allow_nan=False).encode("utf-8")
    except ValueError as error:
        raise ModelFailed("invalid-request", f"the request cannot be written as JSON: {error}") from None


def _body(model: HttpModel, place: Place, request: ModelRequest) -> dict[str, Any]:
    origin = origin_of(model, place)
    match model.provider:
        case "openai":
            return chat_request(request, origin, place.host)
        case "openai-responses":
            return responses_request(request, origin, model.name)
        case "anthropic":
            made = messages_request(request, origin)
            return {**made, "max_tokens": made["max_tokens"] + _thinking_budget(model.parameters)}


def assembly_of(model: HttpModel, place: Place) -> Callable[[OnDelta], Assembly]:
    """Who puts an answer together."""
    kinds: dict[str, Callable[[str, OnDelta], Assembly]] = {
        "openai": ChatAnswer,
        "openai-responses": ResponsesAnswer,
        "anthropic": MessagesAnswer,
    }
    return lambda on_delta: kinds[model.provider](origin_of(model, place), on_delta)


def _over(ours: Any, wanted: Any) -> Any:
    return {**ours, **wanted} if isinstance(ours, dict) and isinstance(wanted, dict) else wanted


def _thinking_budget(parameters: dict[str, Any]) -> int:
    """The API wants `max_tokens` to be more than what thinking may take."""
    thinking = parameters.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    return budget if isinstance(budget, int) and budget > 0 else 0
