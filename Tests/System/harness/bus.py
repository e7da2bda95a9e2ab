# SPDX-License-Identifier: Apache-2.0
"""A raw client of the system bus that can send a descriptor to any connection."""

import os
import socket
import struct

BUS = "/run/dbus/system_bus_socket"
CALL, SIGNAL = 1, 4
PATH, INTERFACE, MEMBER = (1, "o"), (2, "s"), (3, "s")
DESTINATION, SIGNATURE, DESCRIPTORS = (6, "s"), (8, "g"), (9, "u")


def _padded(data, size):
    return data + bytes(-len(data) % size)


def _message(kind, serial, fields, body=b""):
    """The bytes of a message (D-Bus specification, “Message Protocol”)."""
    header = b""
    for (code, signature), value in fields.items():
        header = _padded(header, 8) + bytes([code, len(signature)]) + signature.encode() + b"\0"
        if signature == "u":
            header = _padded(header, 4) + struct.pack("<I", value)
        elif signature == "g":
            header += bytes([len(value)]) + value.encode() + b"\0"
        else:
            header = _padded(header, 4) + struct.pack("<I", len(value)) + value.encode() + b"\0"
    start = struct.pack("<BBBBIII", ord("l"), kind, 0, 1, len(body), serial, len(header))
    return _padded(start + header, 8) + body


def _receive(bus, size):
    data = b""
    while len(data) < size:
        part = bus.recv(size - len(data))
        assert part, "the bus has closed the connection"
        data += part
    return data


def _receive_message(bus):
    """Reads exactly one message."""
    start = _receive(bus, 16)
    body, _, fields = struct.unpack_from("<III", start, 4)
    return start + _receive(bus, len(_padded(bytes(fields), 8)) + body)


def _reply(bus):
    """The next message that is not a signal."""
    while (message := _receive_message(bus))[1] == SIGNAL:
        pass
    return message


def send_descriptor(destination, descriptor):
    """Sends a descriptor in a signal to a connection of the bus; returns the bytes of the refusal."""
    with socket.socket(socket.AF_UNIX) as bus:
        bus.settimeout(10)
        bus.connect(BUS)
        bus.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        bus.recv(4096)
        bus.sendall(b"NEGOTIATE_UNIX_FD\r\n")
        assert bus.recv(4096).startswith(b"AGREE"), "the bus takes no descriptors"
        bus.sendall(b"BEGIN\r\n")
        name = "org.freedesktop.DBus"
        bus.sendall(_message(CALL, 1, {PATH: "/org/freedesktop/DBus", DESTINATION: name, INTERFACE: name,
                                       MEMBER: "Hello"}))
        _reply(bus)
        fields = {PATH: "/x", INTERFACE: "a.b", MEMBER: "C", DESTINATION: destination, SIGNATURE: "h", DESCRIPTORS: 1}
        socket.send_fds(bus, [_message(SIGNAL, 2, fields, struct.pack("<I", 0))], [descriptor])
        return _reply(bus)
