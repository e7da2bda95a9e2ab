# SPDX-License-Identifier: Apache-2.0
"""A raw client of the system bus that sends descriptors to whomever it likes."""

import os
import socket
import struct

BUS = "/run/dbus/system_bus_socket"
CALL, SIGNAL = 1, 4
PATH, INTERFACE, MEMBER, DESTINATION, SIGNATURE, DESCRIPTORS = (1, "o"), (2, "s"), (3, "s"), (6, "s"), (8, "g"), (9, "u")


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
        bus.sendall(_message(CALL, 1, {PATH: "/org/freedesktop/DBus", DESTINATION: name, INTERFACE: name, MEMBER: "Hello"}))
        bus.recv(4096)
        fields = {PATH: "/x", INTERFACE: "a.b", MEMBER: "C", DESTINATION: destination, SIGNATURE: "h", DESCRIPTORS: 1}
        socket.send_fds(bus, [_message(SIGNAL, 2, fields, struct.pack("<I", 0))], [descriptor])
        reply = b""
        while b"org.freedesktop.DBus.Error" not in reply:
            reply += bus.recv(4096)
        return reply
