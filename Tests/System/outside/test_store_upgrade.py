# SPDX-License-Identifier: Apache-2.0
"""State files that an earlier or a later statusd has written."""

import contextlib
import pathlib
import shutil
import sqlite3

from harness.daemon import Daemon
from harness.expect import contains, equal
from harness.runner import test

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
CONFIGURATION = """\
accept: any
select: db
history: { keep: 100y }
servers:
  db: { push: true, description: Primary database }
  login: { push: true }
"""
# The contents of each fixture.
TEXTS = {"db": ("Signed In again", "ok"), "login": ("3 of 5 nodes", "warning"), "guest": ("hello", "ok")}
CHANGES = [("started", None, None), ("added", "db", None), ("added", "login", None), ("selected", "db", None),
           ("changed", "db", "Signed In"), ("changed", "login", "3 of 5 nodes"), ("added", "guest", None), ("changed", "guest", "hello"),
           ("changed", "db", "Replaying the log"), ("selected", "guest", "hello"), ("changed", "db", "Signed In again"),
           ("stopped", None, None)]


def history(daemon):
    """All entries of the history."""
    return [(entry["kind"], entry.get("server"), entry.get("text")) for entry in daemon.history(all=True)]


def content(path):
    """Everything in a state file, and its version."""
    with contextlib.closing(sqlite3.connect(path)) as store:
        return store.execute("PRAGMA user_version").fetchone(), list(store.iterdump())


def upgraded(fixture):
    """Checks how a daemon upgrades a file that an earlier one has written."""
    with Daemon(CONFIGURATION, start=False) as daemon:
        shutil.copy(fixture, daemon.folder / "state" / "statusd.sqlite")
        daemon.start()
        assert "cannot" not in daemon.log(), daemon.log()
        for name, (text, level) in TEXTS.items():
            server = daemon.describe(name)
            equal((server["status"]["text"], server["status"]["level"], server["restored"]), (text, level, True), name)
        equal(daemon.describe()["name"], "guest", "the selection")
        equal(daemon.describe("db")["description"], "Primary database")
        equal(history(daemon), CHANGES + [("started", None, None)])
        daemon.done("post", "login", "5 of 5 nodes")
        daemon.done("post", "another", "hello")
        daemon.stop()
        daemon.start()
        equal(daemon.text("login"), "5 of 5 nodes")
        equal(daemon.text("another"), "hello")
        equal(daemon.describe()["name"], "guest")
        contains(history(daemon), *CHANGES, ("changed", "login", "5 of 5 nodes"))


@test("a state that any earlier version has written continues: statuses, selection and history")
def earlier():
    fixtures = sorted(FIXTURES.glob("state-*.sqlite"), key=lambda file: int(file.stem.removeprefix("state-")))
    with Daemon(CONFIGURATION) as daemon:
        daemon.stop()
        (version,), _ = content(daemon.folder / "state" / "statusd.sqlite")
    equal([file.name for file in fixtures], [f"state-{number}.sqlite" for number in range(1, version + 1)],
          "one fixture for each version of the tables")
    for fixture in fixtures:
        upgraded(fixture)


@test("a state that a later version has written is set aside unchanged")
def later():
    for is_killed in (False, True):
        with Daemon(CONFIGURATION, start=False) as daemon:
            path, aside = (daemon.folder / "state" / f"statusd.sqlite{end}" for end in ("", ".newer"))
            shutil.copy(FIXTURES / "state-1.sqlite", path)
            with contextlib.closing(sqlite3.connect(path)) as store:
                store.executescript("PRAGMA user_version = 99; CREATE TABLE future (word TEXT); INSERT INTO future VALUES ('x');")
                if is_killed:  # the changes of the last daemon are only in the log
                    for end in ("", "-wal", "-shm"):
                        shutil.copy(f"{path}{end}", f"{daemon.folder}/copy{end}")
            if is_killed:
                for end in ("", "-wal", "-shm"):
                    shutil.copy(f"{daemon.folder}/copy{end}", f"{path}{end}")
                before = content(daemon.folder / "copy")
            else:
                before, bytes_before = content(path), path.read_bytes()
            daemon.start()
            contains(daemon.log(), "a newer statusd has written it (version 99)", str(aside))
            equal(daemon.describe("db").get("status"), None)
            daemon.done("post", "db", "Signed Out")
            if not is_killed:
                equal(aside.read_bytes() == bytes_before, True, "the same bytes")
            equal(content(aside), before)
            equal(before[0], (99,))
