# SPDX-License-Identifier: Apache-2.0
"""The lives of a daemon that is killed repeatedly, and a client that knows the state that the next life must have."""

import contextlib
import os
import random
import signal
import sqlite3
import time

from harness.daemon import Daemon
from harness.expect import PATIENCE, equal
from harness.faulty_store import FaultyStore

CONFIGURATION = """\
accept: any
history: { changes: 50 }
servers:
  db: { push: true, description: Primary database }
  login: { push: true }
"""
LONGEST_LOSS = 2.0
"""The seconds of which a killed daemon may lose the changes."""
FILES = {"statusd.lock", "statusd.lock.next", "statusd.sqlite", "statusd.sqlite-journal", "statusd.sqlite-shm",
         "statusd.sqlite-wal"}


class Died(Exception):
    """The daemon died while it was called."""


class Lives:
    """A daemon with a state directory in which its lives follow each other."""

    def __init__(self, configuration=CONFIGURATION, seed=1):
        self.daemon = Daemon(configuration, start=False)
        self.store = FaultyStore(self.daemon)
        self.random = random.Random(seed)
        self.killed_at = []
        """The call at which each life was killed; None if it was not killed at a call."""
        self._connection = None
        self._number = 0
        self._log_length = 0
        self._calls = 0
        # The state after each operation that was sent in this life: a text for each server, and the selection.
        self._states = [{"db": None, "login": None, "selected": None}]
        self._acknowledged = []  # when each operation was answered
        self._saved = 0  # the operations that the history has shown

    # MARK: A life

    def start(self):
        """Starts the next life; returns whether it got as far as READY=1."""
        self._calls = len(self.store.calls())
        has_started = self.daemon.launch()
        end = time.monotonic() + PATIENCE
        while not has_started():
            if self.daemon.process.poll() is not None:
                return has_started()
            assert time.monotonic() < end, f"neither started nor killed: {self.log()}"
            time.sleep(0.002)
        return True

    def check_start(self):
        """Checks that this life has what the one before had saved."""
        try:
            self._connection = self.daemon.connect()
        except OSError:
            raise self._died() from None
        servers = self._call("List")["servers"]
        state = {server["name"]: (server.get("status") or {}).get("text") for server in servers}
        state["selected"] = next((server["name"] for server in servers if server["selected"]), None)
        first = self._first_acceptable()
        assert state in self._states[first:], (
            f"the state is {state}, which is " + (f"older than {self._states[first]}" if state in self._states else "new") +
            f"; killed at {self.killed_at[-1:]}")
        self._states, self._acknowledged, self._saved = [state], [], 0

    def _first_acceptable(self):
        """The oldest state that this life may begin with."""
        # The newest answer came before the kill.
        newest = max(self._acknowledged, default=0)
        old = sum(answered <= newest - LONGEST_LOSS for answered in self._acknowledged)
        return max(old, self._saved)

    def demanded(self):
        """How many changes of this life the next one must have."""
        return self._first_acceptable()

    def was_killed_at(self, *calls):
        """Whether each of these calls has ended a life."""
        return set(calls) <= set(self.killed_at)

    def log(self):
        """The daemon's log since the last call."""
        text = self.daemon.log()
        new, self._log_length = text[self._log_length:], len(text)
        return new

    def check_files(self):
        """Checks that nothing was damaged or set aside since the last call."""
        log = self.log()
        for word in ("damage", "set aside", "cannot", "could not", "Fatal", "no state is kept"):
            assert word not in log, f"{log}; killed at {self.killed_at[-1:]}"
        unknown = set(os.listdir(self.daemon.folder / "state")) - FILES
        assert not unknown, f"{unknown}; killed at {self.killed_at[-1:]}"

    def end(self, number=signal.SIGKILL):
        """Ends a life, if it has not ended yet, and checks the files that it leaves."""
        if self._connection:
            self._connection.socket.close()
            self._connection = None
        was_alive = self.daemon.process.poll() is None
        if was_alive:
            self.daemon.process.send_signal(number)
        status = self.daemon.process.wait(PATIENCE)
        assert status in (0, -signal.SIGKILL), f"exit status {status}: {self.log()}"
        calls = self.store.calls()[self._calls:]
        is_planned = status == -signal.SIGKILL and not (was_alive and number == signal.SIGKILL)
        self.killed_at.append(calls[-1] if is_planned else None)
        self.check_files()
        return status

    def live(self, seconds, work=None):
        """A whole life, which ends at the planned call, or else is killed after this time."""
        if self.start():
            # It may also die during a call.
            with contextlib.suppress(Died):
                self.check_start()
                self.check_history()
                end = time.monotonic() + seconds
                while time.monotonic() < end:
                    (work or self.work)()
        self.end()

    # MARK: What the client does

    def _died(self):
        self.daemon.process.wait(PATIENCE)
        return Died()

    def _call(self, method, parameters=None):
        try:
            return self._connection.call(method, parameters)
        except OSError:
            raise self._died() from None

    def _change(self, method, parameters, **changes):
        """Makes a call that changes the state."""
        state = {**self._states[-1], **changes}
        self._states.append({name: text for name, text in state.items() if text != "forgotten"})
        self._call(method, parameters)
        self._acknowledged.append(time.monotonic())

    def post(self, server, more=""):
        """Posts the next number."""
        self._number += 1
        text = f"{self._number}{more}"
        self._change("Post", {"server": server, "text": text}, **{server: text})

    def select(self, server):
        """Selects a server."""
        self._change("Select", {"server": server}, selected=server)

    def forget(self, server):
        """Forgets an unconfigured server."""
        self._change("Forget", {"server": server}, **{server: "forgotten"})

    def read_history(self):
        """Reads the newest entry of the history, which has all changes so far, so they are saved."""
        answered, begin = len(self._acknowledged), time.monotonic()
        self.history(limit=1)
        if time.monotonic() - begin < 1.5:  # after two seconds it does not wait longer
            self._saved = answered

    def history(self, **parameters):
        """Reads the history of all servers."""
        changes = []
        try:
            self._connection.send("History", {"all": True, **parameters}, more=True)
            while True:
                message = self._connection.receive()
                if message is None:
                    raise self._died()
                if not message["parameters"].get("change"):
                    return changes
                changes.append(message["parameters"]["change"])
        except OSError:
            raise self._died() from None

    def work(self, more="", saving=True):
        """Posts, adds, selects and forgets."""
        for server in ("db", "login", f"guest-{self.random.randrange(6)}"):
            self.post(server, more)
        present = [name for name in self._states[-1] if name != "selected"]
        self.select(self.random.choice(present))
        guests = [name for name in present if name.startswith("guest") and name != self._states[-1]["selected"]]
        if len(guests) > 3:
            self.forget(self.random.choice(guests))
        if saving:
            self.read_history()

    # MARK: The end

    def check_history(self):
        """Checks that the history is in order and without duplicates, in a life that has started."""
        changes = self.history()
        assert changes, "no history"
        lives = [change["kind"] for change in changes if change["kind"] in ("started", "stopped")]
        for before, after in zip(lives, lives[1:]):
            assert before != after, f"{before} twice: {lives}"
        equal(lives[-1], "started")
        for server in {change["server"] for change in changes if change.get("server")}:
            of_server = [change for change in changes if change.get("server") == server]
            numbers = [int(change["text"].split()[0]) for change in of_server if change["kind"] == "changed"]
            equal(numbers, sorted(set(numbers)), f"changes of {server} in the history")
            equal([c["at"] for c in of_server], sorted(c["at"] for c in of_server), f"times of {server} in the history")
            revisions = [change["revision"] for change in of_server]
            equal(revisions, sorted(set(revisions)), f"revisions of {server} in the history")

    def check_database(self):
        """Checks the file, of which no daemon may be alive."""
        with contextlib.closing(sqlite3.connect(self.daemon.folder / "state" / "statusd.sqlite")) as store:
            store.execute("PRAGMA synchronous = OFF")
            equal(store.execute("PRAGMA integrity_check").fetchall(), [("ok",)])

    def history_length(self):
        """The number of entries of the history in the file."""
        with contextlib.closing(sqlite3.connect(self.daemon.folder / "state" / "statusd.sqlite")) as store:
            return store.execute("SELECT count(*) FROM changes").fetchone()[0]

    def check_end(self):
        """A last life, with all checks."""
        self.store.work()
        assert self.start(), self.log()
        self.check_start()
        self.check_history()
        self.end()
        self.check_database()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._connection:
            self._connection.socket.close()
        self.daemon.__exit__()
