# SPDX-License-Identifier: Apache-2.0
"""file: is the backup there, and fresh?"""

import os
import signal

from harness.daemon import Daemon
from harness.expect import contains, equal, eventually
from harness.runner import test


def following(path, options=""):
    """A configuration with one file, which is looked at once an hour unless something changes."""
    return lambda folder: f"defaults: {{ interval: 1h }}\nservers: {{ backup: {{ file: {{ path: '{folder}/{path}'{options} }} }} }}\n"


def becomes(daemon, level, text):
    daemon.done("wait", "backup", "--text", text.format(daemon.folder), "--timeout", "10s")
    equal(daemon.describe("backup")["status"]["level"], level)


@test("a file that comes, is replaced and goes is seen at once, though the next interval is an hour away")
def changes():
    with Daemon(following("db.dump", ", size: 1K"), start=False) as daemon:
        daemon.start()
        becomes(daemon, "critical", "no such file: {}/db.dump")
        file = daemon.folder / "db.dump"
        file.write_bytes(bytes(1024))
        becomes(daemon, "ok", "db.dump: 1 KiB")
        (daemon.folder / "new").write_bytes(bytes(10))
        (daemon.folder / "new").rename(file)
        becomes(daemon, "critical", "db.dump is 10 B, less than 1 KiB")
        file.unlink()
        becomes(daemon, "critical", "no such file: {}/db.dump")


@test("the newest of several files counts, also one that comes later, and in a directory that comes later")
def patterns():
    with Daemon(following("backups/db-*.dump", ", age: 1h"), start=False) as daemon:
        daemon.start()
        becomes(daemon, "critical", "no file matches {}/backups/db-*.dump")
        folder = daemon.folder / "backups"
        folder.mkdir()
        old = folder / "db-1.dump"
        old.touch()
        os.utime(old, (0, 0))
        contains(daemon.done("refresh", "backup"), "db-1.dump is older than 1h: changed 1970-01-01 00:00 UTC [critical]")
        (folder / "db-2.dump").touch()
        becomes(daemon, "ok", "db-2.dump: changed in the last 1h")
        os.utime(folder / "db-2.dump", (0, 0))
        eventually(lambda: daemon.describe("backup")["status"]["level"] == "critical", "both are old")


@test("a file that should not be there is a failure when it is")
def unwanted():
    with Daemon(following("maintenance", ", exists: false"), start=False) as daemon:
        daemon.start()
        becomes(daemon, "ok", "no such file: {}/maintenance")
        (daemon.folder / "maintenance").touch()
        becomes(daemon, "critical", "{}/maintenance exists")
        (daemon.folder / "maintenance").unlink()
        becomes(daemon, "ok", "no such file: {}/maintenance")


@test("nothing is known of a file in a directory that cannot be entered")
def denied():
    with Daemon(following("locked/file"), start=False) as daemon:
        if os.geteuid() == 0:
            # Root enters everything; a loop of links leads nowhere for root, too.
            os.symlink("locked", daemon.folder / "locked")
        else:
            (daemon.folder / "locked").mkdir(mode=0)
        daemon.start()
        eventually(lambda: daemon.describe("backup")["phase"] == "failed", "the server is failed")
        contains(daemon.describe("backup")["message"], f"cannot look at {daemon.folder}/locked/file: ")


@test("the process that looks may be killed: another one takes its place, and it goes when the file is not followed any more")
def worker():
    with Daemon(following("db.dump"), start=False) as daemon:
        daemon.start()
        becomes(daemon, "critical", "no such file: {}/db.dump")
        [worker] = daemon.children("statusd-host")
        os.kill(worker, signal.SIGKILL)
        (daemon.folder / "db.dump").touch()
        becomes(daemon, "ok", "db.dump: exists")
        daemon.file.write_text("servers: {}\n")
        daemon.done("reload")
        eventually(lambda: not daemon.children("statusd-host"), "no process is left", patience=40)
