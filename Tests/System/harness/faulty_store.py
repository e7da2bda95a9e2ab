# SPDX-License-Identifier: Apache-2.0
"""A store whose system calls fail, hang, are dropped, or kill the daemon (preload/store_faults.c)."""

import contextlib
import os

from .daemon import Daemon
from .preload import preloaded


class FaultyStore:
    """Plans faults for a daemon's calls on the files in its state directory, from its next start on.

    Calls are `open` (to create or write), `look` (any other open), `read`, `write`, `truncate`, `sync`, `unlink` and
    `rename`; `*` stands for all but `look` and `read`, which change nothing. A file is named without its directory,
    which itself is `.`, or is `*`.
    """

    def __init__(self, daemon):
        self._plan, self._calls = daemon.folder / "plan", daemon.folder / "calls"
        self._count = 0
        daemon.environment.update(preloaded("store_faults"), STORE_FOLDER=str(daemon.folder / "state"),
                                  STORE_PLAN=str(self._plan), STORE_CALLS=str(self._calls))

    def kill(self, when, number, calls="*", file="*"):
        """Kills the daemon with SIGKILL `before` or `after` the call of this number from now on, or when `half` of it
        is done."""
        self._set(when, calls, file, number)

    def drop(self, number, calls="write", file="*"):
        """Makes the call of this number only claim that it was made."""
        self._set("drop", calls, file, number)

    def fail(self, error, calls, file="*"):
        """Makes all calls fail with an error number until the plan changes."""
        self._set("fail", calls, file, error)

    def hang(self, calls, file="*"):
        """Makes all calls wait until the plan changes."""
        self._set("hang", calls, file, 0)

    def work(self):
        """Ends the planned fault."""
        self._set("none", "-", "-", 0)

    def calls(self):
        """All calls so far that may have changed something, each with its file's name: “write statusd.sqlite-wal”."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    def _set(self, action, calls, file, number):
        self._count += 1  # so that equal plans differ
        fresh = self._plan.with_suffix(".new")
        fresh.write_text(f"{action} {calls} {file} {number} {self._count}\n")
        os.replace(fresh, self._plan)


@contextlib.contextmanager
def faulty_daemon(configuration):
    """A running daemon, and the faults of its store."""
    with Daemon(configuration, start=False) as daemon:
        store = FaultyStore(daemon)
        daemon.start()
        yield daemon, store
