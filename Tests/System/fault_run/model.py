# SPDX-License-Identifier: Apache-2.0
"""The events that must have happened, by all replies and a reader of all events, and the comparison with streams."""

import array
import bisect
import collections

CAPACITY = 4096
"""The events that a reader may fall behind."""


class Revisions:
    """Sorted revisions."""

    def __init__(self):
        self._all = array.array("q")

    def add(self, revision):
        """Adds a revision; returns whether it is new."""
        if not self._all or revision > self._all[-1]:
            self._all.append(revision)
            return True
        place = bisect.bisect_left(self._all, revision)
        if self._all[place] == revision:
            return False
        self._all.insert(place, revision)
        return True

    def count(self, after, up_to):
        """How many there are after the first, up to the second."""
        return max(0, bisect.bisect_right(self._all, up_to) - bisect.bisect_right(self._all, after))

    def last(self, up_to):
        """The newest one up to a revision; None without one."""
        place = bisect.bisect_right(self._all, up_to)
        return self._all[place - 1] if place else None

    def between(self, after, up_to):
        """All after the first, up to the second."""
        return self._all[bisect.bisect_right(self._all, after):bisect.bisect_right(self._all, up_to)]

    def drop(self, before):
        """Forgets old ones."""
        del self._all[:bisect.bisect_left(self._all, before)]


class Log:
    """The events of one epoch, as far as anyone has seen them."""

    KEPT = 1_500_000

    def __init__(self):
        self.first = 0  # events before it are forgotten
        self.latest = 0
        self.everything = Revisions()
        self.changes = collections.defaultdict(Revisions)
        self.updates = collections.defaultdict(Revisions)
        self.all_changes = Revisions()
        self.moves, self._turns, self._turned_to = Revisions(), Revisions(), {}
        self.lists, self._listed = Revisions(), collections.defaultdict(Revisions)  # servers added and removed
        self.recent = {}

    def add(self, revision, kind, server, number, source):
        """Adds an event; returns the conflict with the known event of that revision, or None."""
        known = self.recent.get(revision)
        if known is None:
            if revision <= self.first or not self.everything.add(revision):
                return None
            self.recent[revision] = (kind, server, number, source)
            self.latest = max(self.latest, revision)
            if kind == "selected":
                self.moves.add(revision)
                self.turn(revision, server)
                return None
            if kind in ("added", "removed"):
                self.lists.add(revision)
                self._listed[server].add(revision)
            self.updates[server].add(revision)
            if kind != "updated":
                self.changes[server].add(revision)
                self.all_changes.add(revision)
            return None
        if known[:3] != (kind, server, number) and None not in (known[2], number) or known[1] != server:
            return f"two events of revision {revision}: {known} and {(kind, server, number, source)}"
        return None

    def turn(self, revision, server):
        """Notes the selected server after a revision; at a start, that needs no event."""
        self._turns.add(revision)
        self._turned_to[revision] = server

    def forget_old(self):
        """Keeps the memory bounded."""
        self.recent = {r: e for r, e in self.recent.items() if r > self.latest - 400_000}
        if self.latest - self.first < 2 * self.KEPT:
            return
        self.first = self.latest - self.KEPT
        for each in [self.everything, self.all_changes, self.moves, self.lists, self._turns, *self.changes.values(), *self.updates.values(), *self._listed.values()]:
            each.drop(self.first + 1)
        self._turned_to = {r: name for r, name in self._turned_to.items() if r > self.first}

    def selected(self, revision):
        """The selected server at a revision; None if nobody has seen its selection."""
        turn = self._turns.last(revision)
        return None if turn is None else self._turned_to[turn]

    def unknown(self, after, up_to):
        """How many events nobody has seen."""
        return max(0, up_to - after - self.everything.count(after, up_to))

    def count(self, target, after, up_to):
        """The known events that a watcher wants, without moves of the selection."""
        if target.kind == "all":
            if not target.updates:
                return self.all_changes.count(after, up_to)
            return self.everything.count(after, up_to) - self.moves.count(after, up_to)
        if target.kind == "server":
            return (self.updates if target.updates else self.changes)[target.server].count(after, up_to)
        total, begin = 0, after
        for turn in [*self._turns.between(after, up_to), up_to]:
            if name := self.selected(begin):
                total += (self.updates if target.updates else self.changes)[name].count(begin, turn)
            begin = turn
        return total

    def count_posts(self, server, after, up_to):
        """The known changes of a server's status."""
        return self.changes[server].count(after, up_to) - self.count_comings(server, after, up_to)

    def count_comings(self, server, after, up_to):
        """How often a server came or went."""
        return self._listed[server].count(after, up_to)

    def selection_is_known(self, after):
        """Whether the selected server at a revision is known."""
        return self._turns.last(after) is not None


class Life:
    """One process of the daemon: the revision at its start, and how it ended."""

    def __init__(self, number):
        self.number = number
        self.start = 0
        self.epoch = None
        self.ending = None  # "restart", "kill", or "unsaved": a clean end, but the state may not be saved


class Model:
    """Compares streams with the log, and collects violations."""

    def __init__(self):
        self.logs = collections.defaultdict(Log)
        self.lives = {}
        self.void = collections.defaultdict(set)  # numbers whose posts were not answered
        self.forgotten = collections.defaultdict(set)  # by server: numbers that were posted and that a start did not find
        self.violations = []
        self.gaps = collections.Counter()
        self.checked = collections.Counter()

    def fault(self, text):
        """Notes a violation."""
        self.violations.append(text)

    def add(self, epoch, events, source):
        """Adds events (revision, kind, server, number)."""
        log = self.logs[epoch]
        for event in events:
            if conflict := log.add(*event, source):
                self.fault(conflict)

    def check_segment(self, segment, name):
        """Checks that no event is missing between those that a watcher got, and that there is none too many."""
        log = self.logs[segment.epoch]
        if segment.start < log.first or segment.target.kind == "selected" and not log.selection_is_known(segment.start):
            self.checked["segments of unknown events"] += 1
            return
        wanted = log.count(segment.target, segment.start, segment.end)
        unknown = log.unknown(segment.start, segment.end)
        contained = self._contained(segment)
        if contained is None:
            return
        wanted -= contained
        self.checked["segments" if not unknown else "segments with unknown events"] += 1
        if unknown and segment.target.kind == "selected":
            return  # an unknown event may be a move of the selection
        # An event that nobody has seen may be in the snapshot, too.
        if not wanted - (unknown if segment.included else 0) <= segment.count <= wanted + unknown:
            self.fault(f"{name}: {segment.count} events after {segment.start} up to {segment.end}, but {wanted} happened"
                       + (f", and {unknown} unknown ones" if unknown else "") + self._difference(segment))

    def _difference(self, segment):
        """The difference of a segment of one server from the log, as text."""
        if segment.target.kind != "server":
            return f"; {segment.target}"
        log = self.logs[segment.epoch]
        found = (log.updates if segment.target.updates else log.changes)[segment.target.server]
        revisions = set(found.between(segment.start, segment.end)) ^ set(segment.events)
        return f"; the difference: {[(r, log.recent.get(r)) for r in sorted(revisions)][:5]}"

    def _contained(self, part):
        """The events of a segment or a gap that the snapshot before it contained; None if that is not known."""
        if not part.included:
            return 0
        log = self.logs[part.epoch]
        # Nobody can tell when a server that came or went in between was read.
        if log.lists.count(part.start, max(revision for _, revision in part.included)):
            return None
        found = log.updates if part.target.updates else log.changes
        return sum(found[server].count(part.start, min(revision, part.end)) for server, revision in part.included)

    def check_gap(self, gap, name):
        """Checks that a gap has a reason, and that its number is exact."""
        if gap.since < 0:
            self.gaps["came back with the cursor of a gap"] += 1
            return
        if gap.foreign:
            self._check_gap_after_crash(gap, name)
            return
        log = self.logs[gap.epoch]
        moves = log.moves.count(gap.start, gap.end) if gap.target.kind != "server" else 0
        unknown = log.unknown(gap.start, gap.end)
        behind = gap.end - gap.start
        if behind >= CAPACITY:
            reason = "came back too late" if gap.resumed else "too slow"
        elif gap.target.kind == "selected" and (moves or unknown):
            reason = "the selection moved on"
        else:
            self.fault(f"{name}: a gap without a reason, only {behind} behind: {gap}")
            return
        self.gaps[reason] += 1
        if gap.missed is None:
            # Only the log knows how many events came since a cursor.
            if not gap.resumed or behind < CAPACITY:
                self.fault(f"{name}: a gap without a number: {gap}")
            self.gaps["of them, without a number"] += 1
            return
        if gap.start < log.first or gap.target.kind == "selected" and not log.selection_is_known(gap.start):
            self.checked["gaps of unknown events"] += 1
            return
        wanted = log.count(gap.target, gap.start, gap.end)
        self.checked["gaps with unknown events" if unknown else "gaps counted exactly"] += 1
        if gap.target.kind == "all":
            contained = self._contained(gap)
            if contained is None:
                return
            wanted, moves = wanted + moves - contained, 0
        if unknown and gap.target.kind == "selected":
            wanted, moves = 0, behind
        # Moves of the selection may count: those that were followed by another one at once need not.
        if not wanted <= gap.missed <= wanted + moves + unknown:
            self.fault(f"{name}: missed {gap.missed}, but {wanted} happened" + (f" with {moves} moves" if moves else "")
                       + (f" and {unknown} unknown ones" if unknown else "") + f" ({reason}): {gap}")

    def _check_gap_after_crash(self, gap, name):
        """Checks that another epoch begins only after a crash, and that a reader then gets a gap."""
        if not self.crashes(*gap.lives):
            self.fault(f"{name}: another epoch after a clean restart: {gap}")
            return
        self.gaps["after a crash"] += 1

    def crashes(self, first, last):
        """Whether one of the lives from the first to the one before the last did not end cleanly."""
        return any(self.lives[n].ending != "restart" for n in range(first, last) if n in self.lives)

    def check_step(self, step, name):
        """Numbers must go backwards only after a crash, and skip numbers only if their posts were not answered."""
        if step.after < step.before:
            if not step.snapshot or not self.crashes(*step.lives):
                self.fault(f"{name}: {step.server} went back from {step.before} to {step.after}; {step}")
            return
        absent = self.void[step.server] | self.forgotten[step.server]
        missing = [n for n in range(step.before + 1, step.after) if n not in absent]
        if (missing or step.after == step.before) and not step.snapshot:
            known = [(epoch, revision) for epoch, log in self.logs.items() for revision, event in log.recent.items()
                     if event[1] == step.server and event[2] in missing]
            self.fault(f"{name}: {step.server} went from {step.before} to {step.after} without {missing[:5]}, which were {known[:5]}; {step}")

    def check_numbers(self, found, least, most, why):
        """Checks that after a start, the servers have at least these numbers, and no number from the future."""
        for server, wanted in least.items():
            if found.get(server, 0) < wanted:
                self.fault(f"{why}: {server} has {found.get(server)}, but {wanted} was acknowledged")
        for server, number in found.items():
            if number > most.get(server, 0):
                self.fault(f"{why}: {server} has {number}, but only {most.get(server, 0)} was ever posted")
        self.checked["servers after a start"] += len(least)
