# SPDX-License-Identifier: Apache-2.0
"""Invariant 1: a switch is atomic. playerctl, the nearest relative, prints a wrong line on 20 of 20 switches."""

import contextlib
import itertools
import json
import pathlib
import socket
import subprocess
import sys

from harness.daemon import Daemon, environment
from harness.expect import equal, eventually
from harness.runner import test

SYSTEM = pathlib.Path(__file__).resolve().parent.parent
SERVERS = ("alpha", "bravo")


@contextlib.contextmanager
def posting(daemon):
    """Two processes that post as fast as they can, a server each."""
    command = [sys.executable, str(SYSTEM / "outside" / "poster.py"), daemon.socket]
    posters = [subprocess.Popen([*command, server], env=environment(PYTHONPATH=SYSTEM)) for server in SERVERS]
    try:
        for server in SERVERS:
            eventually(lambda s=server: any(each["name"] == s for each in servers(daemon)), f"a post of {server}")
        yield
        for poster in posters:
            assert poster.poll() is None, f"a poster ended with {poster.returncode}"
    finally:
        for poster in posters:
            poster.terminate()
            poster.wait()


def servers(daemon):
    """All servers as List returns them."""
    with daemon.connect() as connection:
        return connection.call("List")["servers"]


class Checker:
    """Follows a stream of events and checks each against the invariant."""

    def __init__(self):
        self.current, self.revision, self.epoch = None, 0, None
        self.selected = self.changed = 0
        self.after_gap = True

    def is_behind(self, cursor):
        """The stream's contents are at least as new as `cursor`; a gap shows nothing until its snapshot has arrived."""
        return self.revision >= cursor["revision"] and not self.after_gap

    def take(self, event):
        """Checks one event."""
        kind, cursor, server = event["kind"], event["cursor"], event.get("server")
        self.epoch = self.epoch or cursor["epoch"]
        equal(cursor["epoch"], self.epoch, "epoch")
        assert cursor["revision"] >= self.revision, f"went back from {self.revision} to {event}"
        if kind in ("changed", "selected"):
            assert cursor["revision"] > self.revision, f"repeated {event}"
        self.revision = cursor["revision"]
        if kind == "snapshot":
            assert self.after_gap, f"a snapshot without a gap: {event}"
            self.current = server["name"] if server else None
        elif kind == "selected":
            self.current = server["name"] if server else None
            self.selected += 1
        elif kind == "changed":
            self.changed += 1
        self.after_gap = kind == "gap" or (self.after_gap and kind == "alive")
        if server:
            equal(server["name"], self.current, f"server of {event} while following {self.current}")
            assert server["status"]["text"].startswith(server["name"] + " says "), f"torn: {event}"


@test("during a thousand switches between two servers that post at full speed, no line of the old one follows selected", 240)
def thousand_switches():
    with Daemon() as daemon, posting(daemon), daemon.connect() as control, daemon.connect() as connection:
        control.call("Select", {"server": "alpha"})
        events, checker = connection.watch(), Checker()
        checker.take(next(events))
        for server in itertools.islice(itertools.cycle(("bravo", "alpha")), 1000):
            switch = control.call("Select", {"server": server})
            equal(switch["changed"], True, "changed")
            while not checker.is_behind(switch["cursor"]):
                checker.take(next(events))
            equal(checker.current, server, "what the stream follows behind the cursor of the switch")
        assert checker.changed > 1000, f"only {checker.changed} changes seen: the posters did not compete"
        assert checker.selected > 500, f"only {checker.selected} switches seen as such"


@test("each line of statusctl watch is of the selected server, over a hundred switches", 120)
def human_lines():
    with Daemon() as daemon, posting(daemon), daemon.connect() as control:
        control.call("Select", {"server": "alpha"})
        with daemon.follow("watch") as lines:
            lines.until("alpha says ")
            for server in itertools.islice(itertools.cycle(("bravo", "alpha")), 100):
                control.call("Select", {"server": server})
                lines.until(f"{server} says ")
                for line in (lines.next(), lines.next(), lines.next()):
                    assert server in line or not any(each in line for each in SERVERS), f"{line!r} after {server} was selected"
            equal(lines.end(), 0, "exit status after SIGINT")
            equal(lines.errors, [])
    switches, current = 0, "alpha"
    for line in filter(None, lines.seen):
        named = [server for server in SERVERS if server in line]
        assert len(named) <= 1, f"a line of two servers: {line!r}"
        if named and named[0] != current:
            switches, current = switches + 1, named[0]
    equal(switches, 100, "times that the lines went from one server to the other")


@test("statusctl watch --json writes one object per line, and none of the old server after selected", 120)
def json_lines():
    with Daemon() as daemon, posting(daemon), daemon.connect() as control:
        control.call("Select", {"server": "alpha"})
        with daemon.follow("watch", "--json") as lines:
            checker = Checker()
            checker.take(json.loads(lines.next()))
            for server in itertools.islice(itertools.cycle(("bravo", "alpha")), 100):
                switch = control.call("Select", {"server": server})
                while not checker.is_behind(switch["cursor"]):
                    checker.take(json.loads(lines.next()))
                equal(checker.current, server)


@test("a list written while the selection moves shows at most one selected server, and never the old one after the move")
def list_during_switch():
    names = [f"s{number:04}" for number in range(1000)]
    text = "".join(f"  {name}: {{ push: true, description: {'x' * 250} }}\n" for name in names)
    for first, then, shown in ((names[0], names[-1], [names[0]]), (names[-1], names[0], [])):
        with Daemon("servers:\n" + text) as daemon, daemon.connect() as reader, daemon.connect() as other:
            other.call("Select", {"server": first})
            reader.send("List")
            eventually(lambda: reader.socket.recv(1, socket.MSG_PEEK), "the beginning of the list")
            other.call("Select", {"server": then})
            equal([server["name"] for server in reader.receive()["parameters"]["servers"] if server["selected"]], shown)


@test("selecting the selected server again changes nothing, and no stream writes anything")
def same_again():
    with Daemon() as daemon, daemon.connect() as control, daemon.connect() as connection:
        control.call("Post", {"server": "alpha", "text": "alpha says 1"})
        control.call("Select", {"server": "alpha"})
        events = connection.watch()
        equal(next(events)["kind"], "snapshot")
        equal(control.call("Select", {"server": "alpha"})["changed"], False, "changed")
        control.call("Post", {"server": "alpha", "text": "alpha says 2"})
        event = next(events)
        equal((event["kind"], event["server"]["status"]["text"]), ("changed", "alpha says 2"))
