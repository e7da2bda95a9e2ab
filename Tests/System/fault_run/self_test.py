# SPDX-License-Identifier: Apache-2.0
"""Tests of the model: it accepts a correct stream, and detects each kind of fault."""

from harness.expect import equal
from harness.runner import test

from .conductor import history_faults
from .model import Life, Model
from .stream import Stream, Target

EPOCH = "e"


class World:
    """A model of some events, and a stream that gets some of them."""

    def __init__(self, target):
        self.model, self.revision, self.happened = Model(), 0, []
        self.stream = Stream("watcher", target)
        self.model.lives = {n: Life(n) for n in (1, 2)}
        self.model.lives[1].ending = "restart"
        self.model.logs[EPOCH].turn(0, "a")
        self.states, self.selected = {}, "a"
        for name in ("a", "b"):
            self.post(name)
        self.stream.begin(1, None)

    def post(self, name, count=None, kind="changed"):
        """Posts; returns the event."""
        self.revision += 1
        before = int(self.states[name]["status"]["text"].split()[-1]) if name in self.states else 0
        count = count or before + (kind == "changed")
        self.states[name] = {"name": name, "selected": name == self.selected, "revision": self.revision,
                             "status": {"text": f"{name} says {count}", "level": "ok"}}
        self.happened.append((self.revision, kind, name, count))
        return self.event(kind, self.states[name])

    def select(self, name):
        """Moves the selection; returns the event."""
        self.selected = name
        self.revision += 1
        for each, state in self.states.items():
            self.states[each] = {**state, "selected": each == name}
        self.states[name]["revision"] = self.revision
        self.happened.append((self.revision, "selected", name, None))
        return self.event("selected", self.states[name])

    def event(self, kind, server=None, **members):
        """An event at the newest revision."""
        members.setdefault("cursor", {"epoch": EPOCH, "revision": self.revision})
        return {"kind": kind, **members, **({"server": server} if server else {})}

    def snapshot(self):
        """A snapshot."""
        if self.stream.target.kind == "all":
            return self.event("snapshot", servers=list(self.states.values()))
        return self.event("snapshot", self.states[self.stream.target.server or self.selected])

    def snapshot_in_pieces(self):
        """A snapshot of all servers, in two events."""
        first, *others = self.snapshot()["servers"]
        return self.event("snapshot", servers=[first], continues=True), self.event("snapshot", servers=others)

    def gap(self, missed):
        """A gap at the stream's cursor."""
        return self.event("gap", missed=missed, cursor={"epoch": EPOCH, "revision": self.stream.cursor[1]})

    def feed(self, *events):
        """Gives events to the stream."""
        for event in events:
            self.stream.feed(event)

    def violations(self):
        """The violations that the stream and the model detect."""
        self.stream.end()
        self.model.add(EPOCH, self.happened, "posts")
        for segment in self.stream.segments:
            self.model.check_segment(segment, "watcher")
        for gap in self.stream.gaps:
            self.model.check_gap(gap, "watcher")
        for step in self.stream.steps:
            self.model.check_step(step, "watcher")
        return self.stream.faults + self.model.violations


def noticed(world, *parts):
    """Checks that a violation with these words is detected."""
    found = world.violations()
    assert any(all(part in text for part in parts) for text in found), f"no violation with {parts} in {found}"


TARGETS = [Target("all", None, True), Target("all"), Target("server", "a", True), Target("server", "a"), Target("selected", None, True),
           Target("selected")]


@test("the model accepts correct streams: changes, updates, moves, a gap and a snapshot, a restart")
def correct():
    for target in TARGETS:
        world = World(target)
        world.feed(world.snapshot())
        for name, kind in (("a", "changed"), ("b", "changed"), ("a", "updated"), ("a", "changed"), ("b", "updated")):
            event = world.post(name, kind=kind)
            if (target.kind == "all" or name == "a") and (kind == "changed" or target.updates):
                world.feed(event)
        moved = world.select("b")
        if target.kind != "server":
            world.feed(moved)
        event = world.post("b")
        if target.kind != "server":
            world.feed(event)
        begin = world.revision
        for _ in range(5000):
            world.post("a")
            world.post("b")
        wanted = {"server": 5000, "all": 10_000, "selected": 5000}[target.kind]
        world.feed(world.gap(wanted), world.snapshot())
        world.stream.begin(2, world.stream.cursor)
        event = world.post(world.selected if target.kind == "selected" else "a")
        world.feed(event)
        assert begin
        equal(world.violations(), [], str(target))


@test("the model accepts a snapshot that is newer than its cursor, and a gap after it")
def newer_snapshot():
    world = World(Target("all"))
    begin = world.revision
    world.post("a")
    world.feed({**world.snapshot(), "cursor": {"epoch": EPOCH, "revision": begin}}, world.post("a"))
    for _ in range(5000):
        world.post("a")
    world.feed(world.gap(5000), world.snapshot())
    equal(world.violations(), [])


@test("the model accepts a snapshot in several events, and one that the end of the connection cut short")
def snapshot_in_pieces():
    world = World(Target("all"))
    first, second = world.snapshot_in_pieces()
    world.feed(first)
    equal(world.stream.cursor, None, "nothing to continue after")
    world.post("b")
    first, second = world.snapshot_in_pieces()
    world.stream.begin(2, world.stream.cursor)
    world.feed(first, second, world.post("a"))
    equal(world.violations(), [])


@test("an event within a snapshot is detected")
def broken_snapshot():
    world = World(Target("all"))
    first, second = world.snapshot_in_pieces()
    world.feed(first, world.post("a"), second)
    noticed(world, "an event within a snapshot")


@test("a missing event is detected, even the only one of its server")
def missing():
    for target in TARGETS:
        world = World(target)
        world.feed(world.snapshot(), world.post("a"))
        world.post("a")
        world.feed(world.post("a"))
        noticed(world, "went from 2 to 4 without [3]")
        world = World(target)
        world.feed(world.snapshot())
        world.post("a")
        world.feed(world.event("alive"))
        noticed(world, "0 events after 2 up to 3, but 1 happened")


@test("a missing update is detected")
def missing_update():
    world = World(Target("server", "a", True))
    world.feed(world.snapshot())
    world.post("a", kind="updated")
    world.feed(world.post("a"))
    noticed(world, "1 events after 2 up to 4, but 2 happened")


@test("an event that comes twice is detected, even after a restart")
def twice():
    for target in TARGETS:
        world = World(target)
        event = world.post("a")
        world.feed(world.snapshot(), event)
        noticed(world, "twice")
        world = World(target)
        world.feed(world.snapshot())
        event = world.post("a")
        world.feed(event)
        world.stream.begin(2, world.stream.cursor)
        world.feed(event)
        noticed(world, "twice")


@test("events out of order, and numbers that go backwards, are detected")
def order():
    world = World(Target("all"))
    world.feed(world.snapshot())
    first, second = world.post("a"), world.post("b")
    world.feed(second, first)
    noticed(world, "out of order")
    world = World(Target("all"))
    world.post("a")
    world.feed(world.snapshot(), world.post("a", 1))
    noticed(world, "a went back from 2 to 1")


@test("a wrong number in a gap is detected: too small, too large, or unknown without a reason")
def wrong_gap():
    for target in TARGETS:
        for missed, words in ((4999, "missed 4999, but 5000 happened"), (5001, "missed 5001, but 5000 happened"),
                              (None, "without a number")):
            world = World(target)
            world.feed(world.snapshot())
            for _ in range(5000):
                world.post("a")
            world.feed(world.gap(missed), world.snapshot())
            noticed(world, words)


@test("the model accepts a gap of unknown length after a crash, which comes again if the connection ended before the snapshot")
def gap_after_crash():
    for target in TARGETS:
        world = World(target)
        world.model.lives[1].ending = "kill"
        world.feed(world.snapshot())
        gap = world.event("gap", cursor={"epoch": "other", "revision": -1})
        snapshot = {**world.snapshot(), "cursor": {"epoch": "other", "revision": world.revision}}
        world.stream.begin(2, world.stream.cursor)
        world.feed(gap)
        world.stream.begin(2, world.stream.cursor)
        world.feed(gap, snapshot)
        equal(world.violations(), [], str(target))


@test("a stream that continues without a gap after a crash is detected, and so is a number in that gap")
def no_gap_after_crash():
    for missed, words in ((0, "a gap after another epoch counts events"), (None, "another epoch without a gap")):
        world = World(Target("server", "a"))
        world.model.lives[1].ending = "kill"
        world.feed(world.snapshot())
        world.stream.begin(2, world.stream.cursor)
        if missed is None:
            world.feed({**world.post("a"), "cursor": {"epoch": "other", "revision": world.revision}})
        else:
            world.feed(world.event("gap", missed=missed, cursor={"epoch": "other", "revision": -1}), world.snapshot())
        noticed(world, words)


@test("a gap without a reason is detected: while the reader keeps up, and after a clean restart")
def needless_gap():
    for target in TARGETS:
        for restarts in (False, True):
            world = World(target)
            world.feed(world.snapshot())
            world.post("a")
            if restarts:
                world.stream.begin(2, world.stream.cursor)
            world.feed(world.gap(1), world.snapshot())
            noticed(world, "a gap without a reason")


@test("another epoch after a clean restart is detected, and so is a snapshot instead of a gap")
def other_epoch():
    world = World(Target("all"))
    world.feed(world.snapshot())
    world.stream.begin(2, world.stream.cursor)
    world.feed(world.event("gap", cursor={"epoch": "other", "revision": -1}), world.snapshot())
    noticed(world, "another epoch after a clean restart")
    world = World(Target("all"))
    world.feed(world.snapshot())
    world.stream.begin(2, world.stream.cursor)
    world.feed(world.snapshot())
    noticed(world, "a snapshot without a gap")


@test("a line of the old server after a switch is detected")
def old_server():
    world = World(Target("selected"))
    world.feed(world.snapshot())
    world.feed(world.select("b"), world.post("a"))
    noticed(world, "a line of another server than the selected one, b")
    world = World(Target("selected"))
    world.feed(world.snapshot())
    event = world.post("a")
    world.feed(world.select("b"), event)
    noticed(world, "out of order")


@test("the text of another server, and an event that was not requested, are detected")
def foreign():
    world = World(Target("server", "a"))
    event = world.post("a")
    event["server"]["status"]["text"] = "b says 2"
    world.feed(event)
    noticed(world, "the text “b says 2” of a")
    world = World(Target("server", "a"))
    world.feed(world.snapshot(), world.post("b"))
    noticed(world, "another server, b")
    world = World(Target("server", "a"))
    world.feed(world.snapshot(), world.post("a", kind="updated"))
    noticed(world, "not asked for")


@test("a lost acknowledged post, and a status that was never posted, are detected")
def lost_post():
    model = Model()
    model.check_numbers({"a": 4}, {"a": 4, "b": 1}, {"a": 4, "b": 1}, "start")
    equal(len(model.violations), 1)
    model.check_numbers({"a": 5}, {"a": 4}, {"a": 4}, "start")
    equal(len(model.violations), 2)


@test("two events of one revision are detected")
def conflict():
    world = World(Target("all"))
    world.model.add(EPOCH, [(1, "changed", "a", 1)], "posts")
    world.model.add(EPOCH, [(1, "changed", "b", 1)], "reference")
    assert any("two events of revision 1" in text for text in world.model.violations)


@test("a history with a change too few or too many, twice, out of order or too old is detected")
def history():
    world = World(Target("all"))
    for _ in range(9):
        world.post("a")
    world.model.add(EPOCH, world.happened, "posts")
    log = world.model.logs[EPOCH]
    good = [("a", "changed", 1, "a says 1", 0), ("b", "changed", 2, "b says 1", 0), ("a", "changed", 11, "a says 10", 8)]
    numbers = {"a": 10, "b": 1}
    equal(history_faults(good, log, 0, 11, numbers), [])
    for wrong, words in ((good[:2], "counts 1 changes of 10"), ([*good[:2], (*good[2][:4], 7)], "counts 9 changes of 10"),
                         ([*good[:2], (*good[2][:4], 9)], "1 changes that never happened"), ([*good, good[2]], "not in order"),
                         ([good[2], good[1], good[0]], "not in order"), ([*good[:2], ("a", "changed", 10, "a says 9", 8)], "the newest entry")):
        found = history_faults(wrong, log, 0, 11, numbers)
        assert any(words in text for text in found), f"no “{words}” in {found}"


@test("the model accepts a history in which a server that came again while all were limited has an entry without a status")
def history_of_another():
    world = World(Target("all"))
    log = world.model.logs[EPOCH]
    world.model.add(EPOCH, [*world.happened, (3, "removed", "a", None), (4, "added", "a", None)], "reference")
    history = [("a", "changed", 1, "a says 1", 0), ("b", "changed", 2, "b says 1", 0), ("a", "changed", 4, None, 0)]
    equal(history_faults(history, log, 0, 4, {"b": 1}), [])
    # Its next post is counted together with that.
    world.model.add(EPOCH, [(5, "changed", "a", 1)], "reference")
    equal(history_faults([*history[:2], ("a", "changed", 5, "a says 2", 1)], log, 0, 5, {"a": 2, "b": 1}), [])
    found = history_faults([*history[:2], ("a", "changed", 5, "a says 2", 3)], log, 0, 5, {"a": 2, "b": 1})
    assert "1 changes that never happened" in found[0], found
