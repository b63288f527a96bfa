"""Brings loopback up in a network namespace, as `ip link set lo up` does where there is an `ip`."""

import fcntl
import socket
import struct

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    name = b"lo".ljust(16, b"\0")
    flags = struct.unpack("16sh", fcntl.ioctl(any_socket, SIOCGIFFLAGS, name + bytes(2))[:18])[1]
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, name + struct.pack("h", flags | IFF_UP))
