# SPDX-License-Identifier: Apache-2.0
"""Moves the selection at random times, and checks that each move is visible at once."""

import random
import threading
import time

from harness.varlink import Connection, VarlinkError


class Switcher:
    """A thread that selects one server after another while the daemon runs."""

    def __init__(self, daemon, servers, seed):
        self.daemon, self.servers, self.random = daemon, servers, random.Random(seed)
        self.moves = []  # (time, revision, server), those that were acknowledged
        self.tried = None  # the last one that was sent
        self.faults = []
        self.is_manager_read = True
        self._is_over = threading.Event()
        self._thread = None

    def begin(self, selected):
        """Starts the moves in a life of the daemon, whose selected server is known."""
        self.moves, self.tried = [], None
        self._is_over.clear()
        self._thread = threading.Thread(target=self._run, args=(selected,), daemon=True)
        self._thread.start()

    def end(self):
        """Waits until the last move was answered, or the daemon has ended."""
        self._is_over.set()
        if self._thread:
            self._thread.join(40)
            if self._thread.is_alive():
                self.faults.append("a selection was not answered")
            self._thread = None

    def _run(self, selected):
        try:
            with Connection(self.daemon.socket) as one, Connection(self.daemon.socket) as other:
                while not self._is_over.wait(self.random.choice((0.005, 0.03, 0.1, 0.4))):
                    selected = self._move(one, other, selected)
        except TimeoutError:
            self.faults.append("a selection was not answered within 30 s")
        except (OSError, VarlinkError) as error:
            if isinstance(error, VarlinkError):
                self.faults.append(f"a selection failed: {error}")

    def _move(self, one, other, selected):
        server = self.random.choice(self.servers)
        self.tried = server
        reply = one.call("Select", {"server": server})
        if reply["changed"]:
            self.moves.append((time.monotonic(), reply["cursor"]["revision"], server))
        if (reply.get("server") or {}).get("name") != server or reply.get("previous") != selected:
            self.faults.append(f"selected {server} after {selected}, but the reply is {str(reply)[:300]}")
        if self.random.random() < 0.5:
            found = other.call("Describe")["server"]["name"]
            if found != server:
                self.faults.append(f"Describe shows {found} after the selection of {server}")
            if self.is_manager_read:
                status = self.daemon.manager.status() or ""
                # A reader that has just stopped reads nothing.
                if not status.startswith(f"{server}: ") and self.is_manager_read and status != "stopping":
                    self.faults.append(f"the service manager has “{status}” after the selection of {server}")
        return server
