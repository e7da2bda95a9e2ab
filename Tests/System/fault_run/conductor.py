# SPDX-License-Identifier: Apache-2.0
"""The fault run itself: lives of one daemon, with load and faults at random times, each followed by the comparison with the model."""

import collections
import os
import random
import signal
import time

from harness.daemon import Daemon
from harness.expect import PATIENCE, eventually
from harness.varlink import VarlinkError

from . import disk as disks
from .configuration import Configuration
from .log import LogReader
from .model import Life, Model
from .posters import Poster
from .stream import Target, number
from .summary import Summary
from .switcher import Switcher
from .watchers import Watchers, make_targets
from .work import Process, call_all

POSTERS, WATCHER_PROCESSES, GUESTS = 2, 3, 30
SAVED = 2.0
"""After so many seconds, a status survives a crash."""
ACTIONS = {"load": 14, "reload": 5, "change": 8, "restart": 7, "kill": 7, "damage": 3, "full disk": 3, "stop": 4, "manager": 3, "log": 3}


def history_faults(history, log, start, end, numbers):
    """The errors in the history of a life after a clean end, by its events; `numbers`: those of the newest statuses."""
    faults, recorded, newest = [], collections.Counter(), {}
    for server, kind, at, text, omitted in history:
        if kind not in ("changed", "removed", "added"):
            continue
        recorded[server] += omitted + (kind == "changed" and text is not None)
        if kind != "changed" or text is None:
            newest.pop(server, None)  # It has no status, or no longer.
        else:
            entry = (at, int(text.split()[-1]))
            if server in newest and not (newest[server][0] < at and newest[server][1] < entry[1]):
                faults.append(f"the history of {server} is not in order: {newest[server]} and then {entry}")
            newest[server] = entry
    surplus, unknown = 0, log.unknown(start, end)
    for server in recorded.keys() | log.changes.keys():
        changes = log.count_posts(server, start, end)
        # Adding it again may count as a change.
        surplus += max(0, recorded[server] - changes - log.count_comings(server, start, end))
        if recorded[server] < changes:
            faults.append(f"the history of {server} counts {recorded[server]} changes of {changes}")
        if server in newest and newest[server][1] != numbers.get(server):
            faults.append(f"the newest entry of {server} is {newest[server]}, its status {numbers.get(server)}")
    if surplus > unknown:
        faults.append(f"the history counts {surplus} changes that never happened, and {unknown} events are unknown")
    return faults


class Run:
    """One run. The seed decides what happens, and in which order."""

    def __init__(self, seconds, seed, servers, watchers):
        self.seconds, self.seed, self.random = seconds, seed, random.Random(seed)
        self.configuration = Configuration(servers, self.random)
        self.summary, self.model = Summary(), Model()
        self.daemon = Daemon(self.configuration.text(), start=False)
        self.disk = disks.Disk(self.daemon.folder)
        self.daemon.environment["STATE_DIRECTORY"] = str(self.disk.state)
        names = self.configuration.names
        self.switcher = Switcher(self.daemon, names, f"{seed} switcher")
        posted = names + [f"guest{n}" for n in range(GUESTS)]
        path = self.daemon.socket
        self.posters = [Process(Poster, path, posted[n::POSTERS], f"{seed} poster {n}") for n in range(POSTERS)]
        targets = make_targets(watchers, names, f"{seed} targets")
        self.watchers = [Process(Watchers, path, [("the reference", Target("all", None, True))], f"{seed} reference", True)]
        self.watchers += [Process(Watchers, path, targets[n::WATCHER_PROCESSES], f"{seed} watchers {n}")
                          for n in range(WATCHER_PROCESSES)]
        self.log = LogReader(self.daemon.folder / "log")
        self.life = None
        self.undo = []  # (time, function) to end faults that last for a while
        self.floor, self.most = {}, {}  # the numbers that must be there after the next start, and the largest ones posted
        self.selection = None  # the acknowledged selection
        self.stops = []  # (begin, end) of SIGSTOP
        self.trouble = None  # since when the disk may be full
        self.damaged = None  # when the file was damaged
        self.has_history = True  # whether the history has all changes of this life
        self.freed = 0.0  # when the disk had room again
        self.rate, self.begun = 0, time.monotonic()
        self.tails, self.latest = [], 0

    # Lives

    def note(self, text):
        """Notes an action, for the report of a violation."""
        self.summary.done.append(f"{time.monotonic() - self.begun:.1f} s, life {self.life.number if self.life else 0}: {text}")

    def fault(self, text):
        """Notes a violation of this life."""
        self.model.fault(f"life {self.life.number if self.life else 0}: {text}")

    def begin_life(self, may_be=None):
        """Starts the daemon; `may_be`: the servers one of which must be selected, None if any."""
        life = Life(self.life.number + 1 if self.life else 1)
        before, self.life = self.life, life
        self.log.unsaved = self.log.saved_again = self.log.set_aside = 0
        begin = time.monotonic()
        self.daemon.start(stderr=self.log.input)
        self.summary.slowest_start = max(self.summary.slowest_start, time.monotonic() - begin)
        self.configuration.started()
        self.stops = []
        self.has_history = not self.disk_is_full
        if not self.disk_is_full:
            self.trouble = None
        self.damaged = None
        with self.daemon.connect() as connection:
            cursor = connection.call("GetCursor")["cursor"]
            servers = connection.call("List")["servers"]
        life.epoch, life.start = cursor["epoch"], cursor["revision"]
        self.model.lives[life.number] = life
        if before and before.ending == "restart" and before.epoch != life.epoch:
            self.fault("another epoch after a clean restart")
        if before and before.ending == "kill" and before.epoch == life.epoch:
            self.fault("the same epoch after a crash")
        found = {server["name"]: number(server) or 0 for server in servers}
        self.model.check_numbers(found, self.floor, self.most, f"life {life.number}, after a {before.ending if before else 'first'}")
        selected = next((server["name"] for server in servers if server["selected"]), None)
        if may_be is not None and selected not in may_be:
            self.fault(f"{selected} is selected, not one of {may_be}")
        missing = self.configuration.all_names() - found.keys()
        if missing:
            self.fault(f"configured servers are missing: {sorted(missing)[:5]}")
        self.floor = found
        for name, most in self.most.items():
            self.model.forgotten[name].update(range(found.get(name, 0) + 1, most + 1))
        self.note(f"start at {life.start} with {selected}, epoch {life.epoch[:4]}")
        self.model.logs[life.epoch].turn(life.start, selected)
        self.selection = selected
        if life.number == 1:
            self.summary.descriptors_before = self.daemon.descriptors()
        call_all(self.posters + self.watchers, "up", life.number)
        self.set_rate(self.rate)
        self.switcher.begin(selected)

    @property
    def disk_is_full(self):
        """Whether the disk has no room now."""
        return (self.disk.folder / "ballast").exists()

    def set_rate(self, rate):
        """Sets the rate of all posters together, in posts per second."""
        self.rate = rate
        call_all(self.posters, "rate", rate and rate / POSTERS)

    def has_trouble(self):
        """Whether the state may not be saved."""
        if self.trouble is None:
            return False
        if self.disk_is_full or self.log.is_paused or self.log.unsaved > self.log.saved_again:
            return True
        freed = self.freed + 3 < time.monotonic()
        if freed:
            self.trouble = None
        return not freed

    def is_damaged(self):
        """Whether the state may be lost."""
        if self.damaged is None:
            return False
        if self.log.set_aside and not self.log.is_paused and self.damaged + 6 < time.monotonic() and not self.has_trouble():
            self.damaged = None
        return self.damaged is not None

    def end_life(self, how, is_quiet=False):
        """Ends the daemon, collects all records, and compares."""
        if is_quiet or how == "final":
            call_all(self.posters, "rate", 0)
            self.switcher.end()
        self.check_process()
        self.summary.note_memory(self.daemon)
        trouble, damaged = self.has_trouble(), self.is_damaged()
        self.summary.endings[how] += 1
        self.note(f"end by {how}{', not saved' if trouble else ''}{', damaged' if damaged else ''}")
        end = time.monotonic()
        if how == "kill":
            self.daemon.stop(signal.SIGKILL)
        else:
            status = self.daemon.stop()
            self.summary.slowest_stop = max(self.summary.slowest_stop, time.monotonic() - end)
            if status != 0:
                self.fault(f"the daemon ended with {status}")
        self.switcher.end()
        life = self.life
        is_unsaved = damaged or trouble or self.disk_is_full
        life.ending = "kill" if how == "kill" else "unsaved" if is_unsaved else "restart"
        safe = end - SAVED - sum(max(0, min(e, end) - max(b, end - 6)) for b, e in self.stops)
        if trouble:
            safe = min(safe, self.trouble - SAVED)
        if life.ending == "restart":
            safe = float("inf")
        may_be = self.collect(life, safe, end, lost=damaged)
        if life.ending == "restart" and not trouble:
            self.check_store(life, is_quiet)
        return may_be

    def collect(self, life, safe, end, lost):
        """Adds the records of all processes to the model."""
        for process in self.posters + self.watchers:
            process.send("collect")
        events, accepted = [], {}
        for process in self.posters:
            posts, void, last, errors = process.answer()
            events += [post[1:] for post in posts]
            for when, _, _, server, count in posts:
                if when <= safe:
                    accepted[server] = max(count, accepted.get(server, 0))
            for server, count in void:
                self.model.void[server].add(count)
            self.most.update(last)
            self.summary.posts += len(posts)
            for error in errors:
                self.fault(error)
        self.floor = {} if lost else {s: max(self.floor.get(s, 0), accepted.get(s, 0)) for s in self.floor.keys() | accepted.keys()}
        self.forget_removed()
        moves = [(revision, "selected", server, None) for _, revision, server in self.switcher.moves]
        self.summary.switches += len(moves)
        self.model.add(life.epoch, sorted(set(events + moves)), "an acknowledged call")
        for each in self.switcher.faults:
            self.fault(each)
        self.switcher.faults = []
        readings = []
        for process in self.watchers:
            found, closures = process.answer()
            readings += found
            for when, name in closures:
                if when < end:
                    self.fault(f"{name}: the daemon closed the connection {end - when:.2f} s before its end")
        self.compare(readings)
        # After a crash, any selection since the last save may be in force.
        names = [self.selection] + [server for when, _, server in self.switcher.moves if when <= safe][-1:]
        may_be = names[-1:] + [server for when, _, server in self.switcher.moves if when > safe] + [self.switcher.tried]
        return None if lost else may_be

    def forget_removed(self):
        """Servers that the configuration removed have no floor."""
        names = self.configuration.all_names()
        for name in [n for n in self.floor if n.startswith("extra") and n not in names]:
            del self.floor[name]

    def compare(self, readings):
        """Compares the readings of all watchers with the model."""
        for reading in readings:
            by_epoch = {}
            for epoch, *event in reading.log:
                by_epoch.setdefault(epoch, []).append(tuple(event))
            for epoch, events in by_epoch.items():
                self.model.add(epoch, events, reading.name)
        for reading in readings:
            self.summary.events += reading.events
            self.model.checked["events repeated behind a snapshot"] += reading.repeated
            for text in reading.faults:
                self.fault(text)
            for segment in reading.segments:
                self.model.check_segment(segment, reading.name)
            for gap in reading.gaps:
                self.model.check_gap(gap, reading.name)
            for step in reading.steps:
                self.model.check_step(step, reading.name)
        for log in self.model.logs.values():
            log.forget_old()

    def check_store(self, life, is_quiet):
        """Checks after a clean end that the store is complete, and its history counts every change of this life."""
        if (found := disks.integrity(self.disk.file)) != "ok":
            return self.fault(f"the store is not whole: {found}")
        texts, revision, complete, _, history = disks.read(self.disk.file)
        if not complete:
            self.fault("the store is not complete after a clean end")
        numbers = {name: int(text.split()[-1]) for name, text in texts.items() if text}
        self.model.check_numbers(numbers, self.floor, self.most, f"life {life.number}, the store")
        log = self.model.logs[life.epoch]
        if revision < log.latest:
            self.fault(f"the store ends at {revision}, but {log.latest} was seen")
        unknown = log.unknown(life.start, revision)
        if is_quiet:
            self.summary.unknown_events += unknown
        for text in history_faults(history, log, life.start, revision, numbers) if self.has_history else ():
            self.fault(text)
        self.model.checked["histories"] += self.has_history
        return None

    def check_process(self):
        """Checks that the daemon runs, and has stayed small."""
        if self.daemon.process.poll() is not None:
            raise RuntimeError(f"the daemon ended by itself with {self.daemon.process.returncode}: {self.log.other[-5:]}")

    # Faults

    def act(self):
        """One random action."""
        action = self.random.choices(list(ACTIONS), ACTIONS.values())[0]
        choice = self.random.random()
        self.note(f"{action} ({choice:.2f})")
        getattr(self, "do_" + action.replace(" ", "_"))(choice)

    def do_load(self, choice):
        """Changes the load: none, some, or as much as possible for a while."""
        rate = 0 if choice < 0.1 else None if choice > 0.75 else int(200 * 20 ** choice)
        self.set_rate(rate)
        if rate is None:
            self.later(0.5 + 3 * self.random.random(), lambda: self.rate is None and self.set_rate(1000))

    def do_reload(self, _):
        """Reloads the same configuration."""
        self.reload({"added": [], "changed": [], "removed": []})

    def do_change(self, choice):
        """Changes the configuration, which a reload or the next start applies."""
        wanted = self.configuration.change()
        self.daemon.file.write_text(self.configuration.text())
        if choice < 0.8:
            self.reload(wanted)
        else:
            self.do_restart(choice)

    def reload(self, wanted):
        """Reloads; the reply must be this."""
        self.summary.reloads += 1
        try:
            with self.daemon.connect() as connection:
                reply = connection.call("Reload")
        except (OSError, VarlinkError) as error:
            return self.fault(f"a reload failed: {error!r}")
        found = {key: reply[key] for key in ("added", "changed", "removed")}
        if found != wanted or reply["failed"]:
            self.fault(f"a reload did {found}, {reply['failed'][:2]} instead of {wanted}")
        self.configuration.started()
        self.forget_removed()

    def do_restart(self, choice):
        """Restarts cleanly, half of the times without load."""
        may_be = self.end_life("restart", is_quiet=choice * 10 % 1 < 0.5)
        self.between_lives()
        self.begin_life(may_be)

    def do_kill(self, choice):
        """Crashes the daemon; sometimes again soon after the start."""
        may_be = self.end_life("kill")
        self.between_lives()
        self.begin_life(may_be)
        if choice < 0.2:
            time.sleep(choice * 3)
            self.do_kill(1)

    def between_lives(self):
        """Nothing to do; the model has compared meanwhile."""
        self.disk.clean()

    def do_damage(self, choice):
        """Damages the file; sometimes the daemon ends right after it."""
        how = ("header", "nonsense")[int(choice * 2)]
        self.summary.faults[f"damage ({how})"] += 1
        self.note(how)
        self.is_damaged()
        self.damaged = time.monotonic()
        self.log.set_aside = 0
        self.disk.damage(how)
        self.has_history = False
        if self.random.random() < 0.3:
            self.random.choice((self.do_restart, self.do_kill))(0.9)

    def do_full_disk(self, choice):
        """Fills the disk for a while."""
        if not self.disk.is_mounted or self.disk_is_full:
            return
        self.summary.faults["full disk"] += 1
        self.trouble = self.trouble or time.monotonic()
        self.disk.fill()
        self.has_history = False
        self.later(1 + 4 * choice, self.free_disk)

    def free_disk(self):
        """Makes room again."""
        self.note("the disk has room again")
        self.disk.empty()
        self.freed = time.monotonic()

    def do_stop(self, choice):
        """Stops the process for a second or two."""
        self.summary.faults["stopped process"] += 1
        begin = time.monotonic()
        self.daemon.process.send_signal(signal.SIGSTOP)
        time.sleep(0.5 + 1.5 * choice)
        self.daemon.process.send_signal(signal.SIGCONT)
        self.stops.append((begin, time.monotonic()))

    def do_manager(self, choice):
        """Stops the reading of the service manager for a while."""
        self.summary.faults["manager that does not read"] += 1
        self.switcher.is_manager_read = False
        self.daemon.manager.stop_reading()
        self.later(1 + 3 * choice, self.daemon.manager.read_again)
        self.later(3 + 3 * choice, lambda: setattr(self.switcher, "is_manager_read", self.daemon.manager.is_reading))

    def do_log(self, choice):
        """Stops the reading of the log for a while."""
        self.summary.faults["log that is not read"] += 1
        self.log.pause()
        self.later(1 + 4 * choice, self.log.resume)

    def later(self, seconds, function):
        """Ends a fault after some time."""
        self.undo.append((time.monotonic() + seconds, function))

    def undo_due(self, all_of_them=False):
        """Ends the faults that are due."""
        now = time.monotonic()
        due = [u for u in self.undo if all_of_them or u[0] <= now]
        self.undo = [u for u in self.undo if u not in due]
        for _, function in sorted(due, key=lambda u: u[0]):
            function()

    # The run

    def run(self):
        """Runs for the time given, and returns the summary."""
        try:
            end = time.monotonic() + self.seconds
            self.begin_life()
            self.set_rate(1000)
            while time.monotonic() < end:
                next_action = min(end, time.monotonic() + self.random.uniform(0.3, 2.5))
                while time.monotonic() < next_action:
                    time.sleep(0.05)
                    self.undo_due()
                    self.check_process()
                if time.monotonic() < end:
                    self.act()
            self.finish()
        except (RuntimeError, AssertionError, OSError) as error:
            self.fault(f"the run cannot continue: {error!r}")
            raise
        finally:
            self.close()

    def finish(self):
        """A last life without faults, in which all watchers get all events, and then the last comparison."""
        self.undo_due(all_of_them=True)
        self.undo = []
        call_all(self.posters, "rate", 0)
        if self.trouble:
            eventually(lambda: not self.has_trouble(), "the state is saved again", 90)
        self.switcher.end()
        call_all(self.posters, "each")
        self.check_all_have_read()
        self.check_manager()
        servers = self.daemon_call("List")["servers"]
        guests = sum(server["name"].startswith("guest") for server in servers)
        call_all(self.watchers, "close")
        time.sleep(0.5)
        self.summary.descriptors_after = self.daemon.descriptors() - guests - POSTERS
        try:
            eventually(lambda: self.daemon.descriptors() - guests - POSTERS <= self.summary.descriptors_before + 3, patience=5)
        except AssertionError:
            self.fault(f"{self.daemon.descriptors()} descriptors, {guests} of them of unconfigured servers, but {self.summary.descriptors_before} at first")
        self.is_damaged()
        self.end_life("final", is_quiet=True)
        self.check_tails()
        self.log.close()
        final = {server["name"]: number(server) for server in servers if number(server) is not None}
        wrong = {name: (self.log.newest.get(name), count) for name, count in final.items() if self.log.newest.get(name) != count}
        if wrong:
            self.fault(f"the newest lines of {len(wrong)} servers in the log are not their status: {dict(list(wrong.items())[:5])}")
        for text in self.log.faults:
            self.fault(text)

    def daemon_call(self, method, parameters=None):
        """One call on a connection of its own."""
        with self.daemon.connect() as connection:
            return connection.call(method, parameters)

    def check_all_have_read(self):
        """Lets all watchers read to the end. The reference must have the newest event of all."""
        latest = self.daemon_call("GetCursor")["cursor"]
        call_all(self.watchers, "positions")

        def have_read():
            positions = [p for each in call_all(self.watchers, "positions") for p in each]
            return all(p[2] and p[2][1] == latest["revision"] for p in positions if p[1].kind == "all" and p[1].updates)

        try:
            eventually(have_read, patience=PATIENCE)
        except AssertionError:
            self.fault(f"not all readers of everything have come to {latest}")
        time.sleep(1)
        self.tails = [p for each in call_all(self.watchers, "positions") for p in each]
        self.latest = latest["revision"]

    def check_tails(self):
        """Checks that no watcher lacks the last events."""
        log = self.model.logs[self.life.epoch]
        for name, target, cursor in self.tails:
            if cursor is None or cursor[0] != self.life.epoch:
                self.fault(f"{name}: its cursor is {cursor} at the end")
            elif log.count(target, cursor[1], self.latest):
                self.fault(f"{name}: it stands at {cursor[1]}, but {log.count(target, cursor[1], self.latest)} events came after that")

    def check_manager(self):
        """Checks that the service manager shows the newest status of the selected server."""
        self.daemon.manager.read_again()
        selected = self.daemon_call("Describe")["server"]
        wanted = f"{selected['name']}: {selected['status']['text']}"
        try:
            eventually(lambda: (self.daemon.manager.status() or "").startswith(wanted), patience=5)
        except AssertionError:
            self.fault(f"the service manager has “{self.daemon.manager.status()}” at the end instead of “{wanted}”")

    def close(self):
        """Ends all processes."""
        self.switcher._is_over.set()  # pylint: disable=protected-access
        for process in self.posters + self.watchers:
            process.end()
        if self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.process.send_signal(signal.SIGCONT)
            self.daemon.process.kill()
            self.daemon.process.wait()
        self.disk.close()
        if not os.environ.get("STATUSD_KEEP"):
            self.daemon.__exit__()
