# SPDX-License-Identifier: Apache-2.0
"""file: does the backup exist, and is it fresh?"""

import os
import signal
import subprocess

from harness.daemon import Daemon
from harness.expect import contains, equal, eventually
from harness.runner import test


def following(path, options=""):
    """A configuration with one file, which is checked once an hour unless something changes."""
    return lambda folder: f"defaults: {{ interval: 1h }}\nservers: {{ backup: {{ file: {{ path: '{folder}/{path}'{options} }} }} }}\n"


def becomes(daemon, level, text, server="backup"):
    daemon.done("wait", server, "--text", text.format(daemon.folder), "--timeout", "10s")
    equal(daemon.describe(server)["status"]["level"], level)


@test("a file that is created, replaced or deleted is noticed at once, long before the next check")
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


@test("the newest of several files counts, even one created later in a new directory")
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


@test("a file that should not exist is critical if it does")
def unwanted():
    with Daemon(following("maintenance", ", exists: false"), start=False) as daemon:
        daemon.start()
        becomes(daemon, "ok", "no such file: {}/maintenance")
        (daemon.folder / "maintenance").touch()
        becomes(daemon, "critical", "maintenance exists")
        (daemon.folder / "maintenance").unlink()
        becomes(daemon, "ok", "no such file: {}/maintenance")
        (daemon.folder / "maintenance").mkdir()
        becomes(daemon, "critical", "maintenance exists")


@test("a replaced directory is followed at its path, and so is a changed link")
def replaced():
    with Daemon(following("link/a"), start=False) as daemon:
        for name in ("one", "two"):
            (daemon.folder / name).mkdir()
        link = daemon.folder / "link"
        link.symlink_to("one")
        daemon.start()
        becomes(daemon, "critical", "no such file: {}/link/a")
        link.unlink()
        link.symlink_to("two")
        daemon.done("refresh", "backup")
        (daemon.folder / "two" / "a").touch()
        becomes(daemon, "ok", "a: exists")
        (daemon.folder / "two").rename(daemon.folder / "three")
        becomes(daemon, "critical", "no such file: {0}/link/a; its link leads to {0}/two, which does not exist")


@test("directories of the path that are moved, removed, created or linked again are noticed at once")
def directories():
    paths = {"moved": "moved/c/x", "removed": "removed/x", "linked": "latest/x", "new": "new/sub/x"}

    def servers(folder):
        return "defaults: { interval: 1h }\nservers:\n" + "".join(f"  {name}: {{ file: {folder}/{path} }}\n" for name, path in paths.items())

    def change(command):
        subprocess.run(["sh", "-ec", command], cwd=daemon.folder, check=True)

    def exist(*names):
        for name in paths:
            if name in names:
                becomes(daemon, "ok", "x: exists", name)
            else:
                becomes(daemon, "critical", f"no such file: {{}}/{paths[name]}", name)

    with Daemon(servers, start=False) as daemon:
        change("mkdir -p moved/c removed d1 d2; touch moved/c/x removed/x d1/x; ln -s d1 latest")
        daemon.start()
        exist("moved", "removed", "linked")
        change("mv moved away; rm -r removed; ln -sfn d2 latest; mkdir -p new/sub; touch new/sub/x")
        exist("new")
        change("mkdir removed; touch removed/x d2/x; mv away moved; mv new old")
        exist("moved", "removed", "linked")


@test("a file in a directory that cannot be entered is a failed load")
def denied():
    with Daemon(following("locked/file"), start=False) as daemon:
        if os.geteuid() == 0:
            # Root can enter everything, but not even root can follow a loop of links.
            os.symlink("locked", daemon.folder / "locked")
        else:
            (daemon.folder / "locked").mkdir(mode=0)
        daemon.start()
        eventually(lambda: daemon.describe("backup")["phase"] == "failed", "the server is failed")
        contains(daemon.describe("backup")["message"], f"cannot access {daemon.folder}/locked/file: ")


@test("a killed worker is replaced, and the worker ends when the file is no longer followed")
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


@test("a backup that is still being written is critical only after as many scheduled checks as “failures” says")
def growing():
    def servers(folder):
        return f"servers: {{ backup: {{ file: {{ path: {folder}/db.dump, size: 1M }}, interval: 1h, failures: 3 }} }}\n"

    with Daemon(servers, start=False) as daemon:
        file = daemon.folder / "db.dump"
        file.write_bytes(bytes(1 << 20))
        daemon.start()
        becomes(daemon, "ok", "db.dump: 1 MiB")
        for size in range(1, 6):
            file.write_bytes(bytes(size))
            eventually(lambda: f"db.dump is {size} B" in (daemon.describe("backup").get("message") or ""), "the daemon has seen it")
            contains(daemon.describe("backup")["message"], "1 of 3 before it counts")
        file.write_bytes(bytes(1 << 20))
        eventually(lambda: daemon.describe("backup").get("message") is None, "all is well")
        equal(daemon.describe("backup")["status"]["level"], "ok")
