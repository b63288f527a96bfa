"""Which hosts an http tool may ask where a model chose the host (security.md, HTTP tools).

The address that was checked is the address that is asked: whoever names a host answers for its names only once.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""(host, port) -> its addresses. Raises OSError."""

Judge = Callable[[Address], str | None]

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_TEREDO = IPv6Network("2001::/32")
_AZURE_WIRE_SERVER = IPv4Address("168.63.129.16")
"""A public address that every machine of that cloud reaches its own host's services at."""

_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""The upper half of an interface id that has an IPv4 address as its lower half."""

_NAME = re.compile("[a-z0-9._-]{1,253}")
_LOCAL_ENDS = ("localhost", ".localhost", ".local", ".internal", ".home.arpa")


class Forbidden(Exception):
    """A host that is not asked; the message says why, in a line for the model."""


def why_not(address: Address) -> str | None:
    """Why an address is none of the public network, in a few words; None where it is one."""
    if isinstance(address, IPv4Address):
        return _why_not_4(address)
    inner = _inside(address)
    if inner is not None:
        return _why_not_4(inner)
    if address.scope_id is not None or address.is_link_local:
        return "link-local"
    if address.is_loopback:
        return "loopback"
    if address.is_multicast:
        return "multicast"
    if address not in _GLOBAL_UNICAST or not address.is_global or address in _TEREDO:
        return "not public"
    return None


async def resolve(host: str, port: int) -> Sequence[str]:
    """As the system has it."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Guard:
    """Finds the addresses of hosts, and forbids those that `judge` has something against."""

    def __init__(self, resolve: Resolve = resolve, judge: Judge = why_not) -> None:
        self._resolve = resolve
        self._judge = judge

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """Those of `host`, an ASCII name or an address without brackets: at least one, and each is allowed. Raises
        Forbidden, OSError."""
        name = host.lower().removesuffix(".")
        known = _literal(name)
        if known is None and not _NAME.fullmatch(name):
            raise Forbidden(f"{host or 'an empty text'} is no name of a host")
        if known is None and name.endswith(_LOCAL_ENDS):
            raise Forbidden(f"{host} is a name of the local network")
        found = [known] if known is not None else list(map(ip_address, await self._resolve(name, port)))
        if not found:
            raise Forbidden(f"{host} has no address")
        for address in found:
            why = self._judge(address)
            if why is not None:
                raise Forbidden(f"{host} is at {address}, which is {why}")
        return found


def _literal(name: str) -> Address | None:
    """The address that `name` spells, also in the old spellings of IPv4 (octal, hexadecimal, fewer parts)."""
    try:
        return ip_address(name)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(name)) if name and not any(map(str.isspace, name)) else None
    except (OSError, ValueError):
        return None


def _inside(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that is asked in the end."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    isatap = (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP
    return IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 or isatap else None


def _why_not_4(address: IPv4Address) -> str | None:
    if address.is_loopback:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    if address.is_unspecified:
        return "unspecified"
    if address.is_multicast:
        return "multicast"
    if address.is_private:
        return "private"
    return "not public" if not address.is_global or address == _AZURE_WIRE_SERVER else None
