# SPDX-License-Identifier: Apache-2.0
"""One watcher's stream: the checks that need no other knowledge, and a record of the rest for the model."""

import dataclasses

MOVE = "selected"


@dataclasses.dataclass
class Target:
    """The target of a watcher: "selected", "server" or "all"."""

    kind: str
    server: str = None
    updates: bool = False

    def parameters(self):
        """The parameters of Watch."""
        found = {"updates": True} if self.updates else {}
        if self.kind == "all":
            found["all"] = True
        elif self.kind == "server":
            found["server"] = self.server
        return found


@dataclasses.dataclass
class Segment:
    """Events without a gap between them: how many came after `start` and up to `end`, apart from moves of the selection."""

    target: Target
    epoch: str
    start: int
    end: int
    count: int = 0
    # For a snapshot of all servers: those whose state in it is newer than its cursor, with the revision of that state.
    included: list = dataclasses.field(default_factory=list)
    # The events themselves, unless it is of all servers, which has too many.
    events: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Gap:
    """A gap after `start`, and the snapshot after it. `lives`: that of the last event before it, and that of the gap."""

    target: Target
    epoch: str
    start: int
    end: int
    missed: int
    lives: tuple
    # Whether the stream began with it, behind a cursor; and whether that was of another epoch.
    resumed: bool
    foreign: bool
    since: int
    # The additional events of the snapshot before it, on the same connection (Segment).
    included: list = dataclasses.field(default_factory=list, repr=False)


@dataclasses.dataclass
class Step:
    """A number of a server that did not follow the one before it."""

    server: str
    before: int
    after: int
    lives: tuple
    # Whether it is that of a snapshot or a selection, which may have skipped some.
    snapshot: bool
    # The revisions of both states, and that of the snapshot before.
    revisions: tuple = ()


def number(server):
    """The number in a server's text; None without a status."""
    status = server.get("status")
    if not status:
        return None
    name, _, count = status["text"].partition(" says ")
    return int(count) if name == server["name"] and count.isdigit() else -1


class Stream:
    """Checks the events of one watcher, over all its connections."""

    def __init__(self, name, target):
        self.name, self.target = name, target
        self.cursor = None  # (epoch, revision)
        self.events = 0
        self._numbers = {}  # server: (number, life, revision, kind of event)
        self._snapshot = (None, 0)  # the cursor of the last snapshot
        self._snapshot_is_here = False  # whether it came over this connection
        self._selected = None
        self._segment = self._gap = self._unfinished = None
        self._cursor_life = self._life = 0  # the life of the cursor, and that of the connection
        self._since, self._is_first = None, True
        self.clear()

    def clear(self):
        """Forgets everything that was reported."""
        self.segments, self.gaps, self.steps, self.faults, self.repeated = [], [], [], [], 0

    def begin(self, life, since):
        """A new connection, behind a cursor or from the beginning."""
        self.end()
        self._life = life
        self._since, self._is_first, self._snapshot_is_here = since, True, False
        if since is None:
            self.cursor = None

    def end(self):
        """The end of a connection."""
        if self._segment and self._segment.end > self._segment.start:
            self.segments.append(self._segment)
        self._segment = self._gap = self._unfinished = None

    def _fault(self, text, event):
        server = (event.get("server") or {}).get("name")
        self.faults.append(f"{self.name} in life {self._life}: {text}; event {event['kind']} of {server} at "
                           f"{event['cursor']['revision']}, cursor {self.cursor}")

    def feed(self, event):
        """Takes the next event."""
        kind, cursor = event["kind"], (event["cursor"]["epoch"], event["cursor"]["revision"])
        self.events += 1
        if self._unfinished:
            if kind != "snapshot" or cursor != self._unfinished[0]:
                self._fault("an event within a snapshot", event)
            event = {**event, "servers": self._unfinished[1] + event.get("servers", [])}
            self._unfinished = None
        if event.get("continues"):
            # Until all of a snapshot is here, it is as if nothing came, and the cursor is that before it.
            self._unfinished = cursor, event["servers"]
            return
        if kind == "gap":
            self._take_gap(event, cursor)
        elif kind == "snapshot":
            self._take_snapshot(event, cursor)
        elif self._gap:
            self._fault("an event between a gap and its snapshot", event)
        else:
            self._open(event)
            if kind == "alive":
                if self.cursor and cursor[0] == self.cursor[0] and cursor[1] < self.cursor[1]:
                    self._fault("a keep-alive before the last event", event)
            else:
                self._take_change(event, kind, cursor)
            self.cursor = cursor
            if self._segment:
                self._segment.end = max(self._segment.end, cursor[1])
        self._is_first = False
        self._cursor_life = self._life

    def _open(self, event):
        """Notes that a stream continues after its cursor without a gap."""
        if not self._is_first:
            return
        if self._since is None:
            self._fault("a stream that does not begin with a snapshot", event)
        elif self._since[0] != event["cursor"]["epoch"]:
            self._fault("another epoch without a gap", event)
        else:
            self._segment = Segment(self.target, *self._since, self._since[1])

    def _take_gap(self, event, cursor):
        missed, revision = event.get("missed"), cursor[1]
        if self._gap:
            self._gap.missed = None if None in (missed, self._gap.missed) else self._gap.missed + missed
            return
        since = self._since if self._is_first else self.cursor
        if since is None:
            self._fault("a stream that begins with a gap", event)
        is_foreign = bool(since) and since[0] != cursor[0]
        if since and not is_foreign:
            if revision < since[1]:
                self._fault(f"the gap stands before the cursor {since}", event)
            # It may come later, with the next event that the watcher wants.
            self._segment = self._segment or Segment(self.target, *since, since[1])
            self._segment.end = max(self._segment.end, revision)
        if is_foreign and (revision != -1 or missed is not None):
            self._fault("a gap after another epoch counts events", event)
        resumed = self._is_first
        included = self._segment.included if self._segment and not resumed else []
        self.end()
        lives = (self._cursor_life, self._life)
        self._gap = Gap(self.target, cursor[0], revision, revision, missed, lives, resumed, is_foreign,
                        since[1] if since else -1, included)
        self.cursor = cursor

    def _take_snapshot(self, event, cursor):
        mid = not self._is_first or self._since is not None
        if mid and self.cursor and cursor[0] == self.cursor[0] and cursor[1] < self.cursor[1]:
            self._fault("a snapshot before the last event", event)
        if self._gap:
            self._gap.end = cursor[1]
            self.gaps.append(self._gap)
            self._gap = None
        elif mid:
            if self.target.kind != "selected":
                self._fault("a snapshot without a gap", event)
            # It stands for moves of the selection: nothing else was left out.
            self._open(event)
            if self._segment:
                self._segment.end = cursor[1]
        self.end()
        self._segment = Segment(self.target, *cursor, cursor[1])
        self._snapshot, self._snapshot_is_here = cursor, True
        servers = event.get("servers") if self.target.kind == "all" else [event["server"]] if event.get("server") else []
        if self.target.kind == "all":
            names = {server["name"] for server in servers or []}
            self._numbers = {name: known for name, known in self._numbers.items() if name in names}
        for server in servers or []:
            self._check_name(event, server)
            if self.target.kind == "all" and server["revision"] > cursor[1]:
                self._segment.included.append((server["name"], server["revision"]))
            self._take_number(server, "snapshot")
        self._selected = next((s["name"] for s in servers or [] if s["selected"]), None)
        self.cursor = cursor

    def _take_change(self, event, kind, cursor):
        if self.cursor and cursor[0] == self.cursor[0] and cursor[1] <= self.cursor[1]:
            self._fault("twice, or out of order", event)
        if self.cursor and cursor[0] != self.cursor[0]:
            self._fault("another epoch within a stream", event)
        server = event.get("server")
        if kind == MOVE:
            if self.target.kind == "server":
                self._fault("not asked for", event)
            self._selected = server["name"] if server else None
            if server:
                self._check_name(event, server)
                self._take_number(server, kind)
            return
        if self._segment:
            self._segment.count += 1
            if self.target.kind != "all":
                self._segment.events.append(cursor[1])
        self._check_name(event, server)
        before = self._numbers.get(server["name"])
        if before and before[3] == "snapshot" and cursor[0] == self._snapshot[0] and self._snapshot[1] < cursor[1] <= before[2]:
            # The cursor of a snapshot is that of its beginning. A stream then repeats the newer events in it.
            if self._snapshot_is_here:
                self._fault("it was in the snapshot", event)
            self.repeated += 1
            return
        if kind == "updated" and not self.target.updates:
            self._fault("not asked for", event)
        if self.target.kind == "selected" and (server["name"] != self._selected or not server["selected"]):
            self._fault(f"a line of another server than the selected one, {self._selected}", event)
        if kind in ("added", "removed"):
            self._numbers.pop(server["name"], None)
            return
        self._take_number(server, kind)

    def _check_name(self, event, server):
        if number(server) == -1:
            self._fault(f"the text “{server['status']['text']}” of {server['name']}", event)
        if self.target.kind == "server" and server["name"] != self.target.server:
            self._fault(f"another server, {server['name']}", event)

    def _take_number(self, server, kind):
        name, found = server["name"], number(server)
        before = self._numbers.get(name)
        self._numbers[name] = (found, self._life, server["revision"], kind)
        if before is None or before[0] is None:
            return
        at_once = kind in ("snapshot", MOVE)
        low, high = (0, None) if at_once else (1, 1) if kind == "changed" else (0, 0)
        step = (found if found is not None else -1) - before[0]
        if step < low or high is not None and step > high:
            self.steps.append(Step(name, before[0], before[0] + step, (before[1], self._life), at_once,
                                   (before[2:], server["revision"], self._snapshot[1])))
