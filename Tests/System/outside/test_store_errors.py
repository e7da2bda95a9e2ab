# SPDX-License-Identifier: Apache-2.0
"""A disk that fails, or does not answer, while the daemon works: at most the state of that time is lost."""

import contextlib
import errno
import os
import signal
import sqlite3
import subprocess
import time

from harness.daemon import Daemon, run
from harness.expect import contains, equal, eventually
from harness.faulty_store import FaultyStore, faulty_daemon
from harness.runner import test
from harness.store import small_disk

CONFIGURATION = """\
accept: any
servers:
  db: { push: true }
  login: { push: true }
"""
FILES = {"statusd.lock", "statusd.lock.next", "statusd.sqlite", "statusd.sqlite-shm", "statusd.sqlite-wal"}


@contextlib.contextmanager
def daemons(errors, start=True):
    """A daemon for each error, with the store that has it."""
    with contextlib.ExitStack() as stack:
        pairs = {}
        for error in errors:
            daemon = stack.enter_context(Daemon(CONFIGURATION, start=False))
            pairs[error] = daemon, FaultyStore(daemon)
            if start:
                daemon.start()
        yield pairs


def texts(daemon, server):
    """The texts of a server in the history."""
    return [entry["text"] for entry in daemon.history(server=server) if entry["kind"] == "changed"]


def assert_responsive(daemon):
    """Checks that posts, selections and streams work as usual."""
    with daemon.connect() as watcher, daemon.connect() as connection:
        events = watcher.watch(server="login")
        equal(next(events)["kind"], "snapshot")
        times = []
        for number in range(20):
            begin = time.monotonic()
            connection.call("Post", {"server": "login", "text": f"Step {number}", "level": "warning" if number % 2 else "ok"})
            connection.call("Select", {"server": ("db", "login")[number % 2]})
            connection.call("Describe", {"server": "db"})
            times.append(time.monotonic() - begin)
        changes = (event["server"]["status"]["text"] for event in events if event["kind"] == "changed")
        equal([next(changes) for _ in range(20)], [f"Step {number}" for number in range(20)])
        assert sorted(times)[10] < 0.1 and max(times) < 1, times


@test("writes that fail are reported once, disturb nothing, and are repeated when the disk works again")
def failing_writes():
    with daemons((errno.EIO, errno.ENOSPC, errno.EROFS)) as pairs:
        for error, (daemon, store) in pairs.items():
            daemon.done("post", "db", "before")
            texts(daemon, "db")  # so it is saved
            store.fail(error, "write,truncate,sync")
            daemon.done("post", "db", "meanwhile")
            daemon.done("post", "guest", "hello")
            daemon.done("select", "guest")
        for daemon, _ in pairs.values():
            eventually(lambda d=daemon: "cannot save the state" in d.log(), "the report")
            contains(daemon.ctl("status", "db").err, "warning: the state is not saved")
            assert_responsive(daemon)
        # After one second, and after two more.
        attempts = {error: len(store.calls()) for error, (_, store) in pairs.items()}
        time.sleep(2.5)
        for error, (daemon, store) in pairs.items():
            equal(daemon.log().count("cannot save the state"), 1, os.strerror(error))
            assert 0 < len(store.calls()) - attempts[error] < 20, store.calls()[attempts[error]:]
            daemon.done("select", "guest")
            store.work()
        for daemon, _ in pairs.values():
            eventually(lambda d=daemon: "the state is saved again" in d.log(), "the end of it")
            equal(daemon.ctl("status", "db").err, "")
            daemon.done("post", "another", "hello")
            equal(texts(daemon, "another"), ["hello"])
            daemon.stop(signal.SIGKILL)
            daemon.start()
            equal(daemon.text("db"), "meanwhile")
            equal(daemon.text("guest"), "hello")
            equal(daemon.describe()["name"], "guest")
            equal(texts(daemon, "db"), ["before", "meanwhile"])
            equal(texts(daemon, "guest"), ["hello"])
            equal(texts(daemon, "another"), ["hello"])
            equal(texts(daemon, "login"), [f"Step {number}" for number in range(20)])
            equal(set(os.listdir(daemon.folder / "state")) - FILES, set())


@test("a log that cannot be merged into the file loses nothing")
def failing_merge():
    with faulty_daemon(CONFIGURATION) as (daemon, store):
        store.fail(errno.EIO, "write,sync", "statusd.sqlite")
        for number in range(12):
            for guest in range(30):
                with daemon.connect() as connection:
                    connection.call("Post", {"server": f"guest-{guest}", "text": f"{number} " + "x" * 1000})
            texts(daemon, "db")
        equal(daemon.log().count("cannot save the state"), 0)
        assert "write statusd.sqlite" in store.calls(), "the log was never merged"
        daemon.stop(signal.SIGKILL)
        store.work()
        daemon.start()
        for guest in range(30):
            equal(daemon.text(f"guest-{guest}"), "11 " + "x" * 1000)


@test("a state that cannot be opened at the start, because of the disk or a limit, stays where it is")
def failing_start():
    with daemons((errno.EIO, errno.ENOSPC, errno.EROFS, errno.EMFILE)) as pairs:
        for error, (daemon, store) in pairs.items():
            daemon.done("post", "db", "before")
            daemon.done("post", "guest", "hello")
            daemon.stop()
            for calls, file in (("open", "statusd.sqlite-wal"), ("open", "statusd.sqlite-shm"), ("open,look", "*"),
                                ("read", "*"), ("write,truncate", "*"), ("open", "statusd.sqlite")):
                store.fail(error, calls, file)
                log = len(daemon.log())
                daemon.start()
                eventually(lambda d=daemon, n=log: "cannot save the state" in d.log()[n:], "the report")
                contains(daemon.ctl("status", "db").err, "warning: the state is not saved")
                equal(set(os.listdir(daemon.folder / "state")) - FILES, set(), f"{os.strerror(error)} {calls} {file}")
                daemon.stop(signal.SIGKILL)
            store.work()
            daemon.start()
            equal(daemon.text("db"), "before")
            equal(daemon.text("guest"), "hello")


@test("a killed daemon has its state again on a disk without room, not even for SQLite's index of the log")
def no_room_after_a_kill():
    with faulty_daemon(CONFIGURATION) as (daemon, store):
        daemon.done("post", "db", "before")
        daemon.done("post", "guest", "hello")
        for text, calls in (("before", "open,write,truncate"), ("after", "write")):
            daemon.done("post", "db", text)
            eventually(lambda t=text: t in texts(daemon, "db"), "the batch")
            daemon.stop(signal.SIGKILL)
            store.fail(errno.ENOSPC, calls)
            daemon.start()
            equal((daemon.text("db"), daemon.text("guest")), (text, "hello"))
            contains(daemon.ctl("status", "db").err, "warning: the state is not saved")
            store.work()
            daemon.done("post", "guest", "hello")
            eventually(lambda: "the state is saved again" in daemon.log(), "the end of it", 20)
        assert "is now" not in daemon.log(), "nothing is set aside"


@test("a query of the history that hangs ends with its client, and does not keep the daemon from stopping")
def hanging_read():
    with faulty_daemon(CONFIGURATION) as (daemon, store):
        daemon.done("post", "db", "before")
        store.hang("look")
        with daemon.connect() as connection, daemon.connect() as waiting:
            for each in (connection, waiting):
                each.send("History", {"server": "db"}, more=True)
            time.sleep(0.2)
            begin = time.monotonic()
            equal(daemon.stop(), 0)
            assert time.monotonic() - begin < 5, "it did not stop"


@test("a state that cannot be read at the start is set aside when the disk works again, and is never replaced")
def unread():
    with faulty_daemon(CONFIGURATION) as (daemon, store):
        daemon.done("post", "db", "before")
        daemon.done("post", "guest", "hello")
        daemon.stop()
        store.fail(errno.EIO, "read")
        daemon.start()
        contains(daemon.log(), "cannot save the state")
        daemon.done("post", "login", "after")
        time.sleep(2)
        equal(set(os.listdir(daemon.folder / "state")) - FILES, set())
        store.work()
        file = daemon.folder / "state" / "statusd.sqlite.unread"
        eventually(lambda: f"it could not be read when statusd started; it is now {file}" in daemon.log(), "the report")
        contains(daemon.ctl("status", "db").err, "warning: an earlier state was set aside", str(file))
        eventually(lambda: "after" in texts(daemon, "login"), "the new state")
        daemon.stop(signal.SIGKILL)
        daemon.start()
        equal((daemon.text("db"), daemon.text("login")), (None, "after"))
        with contextlib.closing(sqlite3.connect(file)) as kept:
            equal(kept.execute("SELECT name, text FROM servers WHERE text IS NOT NULL ORDER BY name").fetchall(),
                  [("db", "before"), ("guest", "hello")])


@test("a write that hangs delays nothing but the next one, and the daemon still stops")
def hanging_write():
    with faulty_daemon(CONFIGURATION) as (daemon, store):
        daemon.done("post", "db", "before")
        texts(daemon, "db")
        store.hang("write,sync")
        daemon.done("post", "db", "meanwhile")
        begin = time.monotonic()
        while time.monotonic() < begin + 2:
            assert_responsive(daemon)
        store.work()
        equal(texts(daemon, "db"), ["before", "meanwhile"])
        equal("cannot save" in daemon.log(), False)
        store.hang("write,sync")
        daemon.done("post", "db", "lost")
        begin = time.monotonic()
        equal(daemon.stop(), 0)
        assert time.monotonic() - begin < 5, "slow to stop"
        contains(daemon.log(), "cannot save the last changes")
        store.work()
        daemon.start()
        equal(daemon.text("db"), "meanwhile")


@test("after a start on a read-only disk, all is saved when the disk can be written, and the earlier state is set aside")
def read_only_at_start():
    with Daemon(CONFIGURATION, start=False) as daemon, small_disk(daemon, "4m") as state:
        daemon.start()
        daemon.done("post", "db", "before")
        eventually(lambda: "before" in texts(daemon, "db"), "the batch")
        daemon.stop(signal.SIGKILL)
        equal(run("mount", "-o", "remount,ro", state).status, 0)
        daemon.start()
        contains(daemon.ctl("status", "db").err, "warning: the state is not saved")
        daemon.ctl("history", "db")
        daemon.done("post", "db", "after")
        equal(run("mount", "-o", "remount,rw", state).status, 0)
        eventually(lambda: "the state is saved again" in daemon.log(), "the end of it", 20)
        contains(daemon.ctl("status", "db").err, "warning: an earlier state was set aside", "statusd.sqlite.unread")
        daemon.stop()
        daemon.start()
        equal(daemon.text("db"), "after")


@test("a directory of --state that the service's sandbox makes read-only is reported with the setting to use instead")
def sandboxed_directory():
    with Daemon(CONFIGURATION, start=False) as daemon, small_disk(daemon, "1m") as state:
        equal(run("mount", "-o", "remount,ro", state).status, 0)
        daemon.start(["--state", str(state / "new")])
        eventually(lambda: "no state is kept" in daemon.log(), "the reason in the log")
        contains(daemon.log(), f"no state is kept: cannot create the directory {state}/new: read-only file system", "StateDirectory=", "--state")


@test("a limit of the size of files is an error like a full disk: the daemon says so, and continues")
def size_limit():
    for blocks in (0, 100):
        limited = ["/bin/sh", "-c", f"ulimit -f {blocks}; exec \"$@\"", "sh"]
        # Its log is a file, too, and would have the same limit.
        with Daemon(CONFIGURATION, prefix=limited, start=False) as daemon:
            daemon.start(stderr=subprocess.DEVNULL)
            for number in range(100):
                with daemon.connect() as connection:
                    connection.call("Post", {"server": "db", "text": f"{number} " + "x" * 900})
            eventually(lambda: "the state is not saved" in daemon.ctl("status", "db").err, "the warning")
            assert_responsive(daemon)
