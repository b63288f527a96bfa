"""Where a model is asked, and in which variable its key is."""

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from abey.errors import ModelFailed
from abey.protocol.config import HttpModel

DEFAULT_URLS = {
    "openai": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
}
OURS = ("model", "messages", "input", "tools")
"""What no parameter may replace."""

_VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
_PATHS = {"openai": "/chat/completions", "openai-responses": "/responses", "anthropic": "/messages"}


@dataclass(frozen=True, slots=True)
class Place:
    """The URL that is asked, and its host."""

    url: str
    host: str


def place_of(model: HttpModel) -> Place:
    """Raises ModelFailed (`invalid-request`) for a baseUrl that is none."""
    fault = url_fault(model.base_url) if model.base_url is not None else None
    if fault is not None:
        raise ModelFailed("invalid-request", fault)
    base = urlsplit(model.base_url or DEFAULT_URLS[model.provider])
    path, tail = base.path.rstrip("/"), _PATHS[model.provider]
    if model.provider == "anthropic" and not path.endswith(("/v1", tail)):
        path += "/v1"
    if not path.endswith(tail):
        path += tail
    host = (base.hostname or "").lower()
    url = urlunsplit((base.scheme, base.netloc.rpartition("@")[2], path, base.query, ""))
    return Place(url, host)


def url_fault(url: str) -> str | None:
    """What is wrong with a baseUrl, in a line that repeats none of it: there may be a password inside."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    return None if good and not any(sign.isspace() for sign in url) else "baseUrl is no http or https URL with a host"


def without_credentials(url: str) -> str:
    """`url` without the user and password that may stand before its host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if "@" in parts.netloc else url


def variable_of(model: HttpModel) -> str | None:
    """The variable that its key is in: the one that is named, or its provider's where none is, and no `apiKey` at all.

    Only at its provider's own address: a key goes to nobody else unasked.
    """
    if model.api_key is not None:
        return model.api_key.env
    return _VARIABLES[model.provider] if model.base_url is None or _is_own(model) else None


def variable_for(provider: str | None, base_url: str | None, slug: str | None) -> str:
    """A variable for the key of a model that has none yet: the usual one of its provider, or the agent's own."""
    if base_url is None and provider in _VARIABLES:
        return _VARIABLES[provider]
    return "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in f"ABEY_{slug or 'AGENT'}_KEY").upper()


def _is_own(model: HttpModel) -> bool:
    own = urlsplit(DEFAULT_URLS[model.provider])
    try:
        asked = urlsplit(model.base_url or "")
        return (asked.scheme, asked.hostname, asked.port) == (own.scheme, own.hostname, None)
    except ValueError:
        return False
