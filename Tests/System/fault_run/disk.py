# SPDX-License-Identifier: Apache-2.0
"""The state directory on a small disk of its own, the faults of that disk, and the contents of the store afterwards."""

import contextlib
import os
import sqlite3
import subprocess

from harness.daemon import run

SIZE = "96m"


class Disk:
    """A folder with the state directory; a file system of its own if the tests may mount one."""

    def __init__(self, folder):
        self.folder = folder / "disk"
        self.folder.mkdir(mode=0o755)
        self.is_mounted = os.geteuid() == 0 and not run(
            "mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "small", self.folder).status
        self.state = self.folder / "state"
        self.state.mkdir(mode=0o755)
        self.file = self.state / "statusd.sqlite"

    def fill(self):
        """Leaves no room."""
        with open(self.folder / "ballast", "wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(b"x" * 65536)
        with open(self.folder / "ballast", "ab", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(b"x" * 512)

    def empty(self):
        """Makes room again."""
        (self.folder / "ballast").unlink(missing_ok=True)

    def damage(self, how):
        """Damages the file."""
        if how == "header" and self.file.exists():
            with open(self.file, "r+b") as file:
                file.write(b"x" * 200)
        elif how == "nonsense":
            self.file.write_text("nonsense")

    def clean(self):
        """Removes the files that were set aside, which would fill the disk."""
        for path in self.state.glob("statusd.sqlite.*"):
            path.unlink()

    def close(self):
        """Unmounts it."""
        if self.is_mounted:
            subprocess.run(["umount", "-l", self.folder], check=False)


def integrity(path):
    """SQLite's report about the file; "ok" if it is whole."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
        return store.execute("PRAGMA integrity_check").fetchone()[0]


def read(path):
    """The store after the daemon's end: its texts by server, the last revision, whether it is complete, the selected server, and the
    history of the last life, (server, kind, revision, text, omitted), in order."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
        texts = dict(store.execute("SELECT name, text FROM servers"))
        revision, complete, selected = store.execute("SELECT revision, is_complete, selected FROM daemon").fetchone()
        start = store.execute("SELECT max(id) FROM changes WHERE kind = 'started'").fetchone()[0]
        history = store.execute(
            "SELECT n.name, c.kind, c.revision, c.text, c.omitted FROM changes c LEFT JOIN names n ON n.id = c.server "
            "WHERE c.id > ? ORDER BY c.id", (start,)).fetchall()
    return texts, revision, complete, selected, history
