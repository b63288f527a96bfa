"""The way out: proxies and certificates from the environment, without the parts of it that are broken."""

import importlib.util
import ipaddress
import logging
import os
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from abey.shared.escaping import escape_line

log = logging.getLogger(__name__)


class Network:
    """What one daemon's environment says of the network. Each broken part is warned of once, and left out."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._warned: set[str] = set()
        self._context: ssl.SSLContext | None = None

    def proxy(self, url: str) -> str | None:
        """The proxy for `url`, None to go straight. This machine is never asked through one."""
        target = urlsplit(url)
        host = target.hostname or ""
        names = (f"{target.scheme}_proxy", "all_proxy")
        if _is_local(host) or self._excepted(host, target.port):
            return None
        for name in (spelling for lower in names for spelling in (lower, lower.upper())):
            found = self._env.get(name, "").strip()
            if found:
                return self._usable(name, found)
        return None

    def certificates(self) -> ssl.SSLContext:
        """Who is trusted: SSL_CERT_FILE or SSL_CERT_DIR, else the usual authorities. Slow the first time."""
        if self._context is None:
            self._context = self._named_certificates() or ssl.create_default_context(cafile=_bundle())
        return self._context

    def _named_certificates(self) -> ssl.SSLContext | None:
        file, folder = self._env.get("SSL_CERT_FILE"), self._env.get("SSL_CERT_DIR")
        for name, path in (("SSL_CERT_FILE", file), ("SSL_CERT_DIR", folder)):
            if path and not os.path.exists(path):
                self._warn(name, "it does not exist")
        try:
            if file and os.path.exists(file):
                return ssl.create_default_context(cafile=file)
            if folder and os.path.isdir(folder):
                return ssl.create_default_context(capath=folder)
        except (OSError, ssl.SSLError) as error:
            self._warn("SSL_CERT_FILE", type(error).__name__)
        return None

    def _usable(self, name: str, proxy: str) -> str | None:
        address = proxy if "://" in proxy else f"http://{proxy}"
        try:
            parts = urlsplit(address)
            scheme = parts.scheme if parts.hostname and parts.port != 0 else ""
        except ValueError:
            scheme = ""
        if scheme not in ("http", "https", "socks5", "socks5h"):
            self._warn(name, "it is no URL of a proxy")
            return None
        if scheme.startswith("socks") and importlib.util.find_spec("socksio") is None:
            self._warn(name, "SOCKS needs the package socksio")
            return None
        return address

    def _excepted(self, host: str, port: int | None) -> bool:
        entries = f"{self._env.get('no_proxy', '')},{self._env.get('NO_PROXY', '')}".split(",")
        return any(_matches(entry.strip().lower(), host, port) for entry in entries)

    def _warn(self, name: str, reason: str) -> None:
        if name not in self._warned:
            self._warned.add(name)
            log.warning("the variable %s is left out of account: %s", escape_line(name), reason)


def _matches(entry: str, host: str, port: int | None) -> bool:
    """Whether an entry of NO_PROXY means this host: a name, its end, an address, a network, `*`; perhaps a port."""
    if entry in ("", "*"):
        return entry == "*"
    if entry.startswith("["):
        entry, _, tail = entry[1:].partition("]")
        wanted = tail.removeprefix(":")
    elif entry.count(":") == 1:
        entry, _, wanted = entry.partition(":")
    else:
        wanted = ""
    if wanted and wanted != str(port):
        return False
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        name = entry.removeprefix("*").removeprefix(".")
        return bool(name) and (host == name or host.endswith(f".{name}"))


def _is_local(host: str) -> bool:
    return host == "localhost" or host == "::1" or host.startswith("127.")


def _bundle() -> str | None:
    """The authorities that httpx brings along; None for the system's own."""
    try:
        import certifi  # late: only with TLS
    except ImportError:
        return None
    return certifi.where()
