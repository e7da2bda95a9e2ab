# SPDX-License-Identifier: Apache-2.0
"""Restarts, which keep statuses, the selection and streams; and a state that cannot be used or saved."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import time

from harness.daemon import Daemon
from harness.expect import contains, equal, eventually
from harness.runner import test
from harness.store import is_saved, small_disk, stored, wait_until_saved, wait_until_saved_at_last

CONFIGURATION = """\
accept: any
servers:
  db: { push: true, description: Primary database }
  login: { push: true, ttl: 1h }
"""


def restart(daemon, how=signal.SIGTERM):
    """Ends the daemon and starts it again."""
    daemon.stop(how)
    daemon.start()


@test("a restart keeps statuses with their times, the selection, and servers that were added by posts")
def everything():
    with Daemon(CONFIGURATION) as daemon:
        daemon.done("post", "db", "Signed In", "--level", "warning")
        daemon.done("post", "guest", "hello")
        daemon.done("select", "guest")
        before = daemon.describe("db")
        restart(daemon)
        after = daemon.describe("db")
        equal(after.pop("restored"), True)
        equal(after, before)
        contains(daemon.ctl("status").out, "guest: hello (before restart)")
        contains(daemon.done("list"), "Signed In (before restart)")
        contains(daemon.manager.status(), "guest: hello (before restart)")
        equal(daemon.log().count("added"), 3, "a restart adds no server")
        daemon.done("post", "guest", "hello")
        equal(daemon.describe("guest").get("restored"), None)
        eventually(lambda: daemon.manager.status() == "guest: hello", "the mark to go")
        daemon.done("forget", "guest")
        restart(daemon)
        equal(daemon.ctl("status", "guest").status, 4)


@test("a status is saved two seconds after it was posted at the latest, so a killed daemon has it again")
def killed():
    with Daemon(CONFIGURATION) as daemon:
        for number in range(3):
            daemon.done("post", "db", f"Step {number}")
            wait_until_saved(daemon, "db", f"Step {number}")
            restart(daemon, signal.SIGKILL)
            equal(daemon.text("db"), f"Step {number}")


@test("watch shows every change once over restarts, and in order")
def watch_over_restarts():
    with Daemon(CONFIGURATION) as daemon:
        daemon.done("post", "db", "begin")
        with daemon.follow("watch", "--json", "db") as lines:
            lines.until("begin")
            for number in range(30):
                daemon.done("post", "db", f"Step {number}")
                if number % 10 == 5:
                    restart(daemon)
            lines.until("Step 29")
            events = [json.loads(line) for line in lines.seen if '"event"' in line or '"kind"' in line]
            texts = [e["server"]["status"]["text"] for e in events if e["kind"] == "changed"]
            equal(texts, [f"Step {number}" for number in range(30)])
            assert not [e for e in events if e["kind"] in ("gap", "snapshot")][1:], events


@test("behind a cursor from before a crash, watch begins with a gap of unknown length and a snapshot, also after a clean restart")
def watch_over_crashes():
    with Daemon(CONFIGURATION) as daemon:
        daemon.done("post", "db", "1")
        with daemon.connect() as connection:
            cursor = connection.call("GetCursor")["cursor"]
        wait_until_saved(daemon, "db", "1")
        restart(daemon, signal.SIGKILL)
        for text in ("1", "2"):
            with daemon.connect() as connection:
                connection.send("Watch", {"server": "db", "since": cursor}, more=True)
                gap, snapshot = (connection.receive()["parameters"]["event"] for _ in range(2))
                equal((gap["kind"], gap.get("missed"), snapshot["kind"]), ("gap", None, "snapshot"))
                equal(snapshot["server"]["status"]["text"], text)
                daemon.done("post", "db", "2")
                change = connection.receive()["parameters"]["event"]
                equal((change["kind"], change["server"]["status"]["text"]), ("changed", "2"))
            # What came after the crash continues.
            restart(daemon)
            with daemon.connect() as connection:
                connection.send("Watch", {"server": "db", "since": change["cursor"]}, more=True)
                equal(connection.receive()["parameters"]["event"]["kind"], "alive")


@test("a copy of the state in a new directory begins new streams, because other runs may have continued the original")
def copied():
    with Daemon(CONFIGURATION) as daemon:
        daemon.done("post", "db", "old")
        daemon.stop()
        state, copy = daemon.folder / "state", daemon.folder / "copy"
        copy.mkdir(mode=0o700)
        shutil.copy(state / "statusd.sqlite", copy)
        daemon.start()
        daemon.done("post", "db", "new")
        with daemon.connect() as connection:
            cursor = connection.call("GetCursor")["cursor"]
        daemon.stop()
        shutil.rmtree(state)
        copy.rename(state)
        daemon.start()
        equal(daemon.text("db"), "old")
        with daemon.connect() as connection:
            connection.send("Watch", {"server": "db", "since": cursor}, more=True)
            gap, snapshot = (connection.receive()["parameters"]["event"] for _ in range(2))
        equal((gap["kind"], gap.get("missed"), snapshot["kind"]), ("gap", None, "snapshot"))
        restart(daemon)
        with daemon.connect() as connection:
            equal(connection.call("GetCursor")["cursor"]["epoch"], snapshot["cursor"]["epoch"], "the copy goes on")


@test("a client that reads the history while a batch is saved does not wait longer than for the next one")
def history_at_once():
    with Daemon(CONFIGURATION) as daemon:
        for _ in range(10):
            restart(daemon, signal.SIGKILL)
            begin = time.monotonic()
            with daemon.connect() as connection:
                connection.send("History", {"all": True, "limit": 1}, more=True)
                connection.receive()
            assert time.monotonic() - begin < 1, "waited in vain"


@test("wait sees a state that lasted only while the daemon restarted")
def wait_over_restart():
    with Daemon(CONFIGURATION) as daemon, daemon.connect() as connection:
        cursor = connection.call("GetCursor")["cursor"]
        restart(daemon)
        daemon.done("post", "db", "brief")
        daemon.done("post", "db", "over")
        with daemon.connect() as again:
            reply = again.call("Wait", {"server": "db", "text": "brief", "since": cursor, "timeoutMilliseconds": 0})
            equal(reply["server"]["status"]["text"], "brief")


@test("a restart does not repeat checks early, and keeps the results that do not count yet")
def checks():
    with Daemon(lambda folder: (
            "servers:\n"
            f"  plugin: {{ exec: [/bin/sh, -c, 'echo $$ >>{folder}/runs; exit $(cat {folder}/level)'], interval: 1h, failures: 3 }}\n"
    ), start=False) as daemon:
        (daemon.folder / "level").write_text("0")
        daemon.start()
        eventually(lambda: daemon.describe("plugin").get("status"), "the first check")
        (daemon.folder / "level").write_text("2")
        daemon.ctl("refresh", "plugin")
        contains(daemon.describe("plugin")["message"], "1 of 3")
        runs = len((daemon.folder / "runs").read_text().splitlines())
        restart(daemon)
        equal(daemon.describe("plugin")["restored"], True)
        equal(len((daemon.folder / "runs").read_text().splitlines()), runs)
        daemon.ctl("refresh", "plugin")
        contains(daemon.describe("plugin")["message"], "2 of 3")
        daemon.ctl("refresh", "plugin")
        equal(daemon.describe("plugin")["status"]["level"], "critical")
        # Damage counts as no more results than are needed.
        daemon.stop()
        with contextlib.closing(sqlite3.connect(daemon.folder / "state" / "statusd.sqlite")) as store, store:
            store.execute("UPDATE servers SET streak = ?, level = 'ok'", (2**63 - 1,))
        daemon.start()
        daemon.ctl("refresh", "plugin")
        equal(daemon.describe("plugin")["status"]["level"], "critical")


@test("a status of another source is not restored")
def other_source():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.stop()
        daemon.file.write_text("servers: { db: { tcp: '127.0.0.1:1' } }\n")
        daemon.start()
        eventually(lambda: "refused" in (daemon.text("db") or ""), "the check")
        assert "Signed In" not in daemon.log().split("stopping")[-1], daemon.log()
        daemon.stop()
        daemon.file.write_text("servers: { db: { notify: true } }\n")
        daemon.start()
        equal(daemon.describe("db").get("restored"), None, "nothing of it is from before")
        assert "(before restart)" not in daemon.done("list"), daemon.done("list")


@test("servers that were added by posts do not come back if the configuration accepts none any more")
def unwelcome_guests():
    with Daemon("accept: any\nselect: db\nservers: { db: { push: true } }\n") as daemon:
        daemon.done("post", "guest", "hello")
        daemon.done("select", "guest")
        daemon.stop()
        daemon.file.write_text("select: db\nservers: { db: { push: true } }\n")
        daemon.start()
        equal(daemon.ctl("status", "guest").status, 4)
        contains(daemon.ctl("post", "guest", "hello").err, "accept: configured")
        equal(daemon.describe()["name"], "db", "the configuration's choice takes the place of a selection that is gone")


@test("servers of a drop-in that is invalid at a restart keep their status and the selection until it is corrected")
def invalid_drop_in():
    with Daemon("select: db\nservers: { db: { push: true } }\n", start=False) as daemon:
        drop_in = daemon.file.parent / "conf.d" / "web.yaml"
        drop_in.parent.mkdir()
        drop_in.write_text("accept: any\nservers: { web: { push: true } }\n")
        daemon.start()
        daemon.done("post", "web", "Signed In")
        daemon.done("post", "guest", "hello")
        daemon.done("select", "web")
        good = drop_in.read_text()
        drop_in.write_text("servers: [\n")
        for _ in range(2):
            restart(daemon)
            state = daemon.describe("web")
            equal((state["phase"], state["status"]["text"], state["selected"]), ("failed", "Signed In", True))
            contains(state["message"], "it may be configured in", str(drop_in), "cannot be used; correct that file")
            contains(daemon.ctl("post", "web", "Signed Out").err, "cannot be followed", str(drop_in))
            equal(daemon.describe("guest")["phase"], "failed")
            contains(daemon.ctl("forget", "web").err, str(drop_in))
        drop_in.write_text(good)
        contains(daemon.done("reload", "--dry-run"), "changed", "web")
        with daemon.connect() as connection:
            reply = connection.call("Reload")
        equal((reply["added"], reply["changed"], reply["removed"]), ([], ["web"], []))
        state = daemon.describe("web")
        equal((state["phase"], state["status"]["text"], state["selected"]), ("loaded", "Signed In", True))
        equal(daemon.describe("guest")["phase"], "loaded")
        daemon.done("post", "guest", "hello again")
        drop_in.write_text("servers: [\n")
        restart(daemon)
        drop_in.unlink()
        with daemon.connect() as connection:
            equal(connection.call("Reload")["removed"], ["guest", "web"])
        equal([daemon.ctl("status", name).status for name in ("web", "guest")], [4, 4])
        equal(daemon.describe()["name"], "db")


@test("the time in which the daemon was down counts, but an overdue server gets one interval to report")
def overdue():
    with Daemon("servers: { db: { push: true, ttl: 2s } }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.stop()
        time.sleep(2.5)
        daemon.start()
        state = daemon.describe("db")
        equal(state["stale"], False)
        contains(state["message"], "ended while statusd was down", "2s after the restart")
        eventually(lambda: daemon.describe("db")["stale"], "stale after the grace")
        equal(daemon.describe("db").get("message"), None)


@test("an overdue server gets that interval once, however often the daemon restarts")
def overdue_again():
    with Daemon("servers: { db: { push: true, ttl: 2s } }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.stop()
        time.sleep(2.5)
        daemon.start()
        for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM, signal.SIGTERM):
            time.sleep(0.8)
            restart(daemon, how)
        equal(daemon.describe("db")["stale"], True)


@test("a time to live continues over a boot and restarts after it, even of a server without other changes")
def boot():
    with Daemon("servers: { db: { push: true, ttl: 4s }, other: { push: true } }\n", start=False) as daemon:
        for boot in ("1", "2", "2"):
            daemon.environment["STATUSD_BOOT_ID"] = boot
            daemon.start()
            if boot == "1":
                daemon.done("post", "db", "Signed In")
                wait_until_saved(daemon, "db", "Signed In")
                # The boot clock of the other boot was hours ahead.
                daemon.stop()
                with contextlib.closing(sqlite3.connect(daemon.folder / "state" / "statusd.sqlite")) as store, store:
                    store.execute("UPDATE servers SET refreshed_at = refreshed_at + 1e11")
                    store.execute("UPDATE daemon SET noted_since_boot = noted_since_boot + 1e11")
            else:
                daemon.done("post", "other", "hello")
                wait_until_saved(daemon, "other", "hello")
                daemon.stop()
        daemon.start()
        eventually(lambda: daemon.describe("db")["stale"], "db to be stale", 12)


@test("the grace period, and the mark of a status from before, are right after a start with an invalid drop-in")
def grace_of_waiting():
    with Daemon("servers: { db: { push: true } }\n", start=False) as daemon:
        drop_in = daemon.file.parent / "conf.d" / "web.yaml"
        drop_in.parent.mkdir()
        good = "servers: { web: { push: true, ttl: 2s }, empty: { push: true } }\n"
        drop_in.write_text(good)
        daemon.start()
        daemon.done("post", "web", "Signed In")
        drop_in.write_text("servers: [\n")
        for _ in range(2):
            restart(daemon)
        daemon.stop()
        drop_in.write_text(good)
        time.sleep(2.5)
        daemon.start()
        contains(daemon.describe("web")["message"], "ended while statusd was down")
        equal(daemon.describe("empty").get("restored"), None)


@test("a server that was added by a post and is configured now counts as configured after a crash")
def configured_guest():
    with Daemon("accept: any\n") as daemon:
        daemon.done("post", "db", "Signed In")
        wait_until_saved(daemon, "db", "Signed In")
        daemon.file.write_text("accept: any\nservers: { db: { push: true } }\n")
        daemon.done("reload")
        eventually(lambda: stored(daemon, "SELECT guest FROM servers") == 0, "the batch", 3)
        daemon.stop(signal.SIGKILL)
        daemon.file.write_text("accept: any\n")
        daemon.start()
        equal(daemon.ctl("status", "db").status, 4)


@test("a state that is damaged, newer or of another program is set aside, and status says so")
def set_aside():
    def newer(path):
        with contextlib.closing(sqlite3.connect(path)) as store:
            store.execute("PRAGMA user_version = 99")

    def foreign(path):
        with contextlib.closing(sqlite3.connect(path)) as store:
            store.execute("PRAGMA application_id = 1")

    def damaged(path):
        with open(path, "r+b") as file:
            file.write(b"x" * 200)

    def long_text(path):
        with contextlib.closing(sqlite3.connect(path)) as store, store:
            store.execute("UPDATE servers SET text = ?", ("x" * 2_000_000,))

    for damage, suffix, reason in ((newer, "newer", "a newer statusd"), (foreign, "foreign", "another program"),
                                   (long_text, "damaged", "too big"), (damaged, "damaged", "not a database")):
        with Daemon(CONFIGURATION) as daemon:
            daemon.done("post", "db", "Signed In")
            daemon.stop()
            damage(daemon.folder / "state" / "statusd.sqlite")
            daemon.start()
            contains(daemon.log(), "cannot use the state", reason, f"statusd.sqlite.{suffix}")
            contains(daemon.ctl("status", "db").err, "warning: an earlier state was set aside", reason)
            result = daemon.ctl("status")
            contains(result.err, "warning: an earlier state was set aside", "no server is selected")
            equal(result.status, 4)
            for command in ("status", "history", "refresh"):
                result = daemon.ctl(command, "guest")
                equal((result.status, result.err.count("warning: an earlier state was set aside")), (4, 1), command)
            daemon.file.write_text("accept: any\n")
            daemon.done("reload")
            contains(daemon.ctl("list").err, "no servers yet", "warning: an earlier state was set aside")
            daemon.file.write_text(CONFIGURATION)
            daemon.done("reload")
            daemon.done("post", "db", "Signed Out")
            restart(daemon)
            equal(daemon.text("db"), "Signed Out")


@test("status says that the file had no state, or that rows of it could not be read")
def losses():
    for change, words in (("DELETE FROM servers; DELETE FROM daemon", "had no state; nothing was restored"),
                          ("UPDATE servers SET phase = 'dancing' WHERE name = 'db'", "the status of one server could not be read")):
        with Daemon(CONFIGURATION) as daemon:
            daemon.done("post", "db", "Signed In")
            daemon.stop()
            with contextlib.closing(sqlite3.connect(daemon.folder / "state" / "statusd.sqlite")) as store:
                store.executescript(change)
            daemon.start()
            contains(daemon.ctl("status", "db").err, "warning: the ", words)
            contains(daemon.log(), words)


@test("a file in which a client's query finds damage is set aside, and everything is written to a new one")
def damaged_while_running():
    with Daemon(CONFIGURATION) as daemon:
        file = daemon.folder / "state" / "statusd.sqlite"
        daemon.done("post", "db", "before")
        restart(daemon)
        with open(file, "r+b") as damaged:
            damaged.seek(4096)
            damaged.write(b"x" * (file.stat().st_size - 4096))
        equal(daemon.ctl("history", "db").status, 1)
        daemon.done("post", "login", "after")
        eventually(lambda: f"it is now {file}.damaged; starting a new file" in daemon.log(), "the report", 5)
        eventually(lambda: is_saved(daemon, "login", "after"), "the new file", 5)
        equal(is_saved(daemon, "db", "before"), True)
        contains(daemon.ctl("status", "db").err, "warning: an earlier state was set aside")
        # The history continues with the present states.
        summary = json.loads(daemon.done("history", "db", "--summary", "--json", "--since", "-1h"))
        assert sum(bucket["times"]["ok"] for bucket in summary["buckets"]) > 0, summary
        restart(daemon)
        equal((daemon.text("db"), daemon.text("login")), ("before", "after"))


@test("a full disk is reported once and affects nothing else; everything is saved when there is room again")
def full_disk():
    with Daemon(CONFIGURATION, start=False) as daemon, small_disk(daemon, "512k") as state:
        daemon.start()
        daemon.done("post", "db", "Signed In")
        wait_until_saved(daemon, "db", "Signed In")
        with open(state / "ballast", "wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(b"x" * 4096)
        for number in range(40):
            daemon.done("post", f"guest-{number}", "x" * 1000)
        eventually(lambda: "cannot save the state" in daemon.log(), "the report")
        contains(daemon.log(), "full")
        contains(daemon.ctl("status", "db").err, "warning: the state is not saved")
        time.sleep(2.5)
        equal(daemon.log().count("cannot save the state"), 1, "reported once")
        daemon.done("post", "db", "Signed Out")
        (state / "ballast").unlink()
        eventually(lambda: "the state is saved again" in daemon.log(), "the end of it", 20)
        equal(daemon.ctl("status", "db").err, "")
        restart(daemon)
        equal(daemon.text("db"), "Signed Out")
        equal(daemon.text("guest-39"), "x" * 1000)


@test("a daemon that starts on a full disk has its state, and saves it again when there is room")
def full_at_start():
    with Daemon(CONFIGURATION, start=False) as daemon, small_disk(daemon, "512k") as state:
        for how in (signal.SIGTERM, signal.SIGKILL):
            daemon.start()
            daemon.done("post", "db", "Signed In")
            wait_until_saved(daemon, "db", "Signed In")
            daemon.stop(how)
            with open(state / "ballast", "wb", buffering=0) as ballast, contextlib.suppress(OSError):
                while True:
                    ballast.write(b"x" * 512)
            daemon.start()
            equal(daemon.text("db"), "Signed In")
            (state / "ballast").unlink()
            daemon.done("post", "db", "Signed Out")
            wait_until_saved_at_last(daemon, "db", "Signed Out")
            daemon.stop()


@test("a killed daemon saves at once, and takes little memory, also if very many servers have come and gone", limit=120)
def many_former_servers():
    with Daemon("accept: any\nhistory: { keep: 100y, changes: 10M }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.stop()
        add_former_servers(daemon.folder / "state" / "statusd.sqlite", 400_000)
        daemon.start()
        daemon.done("post", "db", "Signed Out")
        wait_until_saved(daemon, "db", "Signed Out")
        before = daemon.resident("VmHWM")
        daemon.stop(signal.SIGKILL)
        daemon.start()
        daemon.done("post", "db", "Signed In again")
        wait_until_saved(daemon, "db", "Signed In again")
        grown = (daemon.resident("VmHWM") - before) / 1024
        assert grown < 16, f"the daemon took {grown:.0f} MB more"


def add_former_servers(path, count):
    """Adds servers to a history that were added, changed and removed, one after the other."""
    columns = "server, kind, at, grade, since_boot, life, revision, source, phase, text, level, stale, omitted"
    with contextlib.closing(sqlite3.connect(path)) as store, store:
        numbers = f"WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})"
        store.execute(f"INSERT INTO names (id, name) {numbers} SELECT 1000 + n, 'guest' || n FROM numbers")
        for kind, grade in ("added", 0), ("changed", 1), ("removed", 0):
            store.execute(f"INSERT INTO changes ({columns}) {numbers} "
                          f"SELECT 1000 + n, '{kind}', n, {grade}, n, 1, 1, 'push', 'loaded', 'Text ' || n, 'ok', 0, 0 FROM numbers")


@test("without a state directory, or with “--state none”, only the state is missing")
def no_state():
    with Daemon(CONFIGURATION, start=False) as daemon:
        daemon.start(["--state", "none"])
        daemon.done("post", "db", "Signed In")
        daemon.stop()
        equal(os.listdir(daemon.folder / "state"), [])
        shutil.rmtree(daemon.folder / "state")
        (daemon.folder / "state").write_text("a file")
        daemon.start()
        contains(daemon.log(), "no state is kept: cannot create the directory", "choose another directory with STATE_DIRECTORY")
        contains(daemon.ctl("status", "db").err, "warning: no state is kept")
        daemon.done("post", "db", "Signed In")


@test("two daemons never use one state")
def locked():
    with Daemon(CONFIGURATION) as first, Daemon(CONFIGURATION, start=False) as second:
        second.environment["STATE_DIRECTORY"] = first.environment["STATE_DIRECTORY"]
        second.start()
        contains(second.log(), "no state is kept: another statusd uses the directory", "stop it, then restart this one")
        second.done("post", "db", "Signed In")
        first.assert_alive()


@test("the history and the journal name the user and the process of a client")
def callers():
    with Daemon("accept: any\nservers: { tcp: { tcp: '127.0.0.1:1', interval: 1h } }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        changes = daemon.history(server="db")
        equal([c["kind"] for c in changes], ["added", "changed"])
        equal(changes[1]["user"], os.geteuid())
        equal(changes[1]["text"], "Signed In")


def drop_in(daemon):
    """The path of a drop-in of its configuration."""
    folder = daemon.file.parent / "conf.d"
    folder.mkdir()
    return folder / "more.yaml"


@test("a file that cannot be used after a restart does not move the selection to the choice of another file")
def broken_file():
    with Daemon("select: disk\nservers: { disk: { push: true } }\n", start=False) as daemon:
        more = drop_in(daemon)
        good = "select: web\nservers: { web: { push: true }, db: { push: true } }\n"
        more.write_text(good)
        daemon.start()
        daemon.done("select", "db")
        daemon.stop()
        more.write_text(good + "limits: nonsense\n")
        daemon.start()
        # Servers of an entry that cannot be read, and a file of which nothing is known.
        for wrong in (good + "limits: nonsense\n", "servers: [\n"):
            more.write_text(wrong)
            assert "selected" not in daemon.ctl("reload", "--dry-run").out
            equal(daemon.ctl("reload").status, 78)
            equal(daemon.ctl("status", "--format", "{name} {level}").out, "db failed\n")
        more.write_text(good)
        equal(daemon.done("reload"), "changed: db, web\n")
        equal(daemon.ctl("status", "--format", "{name} {level}").out, "db -\n")
        more.write_text(good.replace("web", "db").replace("db: { push: true }, ", ""))
        contains(daemon.done("reload"), "removed: web")


@test("a selected server that waited for a file, and is no longer in it, is replaced by the configured one, as the dry run says")
def gone_from_file():
    with Daemon("select: disk\nservers: { disk: { push: true }, web: { push: true } }\n", start=False) as daemon:
        more = drop_in(daemon)
        more.write_text("servers: { db: { push: true } }\n")
        daemon.start()
        daemon.done("select", "db")
        daemon.stop()
        more.write_text("servers: [\n")
        daemon.start()
        # The file may select, too, until it is read again.
        before = daemon.file.read_text()
        daemon.file.write_text(before.replace("select: disk", "select: web"))
        for arguments in (["reload", "--dry-run"], ["reload"]):
            contains(daemon.ctl(*arguments).err, "“select: web” takes effect once",
                     "more.yaml is corrected, because that file may select another server")
        equal(daemon.ctl("status", "--format", "{name} {level}").out, "db failed\n")
        daemon.file.write_text(before)
        daemon.ctl("reload")
        more.write_text("servers: {}\n")
        for arguments in (["reload", "--dry-run"], ["reload"]):
            contains(daemon.done(*arguments), "removed: db", "selected: disk")
        equal(daemon.ctl("status", "--format", "{name} {level}").out, "disk -\n")
