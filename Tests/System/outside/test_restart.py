# SPDX-License-Identifier: Apache-2.0
"""What a restart keeps: statuses, selection, streams; and what happens to a state that cannot be used."""

import json
import os
import signal
import sqlite3
import time

from harness.daemon import STATUSD, Daemon, Follower, environment, run
from harness.expect import contains, equal, eventually
from harness.runner import test

CONFIGURATION = """\
accept: any
servers:
  db: { push: true, description: Primary database }
  login: { push: true, ttl: 1h }
"""


def restart(daemon, how=signal.SIGTERM):
    """Ends the daemon and starts it again."""
    daemon.stop(how) if how == signal.SIGTERM else daemon.kill()
    daemon.start()


def saved(daemon, text):
    """Waits until a status is in the store."""
    def look():
        with sqlite3.connect(f"file:{daemon.folder}/state/statusd.sqlite?mode=ro", uri=True) as store:
            return store.execute("SELECT count(*) FROM servers WHERE text = ?", (text,)).fetchone()[0] == 1
    eventually(look, f"“{text}” to be saved", within=2)
