# SPDX-License-Identifier: Apache-2.0
"""Played hosts, in processes of their own, so that a share of them can be killed at once."""

import contextlib
import json
import pathlib
import resource
import select
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
PATIENCE = 60


def many_descriptors():
    """As many descriptors as are allowed; a broker that is started later has them, too."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Share:
    """A process with some of the hosts."""

    def __init__(self, brokers, count, first=0, size=10, seed=0, prefix="h", wrong=0.1):
        many_descriptors()
        options = {"brokers": brokers, "prefix": prefix, "first": first, "count": count, "size": size, "seed": seed, "wrong": wrong}
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-m", "fleet.player", json.dumps(options)], cwd=HERE, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, bufsize=1)
        self.model = {}

    def send(self, do, **more):
        self.process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self.process.stdin.flush()

    def receive(self, patience=PATIENCE):
        if not select.select([self.process.stdout], [], [], patience)[0]:
            raise RuntimeError(f"played hosts did not answer within {patience} s")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process of played hosts has ended")
        return json.loads(line)

    def order(self, do, **more):
        self.send(do, **more)
        return self.receive()

    def kill(self):
        """kill -9, of hosts that have settled: all of them are lost, with what they said last."""
        self.process.kill()
        self.process.wait()
        for host in self.model.values():
            host["state"] = "lost" if host["state"] == "ready" else host["state"]


class Fleet:
    """All played hosts."""

    def __init__(self, brokers, count, size=10, seed=0, shares=2, prefix="h", wrong=0.1):
        self.brokers, self.size, self.seed, self.prefix, self.wrong = brokers, size, seed, prefix, wrong
        self.shares, self.dead, self._first = [], {}, 0
        for number in range(shares):
            self.add(count * (number + 1) // shares - count * number // shares)

    def add(self, count):
        """One more process with new hosts."""
        share = Share(self.brokers, count, self._first, self.size, self.seed + self._first, self.prefix, self.wrong)
        self._first += count
        self.shares.append(share)
        return share

    def all(self, do, **more):
        """An order to all processes at once, and their answers."""
        for share in self.shares:
            share.send(do, **more)
        return [share.receive() for share in self.shares]

    def settle(self, beat=True, patience=PATIENCE):
        """Waits until nothing is under way; returns the model of all hosts."""
        for share in self.shares:
            share.send("settle", beat=beat)
        for share in self.shares:
            share.model = share.receive(patience)
        return self.model()

    def model(self):
        """What the hosts said last, as of the last `settle`."""
        return {**self.dead, **{name: host for share in self.shares for name, host in share.model.items()}}

    def kill(self, share):
        """kill -9 of a settled share, whose hosts are lost from now on."""
        share.kill()
        self.shares.remove(share)
        self.dead.update(share.model)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for share in self.shares:
            share.process.kill()
            share.process.wait()
            with contextlib.suppress(OSError):
                share.process.stdin.close()
            share.process.stdout.close()


def until(check, what, patience=PATIENCE, pause=0.05):
    """Calls `check` until it returns something true; returns that, and the seconds that it took."""
    began = time.monotonic()
    while True:
        found = check()
        if found:
            return found, time.monotonic() - began
        if time.monotonic() - began > patience:
            raise RuntimeError(f"not within {patience} s: {what}")
        time.sleep(pause)
