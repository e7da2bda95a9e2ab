# SPDX-License-Identifier: Apache-2.0
"""A process with some of the watchers, which read, stop reading, leave and come back."""

import dataclasses
import json
import random
import selectors
import socket
import time

from harness.varlink import INTERFACE

from .stream import Stream, Target, number
from .work import Worker


@dataclasses.dataclass
class Reading:
    """The record of one watcher, for the model."""

    name: str
    segments: list
    gaps: list
    steps: list
    faults: list
    events: int
    repeated: int
    is_open: bool
    log: list


class Watcher:
    """One watcher, over all its connections."""

    def __init__(self, name, target, always_reads):
        self.stream, self.target, self.always_reads = Stream(name, target), target, always_reads
        self.socket, self._rest = None, b""
        self.is_paused = False
        self.until = None  # when it reads or comes back
        self.log = [] if always_reads else None  # all events, (revision, kind, server, number)
        self.epoch = None

    def connect(self, path, life, fresh=False):
        """Begins a stream, after the last cursor if there is one."""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(path)
        since = None if fresh else self.stream.cursor
        parameters = self.target.parameters()
        if since:
            parameters["since"] = {"epoch": since[0], "revision": since[1]}
        message = {"method": f"{INTERFACE}.Watch", "parameters": parameters, "more": True}
        self.socket.sendall(json.dumps(message).encode() + b"\0")
        self.socket.setblocking(False)
        self._rest, self.is_paused, self.until = b"", False, None
        self.stream.begin(life, since)

    def leave(self):
        """Closes the connection."""
        if self.socket:
            self.socket.close()
            self.socket = None
        self.stream.end()

    def read(self):
        """Reads the available events; returns whether there may be more."""
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.leave()
            return False
        *lines, self._rest = (self._rest + data).split(b"\0")
        for line in lines:
            reply = json.loads(line)
            if "error" in reply:
                self.stream.faults.append(f"{self.stream.name}: Watch was answered with {reply}")
                return False
            event = reply["parameters"]["event"]
            self.stream.feed(event)
            if self.log is not None:
                self._note(event)
        return True

    def _note(self, event):
        kind, server = event["kind"], event.get("server")
        self.epoch = event["cursor"]["epoch"]
        if kind not in ("snapshot", "gap", "alive"):
            # A selection may show a newer state than that of its time.
            count = None if kind == "selected" or not server else number(server)
            self.log.append((self.epoch, event["cursor"]["revision"], kind, server and server["name"], count))


class Watchers(Worker):
    """Some watchers. `targets`: their names and targets; the first one is the reference if `has_reference`."""

    def __init__(self, pipe, path, targets, seed, has_reference=False):
        super().__init__(pipe)
        self.path, self.random, self.life = path, random.Random(seed), 0
        self.watchers = [Watcher(name, target, has_reference and index == 0) for index, (name, target) in enumerate(targets)]
        self.selector = selectors.DefaultSelector()
        self.is_up = False
        self.next_whim = 0.0
        self.closures = []  # when the daemon closed a connection, and whose

    def up(self, life):
        """Connects all watchers, because the daemon runs."""
        self.life, self.is_up = life, True
        for watcher in self.watchers:
            if watcher.socket is None:
                self._connect(watcher)

    def _connect(self, watcher):
        # Some begin again, without a cursor.
        fresh = not watcher.always_reads and self.random.random() < 0.05
        try:
            watcher.connect(self.path, self.life, fresh)
        except OSError:
            # The daemon has just ended; the next life comes.
            watcher.leave()
            return
        self.selector.register(watcher.socket, selectors.EVENT_READ, watcher)

    def _leave(self, watcher):
        if watcher.socket:
            if not watcher.is_paused:
                self.selector.unregister(watcher.socket)
            watcher.leave()

    def close(self):
        """Closes all connections."""
        self.is_up = False
        for watcher in self.watchers:
            self._leave(watcher)

    def collect(self):
        """Reads the rest after the daemon's end, and reports."""
        self.is_up = False
        for watcher in self.watchers:
            if watcher.socket and (not watcher.is_paused or self.random.random() < 0.5):
                watcher.socket.settimeout(5)
                while watcher.socket and watcher.read():
                    pass
            self._leave_ended(watcher)
        return self.report()

    def _leave_ended(self, watcher):
        for key in [k for k in self.selector.get_map().values() if k.data is watcher]:
            self.selector.unregister(key.fileobj)
        watcher.leave()

    def report(self):
        """The events since the last report."""
        readings = []
        for watcher in self.watchers:
            stream = watcher.stream
            readings.append(Reading(stream.name, stream.segments, stream.gaps, stream.steps, stream.faults, stream.events,
                                    stream.repeated,                                    watcher.socket is not None, watcher.log or []))
            stream.clear()
            stream.events = 0
            if watcher.log is not None:
                watcher.log = []
        closures, self.closures = self.closures, []
        return readings, closures

    def positions(self):
        """Lets all watchers read from now on; returns the name, the target and the cursor of each."""
        self.next_whim = float("inf")
        for watcher in self.watchers:
            if watcher.is_paused:
                self._resume(watcher)
            elif watcher.socket is None:
                self._connect(watcher)
        return [(watcher.stream.name, watcher.target, watcher.stream.cursor) for watcher in self.watchers]

    def step(self):
        """Reads for a short time."""
        if not self.is_up or not self.selector.get_map():
            return 0.05
        for key, _ in self.selector.select(0.02):
            watcher = key.data
            # The reference reads all there is.
            for _ in range(16 if watcher.always_reads else 1):
                if not watcher.read():
                    break
            if watcher.socket is None:
                self.selector.unregister(key.fileobj)
                self.closures.append((time.monotonic(), watcher.stream.name))
        now = time.monotonic()
        if now >= self.next_whim:
            self.next_whim = now + 0.1
            self._follow_whims(now)
        return 0

    def _follow_whims(self, now):
        for watcher in self.watchers:
            if watcher.always_reads:
                continue
            if watcher.until is not None:
                if now < watcher.until:
                    continue
                if watcher.is_paused:
                    self._resume(watcher)
                else:
                    watcher.until = None
                    self._connect(watcher)
            elif watcher.socket and self.random.random() < 0.02:
                self._behave_badly(watcher, now)

    def _behave_badly(self, watcher, now):
        whim = self.random.choice(("pause", "pause", "for ever", "leave", "leave", "leave"))
        time_away = self.random.choice((0, 0.2, 1, 5))
        if whim == "leave":
            self._leave(watcher)
            watcher.until = now + time_away
            return
        self.selector.unregister(watcher.socket)
        watcher.is_paused = True
        watcher.until = float("inf") if whim == "for ever" else now + 1 + time_away

    def _resume(self, watcher):
        watcher.is_paused, watcher.until = False, None
        self.selector.register(watcher.socket, selectors.EVENT_READ, watcher)


def make_targets(count, servers, seed):
    """This number of targets: selected ones, single servers and some of all servers, a third of them with updates."""
    choice = random.Random(seed)
    kinds = ["selected"] * 6 + ["server"] * 11 + ["all"] * 3
    targets = []
    for index in range(count):
        kind = kinds[index % len(kinds)]
        target = Target(kind, choice.choice(servers) if kind == "server" else None, choice.random() < 0.33)
        targets.append((f"watcher {index} ({kind}{' ' + target.server if target.server else ''}"
                        f"{' with updates' if target.updates else ''})", target))
    choice.shuffle(targets)
    return targets
