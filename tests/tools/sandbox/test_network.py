"""What a program in a sandbox can reach: nothing, and with `network` the internet alone."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from support.sandboxes import Cell

from abey.core.conversation import ToolOutcome

TRY = "try:\n {}\n print('done')\nexcept OSError as error:\n print(type(error).__name__)\n"


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A server of this machine that accepts whoever comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def came(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def connecting(server: socket.socket) -> str:
    return f"import socket\nsocket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)\nprint('in')"


async def test_no_server_is_reached(inside: Cell, listening: socket.socket) -> None:
    outcome = await inside.python(connecting(listening))
    assert (outcome.error, came(listening)) == ("tool/failed", False)


async def test_with_the_network_it_is(inside: Cell, listening: socket.socket) -> None:
    outcome = await inside.python(connecting(listening), network=True)
    assert (outcome, came(listening)) == (ToolOutcome("in\n"), True)


async def test_no_port_of_the_machine_is_taken(inside: Cell, listening: socket.socket) -> None:
    """One that is taken already is free where the network is another one."""
    port = listening.getsockname()[1]
    outcome = await inside.python(f"import socket\nsocket.create_server(('127.0.0.1', {port}))\nprint('bound')")
    own = inside.kind == "bubblewrap"
    assert (outcome.error, "bound" in outcome.content) == (None if own else "tool/failed", own)


async def test_no_datagram_gets_out(inside: Cell) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        port = server.getsockname()[1]
        send = "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', %d))"
        await inside.python(send % port)
        await asyncio.sleep(0)
        with pytest.raises(BlockingIOError):
            server.recv(1)


@pytest.mark.parametrize("network", [False, True])
async def test_no_socket_of_another_process_is_reached(inside: Cell, network: bool) -> None:
    """By a path, and by a name in the abstract namespace, which belongs to the network; streams and datagrams."""
    connecting = "import socket\n"
    with ExitStack() as servers:
        for kind in ("STREAM", "DGRAM"):
            for address in (str(inside.work / kind), f"\0abey-{inside.kind}-{kind}"):
                server = servers.enter_context(socket.socket(socket.AF_UNIX, getattr(socket, f"SOCK_{kind}")))
                server.bind(address)
                connecting += TRY.format(f"socket.socket(socket.AF_UNIX, socket.SOCK_{kind}).connect({address!r})")
        assert await inside.python(connecting, network=network) == ToolOutcome("PermissionError\n" * 4)


async def test_no_pair_of_sockets_leads_to_another(inside: Cell) -> None:
    pair = "import socket\na, b = socket.socketpair({0})\na.send(b'x')\nprint(b.recv(1))"
    stream = await inside.python(pair.format("socket.AF_UNIX, socket.SOCK_STREAM"))
    datagrams = await inside.python(pair.format("socket.AF_UNIX, socket.SOCK_DGRAM"))
    assert (stream, datagrams.error, "PermissionError" in datagrams.content) == (
        ToolOutcome("b'x'\n"),
        "tool/failed",
        True,
    )


async def test_no_other_kind_of_network_either(inside: Cell) -> None:
    """Packets of the wire, the host of a virtual machine, the kernel's ciphers."""
    asking = "import socket\n" + "".join(TRY.format(f"socket.socket({one}, socket.SOCK_RAW)") for one in (17, 40, 38))
    assert await inside.python(asking, network=True) == ToolOutcome("PermissionError\n" * 3)
