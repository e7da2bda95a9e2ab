# SPDX-License-Identifier: Apache-2.0
"""A visitor of statusd-web who asks for the list, over and over, and measures how long each answer takes.

Run as a program, it asks until there is a line on its standard input, then writes its figures as JSON.
"""

import json
import select
import socket
import subprocess
import sys
import time

REQUEST = b"GET /api/list HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENCE = 10.0
"""The seconds after which a visitor would give up; far more than an answer ever needs."""
PAUSE = 0.002
NEWCOMERS = 5
"""Once in this many requests, a new visitor comes: connects, and asks."""


class GoodVisitor:
    """A separate process, so that the work of the test is not measured."""

    def __init__(self, site):
        self.process = subprocess.Popen([sys.executable, __file__, str(site.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "asking\n", "a good visitor got no answer"

    def finish(self):
        """Ends the measurement; returns the times of requests on one connection, and of newcomers, in milliseconds, each sorted."""
        out, _ = self.process.communicate("enough\n", timeout=4 * PATIENCE)
        figures = json.loads(out)
        assert not figures["failure"], f"a good visitor got no answer: {figures['failure']}"
        assert figures["times"] and figures["newcomers"]
        return sorted(figures["times"]), sorted(figures["newcomers"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in self.process.stdin, self.process.stdout:
            pipe.close()


def ask(connection):
    """Sends a request, and reads the whole answer."""
    connection.sendall(REQUEST)
    received = b""
    while True:
        part = connection.recv(65536)
        assert part, "the connection ended"
        received += part
        head, end, body = received.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
            assert head.startswith(b"HTTP/1.1 200"), head
            return


def main(port):
    def connect():
        return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)

    figures = {"times": [], "newcomers": [], "failure": None}
    try:
        with connect() as usual:
            ask(usual)
            print("asking", flush=True)
            while not select.select([sys.stdin], [], [], PAUSE)[0]:
                began = time.monotonic()
                if (len(figures["times"]) + len(figures["newcomers"])) % NEWCOMERS:
                    ask(usual)
                    figures["times"].append((time.monotonic() - began) * 1000)
                else:
                    with connect() as newcomer:
                        ask(newcomer)
                    figures["newcomers"].append((time.monotonic() - began) * 1000)
    except (AssertionError, OSError) as failure:
        figures["failure"] = repr(failure)
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
