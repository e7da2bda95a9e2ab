# SPDX-License-Identifier: Apache-2.0
"""A name server that answers as told, and lies on request; it writes messages byte by byte."""

import contextlib
import socket
import struct
import threading
import time

from .expect import eventually

TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33}


def name(text):
    """A name in a message."""
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".") if label) + b"\0"


def data(kind, text):
    """The data of a record, from its text in a master file."""
    words = text.split(" ")
    if kind == "A":
        return socket.inet_pton(socket.AF_INET, text)
    if kind == "AAAA":
        return socket.inet_pton(socket.AF_INET6, text)
    if kind == "TXT":
        parts = [text.encode()[at:at + 255] for at in range(0, len(text), 255)]
        return b"".join(bytes([len(part)]) + part for part in parts)
    if kind == "SOA":
        return name(words[0]) + name(words[1]) + struct.pack("!5I", *map(int, words[2:]))
    numbers, host = words[:-1], words[-1]
    return struct.pack(f"!{len(numbers)}H", *map(int, numbers)) + name(host)


def record(owner, kind, content, lifetime=300):
    """A record; `content` is a text, or bytes for any data."""
    content = content if isinstance(content, bytes) else data(kind, content)
    return name(owner) + struct.pack("!HHIH", TYPES[kind], 1, lifetime, len(content)) + content


class Question:
    """A question, and answers to it."""

    def __init__(self, message):
        self.message, self.id = message, message[:2]
        end = message.index(b"\0", 12) + 1
        self.section = message[12:end + 4]
        labels, at = [], 12
        while message[at]:
            labels.append(message[at + 1:at + 1 + message[at]].decode())
            at += 1 + message[at]
        self.name, self.type = ".".join(labels).lower(), {number: kind for kind, number in TYPES.items()}[struct.unpack("!H", message[end:end + 2])[0]]

    def reply(self, *records, code=0, flags=0x8180, identity=None, section=None):
        """A message with these records, with these flags (an answer of a recursive server)."""
        header = (identity or self.id) + struct.pack("!5H", flags | code, 1, len(records), 0, 0)
        return header + (self.section if section is None else section) + b"".join(records)

    def answer(self, *texts, lifetime=300):
        """A reply with records of the type that was asked for."""
        return self.reply(*(record(self.name, self.type, text, lifetime) for text in texts))


class Names:
    """What a name server saw: its port, and the names asked for over each protocol."""

    def __init__(self):
        self.port, self.udp, self.tcp = 0, [], []


def bound(family, address, port):
    """A socket for datagrams and one for streams, both on a port; None if another program has it for one of them."""
    datagrams, streams = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family)
    streams.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        datagrams.bind((address, port))
        streams.bind((address, datagrams.getsockname()[1]))
    except OSError:
        datagrams.close()
        streams.close()
        return None
    return datagrams, streams


@contextlib.contextmanager
def name_server(answers, address="127.0.0.1", port=0):
    """A name server, by default on a free port. `answers`: for each name a function of the question and "udp" or "tcp", which returns a message, a
    list of messages, or None for silence. Over TCP a number in the list is a pause, and bytes are sent as they are, with their length
    only if it is a single message."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = Names()
    datagrams, streams = eventually(lambda: bound(family, address, port), "a port that is free for both protocols")
    with datagrams, streams:
        server.port = datagrams.getsockname()[1]
        streams.listen(64)

        def find(message, protocol):
            question = Question(message)
            getattr(server, protocol).append(question.name)
            return answers.get(question.name, lambda question, _: question.reply(code=3))(question, protocol)

        def serve_datagrams():
            while True:
                message, peer = datagrams.recvfrom(4096)
                if not message:
                    return
                found = find(message, "udp")
                for part in found if isinstance(found, list) else [found] if found else []:
                    datagrams.sendto(part, peer)

        def serve_stream(connection):
            with connection, contextlib.suppress(OSError):
                length, = struct.unpack("!H", connection.recv(2))
                found = find(connection.recv(length), "tcp")
                if isinstance(found, bytes):
                    connection.sendall(struct.pack("!H", len(found)) + found)
                elif found:
                    for part in found:
                        time.sleep(part) if isinstance(part, (int, float)) else connection.sendall(part)
                else:
                    while connection.recv(4096):
                        pass

        def serve_streams():
            while True:
                try:
                    connection, _ = streams.accept()
                except OSError:
                    return
                threading.Thread(target=serve_stream, args=(connection,), daemon=True).start()

        threads = [threading.Thread(target=serve, daemon=True) for serve in (serve_datagrams, serve_streams)]
        for thread in threads:
            thread.start()
        try:
            yield server
        finally:
            streams.shutdown(socket.SHUT_RDWR)
            with socket.socket(family, socket.SOCK_DGRAM) as end:
                end.sendto(b"", datagrams.getsockname())
            for thread in threads:
                thread.join()
