# SPDX-License-Identifier: Apache-2.0
"""A service manager that only records the messages it gets through sd_notify(3)."""

import array
import os
import re
import selectors
import socket
import threading

from .expect import eventually


class FakeServiceManager:
    """Records each datagram sent to its NOTIFY_SOCKET, in order. Closes any descriptors, as PID 1 does for
    BARRIER=1 once it has handled all earlier messages."""

    def __init__(self, path):
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        os.chmod(path, 0o777)
        self._socket.setblocking(False)
        self._lock = threading.Lock()
        self._messages = []
        self.is_reading = True
        self._has_stopped = threading.Event()
        self._end, self._wake = socket.socketpair()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            while True:
                if any(key.fileobj is self._wake for key, _ in selector.select()):
                    if self._wake.recv(1) == b"x":
                        return
                    selector.register(self._socket, selectors.EVENT_READ)
                elif self.is_reading:
                    self._drain()
                else:
                    selector.unregister(self._socket)
                    self._has_stopped.set()

    def stop_reading(self):
        """Stops reading, like a manager that hangs."""
        self.is_reading = False

    def read_again(self):
        """Reads again, after `stop_reading`."""
        self.is_reading = True
        if self._has_stopped.is_set():
            self._has_stopped.clear()
            self._end.send(b"r")

    def _drain(self):
        with self._lock:
            while True:
                try:
                    data, ancillary, _, _ = self._socket.recvmsg(65536, 4096)
                except BlockingIOError:
                    return list(self._messages)
                # Like systemd, which treats a backslash as an escape.
                self._messages.append([re.sub(r"\\(.)", r"\1", line) for line in data.decode().splitlines()])
                for _, kind, content in ancillary:
                    if kind == socket.SCM_RIGHTS:
                        numbers = array.array("i")
                        numbers.frombytes(content[: len(content) - len(content) % numbers.itemsize])
                        for number in numbers:
                            os.close(number)

    def messages(self):
        """All datagrams so far, each as its list of lines; includes everything sent before this call."""
        return self._drain()

    def lines(self):
        """All lines of all datagrams so far."""
        return [line for message in self.messages() for line in message]

    def status(self):
        """The newest STATUS=, or None."""
        for message in reversed(self.messages()):
            for line in reversed(message):
                if line.startswith("STATUS="):
                    return line[7:]
        return None

    def wait_for(self, line):
        """Waits for a datagram with this line."""
        eventually(lambda: line in self.lines(), f"{line} at the service manager")

    def close(self):
        """Stops listening."""
        self._end.send(b"x")
        self._thread.join()
        for each in (self._socket, self._end, self._wake):
            each.close()
