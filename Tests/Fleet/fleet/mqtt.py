# SPDX-License-Identifier: Apache-2.0
"""MQTT 3.1.1 as bytes, and a blocking client for tests that say something once."""

import socket
import struct
import time

CONNACK, PUBLISH, PUBACK, SUBACK = 2, 3, 4, 9


def packet(first, body):
    """A packet with its first byte and its length."""
    length, size = bytearray(), len(body)
    while True:
        size, digit = size >> 7, size & 127
        length.append(digit | 128 if size else digit)
        if not size:
            return bytes([first]) + bytes(length) + body


def word(text):
    """A string with its length; bytes are taken as they are."""
    text = text if isinstance(text, bytes) else text.encode()
    return struct.pack("!H", len(text)) + text


def connect(client, will=None, user=None, password=None, keepalive=600):
    """CONNECT with a clean session. `will`: a topic and a payload, retained, QoS 1."""
    flags = 2 | (0x2C if will else 0) | (0x80 if user is not None else 0) | (0x40 if password is not None else 0)
    body = word("MQTT") + bytes([4, flags]) + struct.pack("!H", keepalive) + word(client)
    for part in (*(will or ()), *(text for text in (user, password) if text is not None)):
        body += word(part)
    return packet(0x10, body)


def publish(topic, payload, number=1, retain=True):
    """PUBLISH with QoS 1, or with QoS 0 if `number` is 0."""
    identifier = struct.pack("!H", number) if number else b""
    return packet(0x30 | (2 if number else 0) | (1 if retain else 0), word(topic) + identifier + payload)


def subscribe(topic, number=1, qos=0):
    """SUBSCRIBE to a filter."""
    return packet(0x82, struct.pack("!H", number) + word(topic) + bytes([qos]))


DISCONNECT, PINGREQ = b"\xe0\0", b"\xc0\0"


def packets(buffer):
    """Takes the complete packets off a bytearray; yields the first byte and the body of each."""
    at, end = 0, len(buffer)
    while end - at >= 2:
        size, shift, body = 0, 0, at + 1
        while body < end and shift < 28:
            digit = buffer[body]
            size |= (digit & 127) << shift
            shift += 7
            body += 1
            if digit < 128:
                break
        else:
            break
        if end - body < size:
            break
        yield buffer[at], bytes(buffer[body:body + size])
        at = body + size
    del buffer[:at]


def message(first, body):
    """The topic and the payload of a PUBLISH, and whether it was retained."""
    length = 2 + int.from_bytes(body[:2], "big")
    return body[2:length].decode(errors="replace"), body[length + (2 if first & 6 else 0):], bool(first & 1)


class Client:
    """A blocking connection."""

    def __init__(self, address, client, timeout=15, **options):
        self.socket = socket.create_connection(address, timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer, self._number = bytearray(), 0
        self.messages = []
        self.socket.sendall(connect(client, **options))
        code = self.until(CONNACK)[1]
        if code:
            raise ConnectionRefusedError(f"CONNACK {code}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def read(self):
        """Reads once; returns the packets, and keeps the messages."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionResetError("the broker closed the connection")
        self._buffer += data
        found = list(packets(self._buffer))
        for first, body in found:
            if first >> 4 == PUBLISH:
                self.messages.append(message(first, body))
        return found

    def until(self, kind):
        """Reads up to a packet of this kind; returns its body."""
        while True:
            for first, body in self.read():
                if first >> 4 == kind:
                    return body

    def subscribe(self, topic):
        """Subscribes, and waits for the answer."""
        self.socket.sendall(subscribe(topic))
        return self.until(SUBACK)[2]

    def publish(self, topic, payload, retain=True):
        """Publishes, and waits until the broker has it."""
        self._number = self._number % 65535 + 1
        self.socket.sendall(publish(topic, payload, self._number, retain))
        self.until(PUBACK)

    def silence(self, seconds, patience=5):
        """Reads until nothing has come for this time, but no longer than `patience`; returns the messages."""
        end = time.monotonic() + patience
        self.socket.settimeout(seconds)
        try:
            while time.monotonic() < end:
                self.read()
        except TimeoutError:
            pass
        taken, self.messages = self.messages, []
        return taken

    def stop(self):
        """A clean end: no will."""
        self.socket.sendall(DISCONNECT)
        self.socket.shutdown(socket.SHUT_WR)
        end = time.monotonic() + 5
        while time.monotonic() < end and self.socket.recv(4096):
            pass
        self.socket.close()
