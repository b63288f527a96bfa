"""The request that a call of an http tool makes (agent-file.md, HTTP requests)."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from abey.runtime.tools.placeholders import BadArgument, pattern_of, text_of

_BEGINNING = re.compile(r"(https?://)([^/?#]*)(.*)", re.DOTALL | re.IGNORECASE)
_IPV6 = re.compile(r"\[[0-9a-fA-F:.]+\]")
_IN_THE_QUERY = ("GET", "HEAD", "DELETE")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`chosen`: the host, or what stands beside it, is of an argument, so nobody vouches for it. A `body` is JSON."""

    method: str
    url: str
    chosen: bool
    body: bytes | None = None


def request_of(
    definition: Mapping[str, Any], parameters: Mapping[str, Any], arguments: Mapping[str, Any]
) -> HttpRequest:
    """What is sent. Arguments that the URL has no placeholder for go into the query, or into the body of a POST, PUT or
    PATCH; null counts as no value. Raises BadArgument."""
    template, method = definition["url"], definition["method"]
    begin, authority, rest = _parts(template)
    pattern = pattern_of(parameters)
    used = {found[1] for found in pattern.finditer(template)}
    for name in sorted(used):
        if arguments.get(name) is None:
            raise BadArgument(f"the URL has no value for {name}")
    chosen = pattern.search(authority) is not None
    host = pattern.sub(lambda found: _for_a_host(found[1], arguments[found[1]]), authority)
    tail = pattern.sub(lambda found: _encoded(found[1], arguments[found[1]]), rest)
    _check_path(rest, tail)
    url = f"{begin}{host}{tail}".partition("#")[0]
    others = {name: value for name, value in arguments.items() if name not in used and value is not None}
    if method in _IN_THE_QUERY:
        return HttpRequest(method, _with_query(url, others), chosen)
    body = json.dumps(others, ensure_ascii=False).encode("utf-8", "replace") if others else None
    return HttpRequest(method, url, chosen, body)


def url_template_fault(url: str) -> str | None:
    """What is wrong with the URL of a tool, in a line."""
    begin, authority, _rest = _parts(url)
    if not begin or not authority:
        return "the URL of a tool begins with http:// or https:// and a host"
    if "@" in authority:
        return "the URL of a tool has no user and password: they would be kept, and shown"
    if any(sign.isspace() for sign in url):
        return "the URL of a tool holds a blank"
    try:
        urlsplit(f"{begin}{authority}")
    except ValueError:
        return "the host of the URL is none"
    return None


def _parts(template: str) -> tuple[str, str, str]:
    """(scheme, authority, the rest) of a URL; empty where it is none."""
    found = _BEGINNING.fullmatch(template)
    return (found[1], found[2], found[3]) if found else ("", "", "")


def _for_a_host(name: str, value: Any) -> str:
    """A value that becomes a host, or a part of one: nothing in it can end the host."""
    text = text_of(value)
    if _IPV6.fullmatch(text) or (text and all(sign.isalnum() or sign in "-._" for sign in text)):
        return text
    raise BadArgument(f"the argument {name} is no host, nor a part of one")


def _encoded(name: str, value: Any) -> str:
    try:
        return quote(text_of(value), safe="")
    except UnicodeEncodeError:
        raise BadArgument(f"the argument {name} holds half a surrogate pair, which no URL can have") from None


def _check_path(template: str, filled: str) -> None:
    """No argument is a step to another folder of the path."""
    before, after = (re.split("[?#]", text, maxsplit=1)[0].split("/") for text in (template, filled))
    for step in (".", ".."):
        if step in after and step not in before:
            raise BadArgument(f"an argument makes {step} a part of the URL's path")


def _with_query(url: str, others: Mapping[str, Any]) -> str:
    query = urlencode(list(_pairs(others)), errors="replace")
    return f"{url}{'&' if '?' in url else '?'}{query}" if query else url


def _pairs(others: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A list is its name once for each of its elements."""
    for name, value in others.items():
        for one in value if isinstance(value, list) else [value]:
            yield name, text_of(one)
