"""Which hosts a model may have an http tool ask: every spelling of what is not public is refused."""

from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from abey.runtime.tools.http.guard import Forbidden, Guard, why_not

NOT_PUBLIC = [
    "127.0.0.1",
    "127.1.2.3",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0x7f.1",
    "0177.0.0.1",
    "0177.1",
    "017700000001",
    "0",
    "0.0.0.0",
    "00.00.00.00",
    "0.0.0.8",
    "10.0.0.1",
    "10.1",
    "012.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.257",
    "3232235521",
    "169.254.169.254",
    "0xa9fea9fe",
    "2852039166",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "203.0.113.1",
    "224.0.0.1",
    "224.0.1.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "0:0:0:0:0:0:0:1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:c0a8:1::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2606:4700::5efe:7f00:1",
    "2606:4700::200:5efe:10.0.0.1",
    "100::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1%eth0",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "printer.local",
    "metadata.google.internal",
    "router.home.arpa",
    "",
    ".",
]
PUBLIC = ["93.184.216.34", "8.8.8.8", "134744072", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]


async def public(_host: str, _port: int) -> Sequence[str]:
    return ["93.184.216.34"]


@pytest.mark.parametrize("host", NOT_PUBLIC)
async def test_a_host_that_is_not_public_is_forbidden_however_it_is_spelled(host: str) -> None:
    with pytest.raises(Forbidden):
        await Guard(public).addresses(host, 80)


@pytest.mark.parametrize("host", PUBLIC)
async def test_a_public_address_is_allowed(host: str) -> None:
    assert len(await Guard(public).addresses(host, 80)) == 1


@pytest.mark.parametrize("address", [host for host in NOT_PUBLIC if ":" in host or host.count(".") == 3])
async def test_a_name_that_resolves_to_such_an_address_is_forbidden(address: str) -> None:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return ["93.184.216.34", address.removesuffix(".")]

    with pytest.raises((Forbidden, ValueError)):
        await Guard(resolve).addresses("rebound.example", 80)


async def test_a_name_without_an_address_is_forbidden() -> None:
    async def nothing(_host: str, _port: int) -> Sequence[str]:
        return []

    with pytest.raises(Forbidden):
        await Guard(nothing).addresses("nowhere.example", 80)


async def test_a_name_is_resolved_once_without_its_last_dot() -> None:
    asked: list[tuple[str, int]] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append((host, port))
        return ["93.184.216.34", "2606:4700:4700::1111"]

    found = await Guard(resolve).addresses("Public.Example.", 8080)
    assert (asked, found) == (
        [("public.example", 8080)],
        [ip_address("93.184.216.34"), ip_address("2606:4700:4700::1111")],
    )


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1", "loopback"),
        ("169.254.169.254", "link-local"),
        ("10.0.0.1", "private"),
        ("100.64.0.1", "not public"),
        ("224.0.0.1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("::ffff:127.0.0.1", "loopback"),
        ("fd00::1", "not public"),
        ("1.1.1.1", None),
    ],
)
def test_the_reason_names_the_kind_of_address(address: str, why: str | None) -> None:
    assert why_not(ip_address(address)) == why
