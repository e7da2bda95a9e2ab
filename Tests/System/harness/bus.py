# SPDX-License-Identifier: Apache-2.0
"""A raw client of the system bus that can send any message to any connection."""

import contextlib
import os
import select
import socket
import struct
import time

BUS = "/run/dbus/system_bus_socket"
CALL, SIGNAL = 1, 4
PATH, INTERFACE, MEMBER, DESTINATION, SIGNATURE, DESCRIPTORS = (1, "o"), (2, "s"), (3, "s"), (6, "s"), (8, "g"), (9, "u")


def _padded(data, size):
    return data + bytes(-len(data) % size)


def _message(kind, serial, fields, body=b"", flags=0):
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
    start = struct.pack("<BBBBIII", ord("l"), kind, flags, 1, len(body), serial, len(header))
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


@contextlib.contextmanager
def _client(takes_descriptors=False):
    """A connection that has called Hello."""
    with socket.socket(socket.AF_UNIX) as bus:
        bus.settimeout(10)
        bus.connect(BUS)
        bus.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        bus.recv(4096)
        if takes_descriptors:
            bus.sendall(b"NEGOTIATE_UNIX_FD\r\n")
            assert bus.recv(4096).startswith(b"AGREE"), "the bus takes no descriptors"
        bus.sendall(b"BEGIN\r\n")
        name = "org.freedesktop.DBus"
        bus.sendall(_message(CALL, 1, {PATH: "/org/freedesktop/DBus", DESTINATION: name, INTERFACE: name, MEMBER: "Hello"}))
        _reply(bus)
        yield bus


def send_descriptor(destination, descriptor):
    """Sends a descriptor in a signal to a connection of the bus; returns the bytes of the refusal."""
    with _client(takes_descriptors=True) as bus:
        fields = {PATH: "/x", INTERFACE: "a.b", MEMBER: "C", DESTINATION: destination, SIGNATURE: "h", DESCRIPTORS: 1}
        socket.send_fds(bus, [_message(SIGNAL, 2, fields, struct.pack("<I", 0))], [descriptor])
        return _reply(bus)


def _send_all(message, count):
    """Sends a message so many times, each on its own connection, because the bus closes connections with many pending messages."""
    for _ in range(count):
        with _client() as bus:
            bus.sendall(message)
            # The bus answers after it has accepted the signal.
            bus.sendall(_message(CALL, 3, {PATH: "/org/freedesktop/DBus", DESTINATION: "org.freedesktop.DBus",
                                           INTERFACE: "org.freedesktop.DBus.Peer", MEMBER: "Ping"}))
            _reply(bus)


SIZE = 30 << 20


def fill_queue(destination, megabytes):
    """Sends so many megabytes of signals to a connection that does not read."""
    fields = {PATH: "/x", INTERFACE: "a.b", MEMBER: "C", DESTINATION: destination, SIGNATURE: "ay"}
    _send_all(_message(SIGNAL, 2, fields, struct.pack("<I", SIZE) + bytes(SIZE)), megabytes * 1024 * 1024 // SIZE)


def fill_manager_queue(megabytes, seconds):
    """Sends so many megabytes of calls to the service manager and keeps the connections; while it is busy, the bus refuses other messages to it."""
    fields = {PATH: "/org/freedesktop/systemd1", DESTINATION: "org.freedesktop.systemd1", INTERFACE: "org.freedesktop.systemd1.Manager",
              MEMBER: "GetUnit", SIGNATURE: "s"}
    message = _message(CALL, 2, fields, struct.pack("<I", SIZE) + b"a" * SIZE + b"\0", flags=1)
    with contextlib.ExitStack() as stack:
        for _ in range(megabytes * 1024 * 1024 // SIZE):
            bus = stack.enter_context(_client())
            bus.settimeout(60)
            bus.sendall(message)
        time.sleep(seconds)


def flood_manager(seconds):
    """Sends notifications to the service manager, which handles them first; any user may send them."""
    until = time.monotonic() + seconds
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.connect("/run/systemd/notify")
        while time.monotonic() < until:
            manager.send(b"X=1")


def send_long_paths(destination, count):
    """Sends signals of objects with the longest paths; a receiver has to check each byte."""
    fields = {PATH: "/a" * (SIZE // 2), INTERFACE: "a.b", MEMBER: "C", DESTINATION: destination}
    _send_all(_message(SIGNAL, 2, fields), count)


def load_units(names, seconds):
    """Makes the service manager load missing units repeatedly; for each it signals an addition and a removal."""
    fields = {PATH: "/org/freedesktop/systemd1", DESTINATION: "org.freedesktop.systemd1", INTERFACE: "org.freedesktop.systemd1.Manager",
              MEMBER: "LoadUnit", SIGNATURE: "s"}
    calls = [_message(CALL, serial, fields, struct.pack("<I", len(name)) + name.encode() + b"\0", flags=1 if name != names[-1] else 0)
             for serial, name in enumerate(names, 2)]
    until = time.monotonic() + seconds
    with _client() as bus:
        bus.settimeout(60)
        while time.monotonic() < until:
            bus.sendall(b"".join(calls))
            # Only the last call is answered. Waiting for it keeps the manager's queue from filling.
            _reply(bus)


def _text(text):
    return struct.pack("<I", len(text)) + text.encode() + b"\0"


def keep_asking(connections, calls, seconds):
    """Keeps so many calls to the service manager under way on each of so many connections, whose answers are long: while a thousand of its
    messages wait to be sent, it sends no signals."""
    fields = {PATH: "/org/freedesktop/systemd1/unit/shutdown_2etarget", DESTINATION: "org.freedesktop.systemd1",
              INTERFACE: "org.freedesktop.DBus.Properties", MEMBER: "Get", SIGNATURE: "ss"}
    body = _padded(_text("org.freedesktop.systemd1.Unit"), 4) + _text("ConflictedBy")
    # The bus forwards one reply for each pending serial number.
    messages = [_message(CALL, serial, fields, body) for serial in range(2, calls + 2)]
    with contextlib.ExitStack() as stack:
        buses = [stack.enter_context(_client()) for _ in range(connections)]
        for bus in buses:
            bus.sendall(messages[0])
        # All answers are as long as the first one.
        size = [len(_reply(bus)) for bus in buses][0]
        waiting, taken = select.epoll(), {bus.fileno(): (bus, 0, 0) for bus in buses}
        for bus in buses:
            bus.sendall(b"".join(messages))
            waiting.register(bus, select.EPOLLIN)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for descriptor, _ in waiting.poll(1):
                bus, rest, next_call = taken[descriptor]
                answers, rest = divmod(rest + len(bus.recv(1 << 18)), size)
                bus.sendall(b"".join(messages[(next_call + number) % calls] for number in range(answers)))
                taken[descriptor] = bus, rest, (next_call + answers) % calls
