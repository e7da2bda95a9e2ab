# SPDX-License-Identifier: Apache-2.0
"""A process that posts to its own servers, a larger number with each change, and notes the replies."""

import json
import random
import time

from harness.varlink import INTERFACE, Connection

from .work import Worker

BATCH = 32
LEVELS = ("ok", "ok", "ok", "warning", "critical", "unknown")


class Poster(Worker):
    """Posts batches. Commands: ("rate", posts per second; 0: none, None: as fast as possible)."""

    def __init__(self, pipe, path, servers, seed):
        super().__init__(pipe)
        self.path, self.servers, self.random = path, servers, random.Random(seed)
        self.rate, self.connection, self.life = 0, None, 0
        self.last = {}  # the last number of each server that was sent
        self.sure = set()  # servers whose last number was accepted in this life
        self.due = 0.0
        self.forget()

    def forget(self):
        """Begins a new record."""
        # Accepted posts, (time, revision, kind, server, number); posts without a reply; errors.
        self.accepted, self.void, self.errors = [], [], []

    def up(self, life):
        """Notes that the daemon runs."""
        self.life, self.sure = life, set()
        self.connection = Connection(self.path)
        self.due = time.monotonic()

    def command(self, name, *arguments):
        """Carries out a command of the conductor."""
        if name == "rate":
            self.rate, self.due = arguments[0], time.monotonic()
            return None
        if name == "each":
            return self._post_each()
        return super().command(name, *arguments)

    def collect(self):
        """The record of this life."""
        self._leave()
        record = (self.accepted, self.void, dict(self.last), self.errors)
        self.forget()
        return record

    def _leave(self):
        if self.connection:
            self.connection.socket.close()
            self.connection = None

    def step(self):
        """Posts a batch if one is due; returns the seconds until the next one."""
        if self.connection is None or self.rate == 0:
            return 0.05
        if self.rate:
            wait = self.due - time.monotonic()
            if wait > 0:
                return min(wait, 0.05)
            self.due = max(self.due + BATCH / self.rate, time.monotonic() - 0.2)
        self._post(self.random.choices(self.servers, k=BATCH))
        return 0

    def _post_each(self):
        """Posts a change of each server."""
        for first in range(0, len(self.servers), BATCH):
            self._post(self.servers[first:first + BATCH], repeats=0)
        return True

    def _post(self, servers, repeats=0.15):
        calls, sent = bytearray(), []
        for server in servers:
            kind = "changed"
            if server in self.sure and self.random.random() < repeats:
                kind = "updated"
            else:
                self.last[server] = self.last.get(server, 0) + 1
                self.sure.add(server)
            count = self.last[server]
            # The level depends on the number, so that a repeated post repeats it.
            parameters = {"server": server, "text": f"{server} says {count}", "level": LEVELS[count % len(LEVELS)]}
            calls += json.dumps({"method": f"{INTERFACE}.Post", "parameters": parameters}).encode() + b"\0"
            sent.append((kind, server, count))
        answered = 0
        try:
            self.connection.socket.sendall(calls)
            for post in sent:
                reply = self.connection.receive()
                if reply is None:
                    break
                answered += 1
                if "error" in reply:
                    self.errors.append(f"{post} was answered with {reply}")
                    continue
                self.accepted.append((time.monotonic(), reply["parameters"]["revision"], *post))
        except OSError as error:
            if isinstance(error, TimeoutError):
                self.errors.append(f"no reply to a post within 30 s in life {self.life}")
        if answered < len(sent):
            self._leave()
            self.void += [(server, count) for kind, server, count in sent[answered:] if kind == "changed"]
