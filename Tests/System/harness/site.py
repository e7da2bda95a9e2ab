# SPDX-License-Identifier: Apache-2.0
"""A real statusd-web in front of a daemon, and its visitors: some polite, some not."""

import contextlib
import http.client
import json
import os
import pathlib
import socket
import subprocess
import time

from .daemon import BINARIES, environment
from .expect import PATIENCE, eventually

PROGRAM = str(BINARIES / "statusd-web")


class UnixConnection(http.client.HTTPConnection):
    """An HTTP connection to a Unix socket, as a proxy makes it."""

    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Site:
    """A statusd-web on an inherited socket, which stays open over a restart, as that of systemd does."""

    def __init__(self, daemon, *arguments, path=None, descriptors=None):
        self.daemon, self.arguments, self.path = daemon, arguments, path
        self.limit = f"ulimit -n {descriptors}; " if descriptors else ""
        self.socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.socket.bind(path or ("127.0.0.1", 0))
        self.socket.listen(256)
        self.port = None if path else self.socket.getsockname()[1]
        self.process = None

    def start(self):
        # The process must know its own number before it begins.
        script = f'{self.limit}exec 3<&{self.socket.fileno()}; LISTEN_FDS=1 LISTEN_FDNAMES=web LISTEN_PID=$$ exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", PROGRAM, *self.arguments], stdin=subprocess.DEVNULL, pass_fds=[self.socket.fileno()],
            env=environment(STATUSD_ADDRESS=f"unix:{self.daemon.socket}"), stderr=subprocess.PIPE, text=True)
        eventually(lambda: self.get("/health")[0] == 200, "a page that follows the daemon")

    def stop(self):
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self.socket.close()

    def number(self, field):
        """A number of /proc/PID/status, such as VmRSS, in KiB."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
        raise KeyError(field)

    def seconds(self):
        """The processor time that it has used."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connection(self):
        return UnixConnection(self.path) if self.path else http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def request(self, method, target, body=None, **fields):
        """The status, the header fields and the body of an answer; underscores in names of fields stand for hyphens."""
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, target, body, {name.replace("_", "-"): value for name, value in fields.items()})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def get(self, target, **fields):
        status, _, body = self.request("GET", target, **fields)
        return status, body

    def json(self, target):
        status, body = self.get(target)
        assert status == 200, f"{target}: {status} {body}"
        return json.loads(body)

    def lines(self, target):
        """An answer of lines of JSON."""
        status, body = self.get(target)
        assert status == 200, f"{target}: {status} {body}"
        return [json.loads(line) for line in body.splitlines()]

    def raw(self, data=b""):
        """A connection on which these bytes were sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        if data:
            connection.sendall(data)
        return connection

    def answer(self, data):
        """What comes back for these bytes, up to the end of the connection or a second of silence."""
        received = b""
        with contextlib.closing(self.raw()) as connection, contextlib.suppress(OSError):
            connection.settimeout(1)
            connection.sendall(data)
            while chunk := connection.recv(65536):
                received += chunk
        return received


class Events:
    """A stream of server-sent events."""

    def __init__(self, site, target="/events", **fields):
        self.connection = site.connection()
        self.connection.request("GET", target, headers={name.replace("_", "-"): value for name, value in fields.items()})
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.status
        self.last = None

    def next(self, *kinds):
        """The next event, or the next one of these kinds; without any, signs of life are left out."""
        while True:
            event, identity = None, None
            while (line := self.answer.readline().decode().rstrip("\n")) or event is None:
                if line.startswith("data: "):
                    event = json.loads(line[6:])
                elif line.startswith("id: "):
                    identity = line[4:]
                assert line, "the stream has ended"
            self.last = identity or self.last
            if event["kind"] in kinds or not kinds and event["kind"] != "alive":
                return event

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def waiting(seconds):
    """Yields until so many seconds have passed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
