"""One POST over httpx: a reply in chunks, and failures in our own words. Beside `tools/http/client.py` no other module
knows httpx."""

import asyncio
import logging
import os
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from abey.errors import ModelFailed
from abey.runtime.models.network import Network

CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Post:
    """What is sent. Nothing of it is ever part of an error or of a log line."""

    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def where(self) -> str:
        """The host and port, for people."""
        parts = urlsplit(self.url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{host}:{parts.port}" if parts.port else f"{host}"


@dataclass(frozen=True, slots=True)
class Reply:
    """`headers` have lower-case names; `chunks` ends with the body."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncGenerator[bytes, None]


@asynccontextmanager
async def posted(post: Post, network: Network) -> AsyncIterator[Reply]:
    """The reply to `post`; when this is left, however, the connection is closed.

    Redirects are not followed: they would take the key elsewhere. Raises ModelFailed, also while the chunks are read.
    """
    httpx = await asyncio.to_thread(library)
    context: ssl.SSLContext | bool = False
    if post.url.startswith("https:"):
        context = await asyncio.to_thread(network.certificates)
    with _translated(httpx, post.where):
        client = httpx.AsyncClient(
            verify=context,
            proxy=network.proxy(post.url),
            trust_env=False,
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
        )
        async with client, client.stream("POST", post.url, headers=post.headers, content=post.body) as response:
            yield Reply(response.status_code, response.headers, _chunks(httpx, post.where, response))


async def _chunks(httpx: Any, where: str, response: Any) -> AsyncGenerator[bytes, None]:
    with _translated(httpx, where):
        async for chunk in response.aiter_bytes():
            yield chunk


@contextmanager
def _translated(httpx: Any, where: str) -> Iterator[None]:
    """The library's exceptions as ours."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise ModelFailed("timeout", f"no connection to {where} in time") from error
    except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise ModelFailed("invalid-request", "baseUrl is no URL that can be asked") from error
    except httpx.ConnectError as error:
        raise ModelFailed("transient", f"cannot connect to {where}: {reason(error)}") from error
    except httpx.TransportError as error:
        raise ModelFailed("transient", f"the connection to {where} broke: {reason(error)}") from error
    except httpx.DecodingError as error:
        raise ModelFailed("transient", f"the answer of {where} cannot be decompressed") from error


def library() -> Any:
    """httpx, imported at the first call: it takes a while. What it logs holds URLs and headers."""
    # httpx does without its command line where that cannot be imported; with it come click, rich and pygments
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # as the import system has it
    import httpx

    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return httpx


_OTHERWISE = {
    "RemoteProtocolError": "it was closed before a whole HTTP answer came, or what came is no HTTP",
    "LocalProtocolError": "HTTP does not allow the request",
    "ReadError": "nothing more can be read from it",
    "WriteError": "nothing more can be written to it",
    "ProxyError": "the proxy does not let it through",
    "ConnectError": "the system gives no reason, or it has no such name",
}
"""What the library's exceptions mean where the system says nothing; their own words may hold the URL."""


def reason(error: BaseException) -> str:
    """What the system says of it; not the library, whose words may hold the URL."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted ({seen.verify_message})"
        if isinstance(seen, OSError) and seen.errno:
            return os.strerror(seen.errno) if seen.errno > 0 else str(seen.strerror)
        seen = seen.__cause__ or seen.__context__
    return _OTHERWISE.get(type(error).__name__, "the system gives no reason")
