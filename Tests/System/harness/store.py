# SPDX-License-Identifier: Apache-2.0
"""The contents of a daemon's store, read from its file."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import time

from .daemon import run
from .expect import Skip, eventually


def stored(daemon, query):
    """The first column of the first row of a query of the store; None without one."""
    with contextlib.closing(sqlite3.connect(f"file:{daemon.folder}/state/statusd.sqlite?mode=ro", uri=True)) as store:
        row = store.execute(query).fetchone()
        return row and row[0]


def is_saved(daemon, server, text):
    """Whether the store has a status."""
    try:
        return stored(daemon, f"SELECT text FROM servers WHERE name = '{server}'") == text
    except sqlite3.OperationalError:
        return False


def wait_until_saved(daemon, server, text):
    """Waits until the store has a status, which takes no more than two seconds."""
    begin = time.monotonic()
    eventually(lambda: is_saved(daemon, server, text), f"{text} to be saved")
    assert time.monotonic() - begin < 2, "saved too late"


def wait_until_saved_at_last(daemon, server, text):
    """Waits in the same way after a failure, when the daemon retries less and less often."""
    eventually(lambda: is_saved(daemon, server, text), f"{text} to be saved", 20)


@contextlib.contextmanager
def small_disk(daemon, size):
    """Mounts a small file system on the state directory of a daemon before its start; ends the daemon afterwards."""
    state = daemon.folder / "state"
    if os.geteuid() != 0:
        raise Skip("mounting a small file system needs root")
    if run("mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "small", state).status:
        raise Skip("mounting is not possible here")
    try:
        yield state
    finally:
        if daemon.process and daemon.process.poll() is None:
            daemon.stop(signal.SIGKILL)
        subprocess.run(["umount", state], check=True)
