"""The filter that the kernel asks for each system call of a program in a sandbox, as code of its own little machine.

It refuses, it never allows: what it does not name is decided by what else there is. A call of another architecture, or
of the x32 table, ends the program.
"""

import errno
import struct

from abey.runtime.tools.sandbox.syscalls import MACHINES, NUMBERS, OWN, SHARED, Machine

_LOAD, _AND, _JUMP_EQUAL, _JUMP_LEAST, _JUMP_SET, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Where in the data of a call: its number, its architecture, its arguments (the low halves)."""
_X32 = 0x40000000

_NAMESPACES = 0x7E020000
"""The flags of clone that make a new namespace."""
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET, _KINDS = 1, 5, 0xF
_TERMINAL = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: they type on the terminal of somebody else."""

Code = list[tuple[int, int, int, int]]
"""Instructions: what to do, how far to jump if so and if not, a number."""


def code(machine: str, *, network: bool, shared: bool) -> bytes:
    """For a processor by its name in `uname -m`. With `network` there are internet sockets, and never sockets of unix
    but pairs; `shared`: processes and objects of others are in reach. Raises KeyError for another processor."""
    kind = MACHINES[machine]
    refused = {**NUMBERS, **SHARED} if shared else NUMBERS
    numbers = [number for both in refused.values() if (number := both[kind.place]) is not None]
    families = (_INET, _INET6, _NETLINK) if network else ()
    program: Code = [
        *_only_of(kind),
        *(step for number in numbers for step in _when(number, [_fails(errno.EPERM)])),
        *(step for both in (OWN if shared else {}).values() for step in _when(both[kind.place], _one_of(_FIRST, (0,)))),
        # its flags are in memory, where nobody can look: libc then takes clone
        *_when(kind.clone3, [_fails(errno.ENOSYS)]),
        *_when(kind.clone, [_load(_FIRST), (_JUMP_SET, 0, 1, _NAMESPACES), _fails(errno.EPERM), _allowed()]),
        *_when(kind.socket, _one_of(_FIRST, families)),
        *_when(kind.socketpair, _pairs()),
        *_when(kind.ioctl, _none_of(_SECOND, _TERMINAL)),
        _allowed(),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in program)


def _only_of(kind: Machine) -> Code:
    checked: Code = [
        _load(_ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, kind.architecture),
        (_RETURN, 0, 0, _KILL),
        _load(_NUMBER),
    ]
    return [*checked, (_JUMP_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)] if kind.place == 0 else checked


def _when(number: int, body: Code) -> Code:
    """The body of a call with this number: it returns in any case."""
    return [(_JUMP_EQUAL, 0, len(body), number), *body]


def _one_of(place: int, values: tuple[int, ...]) -> Code:
    tried = [(_JUMP_EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    return [_load(place), *tried, _fails(errno.EACCES), _allowed()]


def _none_of(place: int, values: tuple[int, ...]) -> Code:
    tried = [(_JUMP_EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    return [_load(place), *tried, _allowed(), _fails(errno.EPERM)]


def _pairs() -> Code:
    """Of unix, and connected for good: a pair of datagram sockets can write to any other."""
    return [
        _load(_FIRST),
        (_JUMP_EQUAL, 0, 4, _UNIX),
        _load(_SECOND),
        (_AND, 0, 0, _KINDS),
        (_JUMP_EQUAL, 2, 0, _STREAM),
        (_JUMP_EQUAL, 1, 0, _SEQPACKET),
        _fails(errno.EACCES),
        _allowed(),
    ]


def _load(place: int) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, place)


def _fails(number: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ERRNO | number)


def _allowed() -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ALLOW)
