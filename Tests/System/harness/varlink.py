# SPDX-License-Identifier: Apache-2.0
"""A raw Varlink client: messages are JSON objects that end in NUL."""

import json
import socket

INTERFACE = "org.statusd.monitor"


class VarlinkError(Exception):
    """An error reply."""

    def __init__(self, reply):
        super().__init__(f"{reply['error']} {reply.get('parameters')}")
        self.name, self.parameters = reply["error"], reply.get("parameters") or {}


class Connection:
    """One connection; calls wait for their reply unless they are pipelined with `send` and read with `receive`."""

    def __init__(self, path, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)  # before the timeout, so that it waits for a full backlog
        self.socket.settimeout(timeout)
        self._buffer = b""
        self._lines = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, method, parameters=None, **flags):
        """Writes a call; a method without a dot is one of statusd's own."""
        name = method if "." in method else f"{INTERFACE}.{method}"
        message = {"method": name, "parameters": parameters or {}, **flags}
        self.socket.sendall(json.dumps(message).encode() + b"\0")

    def receive(self):
        """The next message; None if the other side closed the connection."""
        while not self._lines:
            data = self.socket.recv(1 << 18)
            if not data:
                return None
            *self._lines, self._buffer = (self._buffer + data).split(b"\0")
            self._lines.reverse()
        return json.loads(self._lines.pop())

    def call(self, method, parameters=None):
        """The reply's parameters; raises VarlinkError for an error reply."""
        self.send(method, parameters)
        reply = self.receive()
        if reply is None:
            raise ConnectionError("closed instead of a reply")
        if "error" in reply:
            raise VarlinkError(reply)
        return reply.get("parameters") or {}

    def more(self, method, parameters=None):
        """The parameters of all replies to a call with `more`, one after another; ends where the daemon ends the stream."""
        self.send(method, parameters, more=True)
        while (reply := self.receive()) is not None:
            if "error" in reply:
                raise VarlinkError(reply)
            yield reply.get("parameters") or {}
            if not reply.get("continues"):
                return

    def watch(self, **parameters):
        """The events of a Watch, one after another."""
        for reply in self.more("Watch", parameters):
            yield reply["event"]
