"""One request of an http tool over httpx: to the very addresses that were found, and failures in our own words."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from abey.runtime.models.http import CONNECT_SECONDS, library, reason
from abey.runtime.models.network import Network
from abey.runtime.tools.http.guard import Address
from abey.runtime.tools.http.request import HttpRequest

REDIRECTS = (301, 302, 303, 307, 308)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HEADERS = {"accept": "*/*", "accept-encoding": "gzip", "user-agent": "abey"}


class CannotAsk(Exception):
    """No answer came, or no whole one; the message says why, in a line for the model."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What answers for a URL. `host` is ASCII, without brackets."""

    scheme: str
    host: str
    port: int

    def vouches_for(self, other: "Origin") -> bool:
        """Whether a redirect from here to `other` asks nobody else: the same host at the same port, or both at the
        usual ones."""
        usual = all(one.port == _DEFAULT_PORTS[one.scheme] for one in (self, other))
        return self.host == other.host and (self.port == other.port or usual)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class HttpReply:
    """`headers` have lower-case names; `chunks` are as they were sent, perhaps compressed."""

    status: int
    headers: Any
    chunks: AsyncIterator[bytes]


async def origin_of(request: HttpRequest) -> Origin:
    """Raises CannotAsk for what is no http or https URL."""
    httpx = await asyncio.to_thread(library)
    url = _parsed(httpx, request.url)
    host = url.raw_host.decode("ascii").strip("[]")
    return Origin(url.scheme, host.lower(), url.port or _DEFAULT_PORTS[url.scheme])


async def redirected(request: HttpRequest, status: int, location: str) -> HttpRequest:
    """What a redirect asks for; a user and password in it are left out. Raises CannotAsk."""
    httpx = await asyncio.to_thread(library)
    try:
        url = httpx.URL(request.url).join(location).copy_with(userinfo=b"", fragment=None)
    except (httpx.InvalidURL, ValueError) as error:
        raise CannotAsk("it redirects to what is no URL") from error
    changes = status == 303 or (status in (301, 302) and request.method == "POST")
    if changes and request.method != "HEAD":
        return replace(request, url=str(url), method="GET", body=None)
    return replace(request, url=str(url))


@asynccontextmanager
async def asked(
    request: HttpRequest, network: Network, addresses: Sequence[Address] | None
) -> AsyncIterator[HttpReply]:
    """The reply to `request`, redirects included; when this is left, however, the connection is closed.

    With `addresses` no other is asked, the first of them that takes a connection, and no proxy. Raises CannotAsk, also
    while the chunks are read.
    """
    httpx = await asyncio.to_thread(library)
    context: ssl.SSLContext | bool = False
    if request.url.lower().startswith("https:"):
        context = await asyncio.to_thread(network.certificates)
    where = str(await origin_of(request))
    client = httpx.AsyncClient(
        verify=context,
        proxy=network.proxy(request.url) if addresses is None else None,
        trust_env=False,
        timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
    )
    with _translated(httpx, where):
        async with client:
            response = await _sent(httpx, client, request, addresses)
            try:
                yield HttpReply(response.status_code, response.headers, _chunks(httpx, where, response))
            finally:
                await response.aclose()


async def _sent(httpx: Any, client: Any, request: HttpRequest, addresses: Sequence[Address] | None) -> Any:
    """The response of the first address that takes a connection."""
    for address in addresses[:-1] if addresses else ():
        try:
            return await client.send(_request(client, request, address), stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            continue
    return await client.send(_request(client, request, addresses[-1] if addresses else None), stream=True)


def _request(client: Any, request: HttpRequest, address: Address | None) -> Any:
    """With `address` the request goes there, and the name is only said: in the header, and to TLS."""
    headers = dict(_HEADERS)
    if request.body is not None:
        headers["content-type"] = "application/json"
    made = client.build_request(request.method, request.url, headers=headers, content=request.body)
    if address is not None:
        host = made.url.raw_host.decode("ascii").strip("[]").removesuffix(".")
        made.extensions = {**made.extensions, "sni_hostname": host}
        made.url = made.url.copy_with(host=str(address))
    return made


def _parsed(httpx: Any, text: str) -> Any:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError) as error:
        raise CannotAsk("the URL that the arguments make is none") from error
    if url.scheme not in _DEFAULT_PORTS or not url.raw_host:
        raise CannotAsk(f"only http and https URLs with a host are asked, not {url.scheme or 'one without a scheme'}")
    if url.port is not None and not 0 < url.port < 1 << 16:
        raise CannotAsk(f"there is no port {url.port}")
    return url


async def _chunks(httpx: Any, where: str, response: Any) -> AsyncIterator[bytes]:
    with _translated(httpx, where):
        async for chunk in response.aiter_raw():
            yield chunk


@contextmanager
def _translated(httpx: Any, where: str) -> Iterator[None]:
    """The library's exceptions as ours."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise CannotAsk(f"no connection to {where} in time") from error
    except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise CannotAsk("the URL that the arguments make is none") from error
    except httpx.ConnectError as error:
        raise CannotAsk(f"cannot connect to {where}: {reason(error)}") from error
    except httpx.TransportError as error:
        raise CannotAsk(f"the connection to {where} broke: {reason(error)}") from error
