# SPDX-License-Identifier: Apache-2.0
"""The state of the service: over restarts and crashes, and in surroundings that fail."""

import collections
import contextlib
import json
import os
import pathlib
import pwd
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

from harness.daemon import Follower, environment, run
from harness.expect import contains, equal, eventually
from harness.runner import test

from .unit import DROP_INS, PROJECT, as_user, describe, done, journal, main_process, notify, restarted, service, show, statusctl, systemctl

STATE = pathlib.Path("/var/lib/statusd")
FILE = STATE / "statusd.sqlite"


@test("systemctl restart and kill -9 keep statuses and the selection, and only the daemon can read the state")
def restarts():
    with service():
        statusctl("post", "db", "Signed In", "--level", "warning")
        statusctl("post", "web", "Serving")
        statusctl("select", "web")
        time.sleep(1.5)
        for restart in (lambda: systemctl("restart", "statusd"), lambda: os.kill(main_process(), signal.SIGKILL)):
            before, since = main_process(), describe("db")["status"]["changedAt"]
            restart()
            restarted(before)
            equal(show("StatusText"), "web: Serving (before restart)")
            equal((describe("db")["status"]["text"], describe("db")["status"]["changedAt"]), ("Signed In", since))
        equal((FILE.stat().st_mode & 0o777, pwd.getpwuid(FILE.stat().st_uid).pw_name), (0o600, "statusd"))
        statusctl("post", "web", "Serving")
        eventually(lambda: show("StatusText") == "web: Serving", "the mark to go")


@test("a watch over systemctl restart shows every change once, while others post")
def watch_over_restarts():
    with service():
        statusctl("post", "db", "begin")
        with Follower("/usr/bin/statusctl", "watch", "--json", "db", env=environment()) as lines:
            lines.until("begin")
            poster = subprocess.Popen(["/bin/sh", "-c", "for n in $(seq 1 60); do statusctl post db \"Step $n\" || exit 1; done"])
            for _ in range(4):
                time.sleep(0.2)
                systemctl("restart", "statusd")
            equal(poster.wait(30), 0)
            lines.until("Step 60")
            events = [json.loads(line) for line in lines.seen]
            texts = [e["server"]["status"]["text"] for e in events if e["kind"] == "changed"]
            equal(texts, [f"Step {number}" for number in range(1, 61)])


@test("the boot is recognised although the sandbox hides the kernel's file: a time to live continues over a restart")
def boot():
    with service(configuration="servers: { app: { notify: true, ttl: 1h } }\n"):
        run("systemd-notify", "--status=Serving", "WATCHDOG_USEC=600000000", env=environment(NOTIFY_SOCKET="/run/statusd/notify/app"))
        eventually(lambda: describe("app")["phase"] == "loaded", "the status")
        systemctl("restart", "statusd")
        systemctl("stop", "statusd.socket", "statusd.service")
        store = sqlite3.connect(FILE)
        boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
        equal(store.execute("SELECT boot FROM daemon").fetchone()[0], boot_id)
        equal(store.execute("SELECT own_time_to_live FROM servers").fetchone()[0], 600000000)
        store.close()


@test("the journal names the user and the process of a client that posts, selects, refreshes, reloads or forgets")
def callers():
    with service(configuration="accept: any\nservers: { tcp: { tcp: '127.0.0.1:1', interval: 1h } }\n"):
        processes = {}
        for name, command in (("post", ("post", "db", "Signed In")), ("select", ("select", "db")), ("refresh", ("refresh", "tcp")),
                              ("forget", ("forget", "db")), ("reload", ("reload",))):
            process = subprocess.Popen(["/usr/bin/statusctl", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            process.wait(15)
            processes[name] = process.pid
        for name, message in (("post", "db: Signed In"), ("select", "selected db"), ("refresh", "tcp: refresh requested"),
                              ("forget", "db removed"), ("reload", "configuration reloaded")):
            entries = [e for e in journal() if e["MESSAGE"].startswith(message)]
            equal([(e.get("STATUSD_CALLER_UID"), e.get("STATUSD_CALLER_PID")) for e in entries][-1:], [("0", str(processes[name]))], name)


@test("journald can be restarted and stopped, without harm to the daemon or its state")
def journald():
    with service():
        statusctl("post", "db", "1")
        systemctl("restart", "systemd-journald")
        statusctl("post", "db", "2")
        eventually(lambda: any(e.get("STATUSD_TEXT") == "2" for e in journal()), "the entry after the restart")
        sockets = ("systemd-journald.socket", "systemd-journald-dev-log.socket", "systemd-journald.service")
        run("systemctl", "stop", *sockets)
        try:
            for number in range(3, 200):
                statusctl("post", "db", str(number))
        finally:
            systemctl("start", *sockets)
        # A change of level is written at once; one of text alone would have to wait after so many.
        statusctl("post", "db", "the end", "--level", "warning")
        eventually(lambda: any(e.get("STATUSD_TEXT") == "the end" for e in journal()), "the entry after the start")


@test("a daemon that was stopped for seconds by SIGSTOP continues, and nothing is stale too early")
def frozen():
    with service(configuration="servers: { db: { push: true, ttl: 1min } }\n"):
        statusctl("post", "db", "1")
        process = main_process()
        os.kill(process, signal.SIGSTOP)
        time.sleep(5)
        os.kill(process, signal.SIGCONT)
        statusctl("post", "db", "2")
        equal((main_process(), describe("db")["stale"]), (process, False))


OUT = pathlib.Path("/var/lib/statusd.out")
COPY = OUT / "copy"
ELSEWHERE = pathlib.Path("/root/statusd-copy")
Manual = collections.namedtuple("Manual", "remove out copy back aside runtime")


def manual_commands():
    """The commands of statusd(8) about the state, in their order."""
    text = (PROJECT / "packaging" / "man" / "statusd.8.md").read_text().split("To remove the state")[1].split("To keep nothing")[0]
    return Manual(*text.split("```")[1:12:2])


def shell(commands):
    """Runs commands of the manual as root, without sudo."""
    return run("sh", "-c", commands.replace("sudo ", ""), timeout=20)


def follow(*commands):
    """Runs commands of the manual, which must succeed without a message."""
    for command in commands:
        result = shell(command)
        equal((result.status, result.err), (0, ""), command)


@contextlib.contextmanager
def commands_of_manual():
    """The commands, without the files that an earlier use has left."""
    def clean():
        for path in (OUT, ELSEWHERE, pathlib.Path(f"{STATE}.new"), pathlib.Path("/run/statusd.out")):
            shutil.rmtree(path, ignore_errors=True)
    clean()
    try:
        yield manual_commands()
    finally:
        clean()


@test("the commands of the manual move the state away, continue with a copy or a file that was set aside, and remove it")
def commands():
    def restored(state=STATE):
        contains(statusctl("status", "db"), "in the copy", "(before restart)")
        equal(done("stat", "-c", "%A %U %G", str(state), str(state / FILE.name)), "drwxr-x--- statusd statusd\n-rw------- statusd statusd\n")

    with commands_of_manual() as manual, service(drop_in="[Service]\nRestart=no\n"):
        statusctl("post", "db", "in the copy")
        # So that the copy has a file with the newest changes.
        eventually(lambda: run("grep", "-q", "in the copy", f"{FILE}-wal").status == 0, "the batch")
        os.kill(main_process(), signal.SIGKILL)
        follow(manual.out, manual.copy, manual.back)
        restored()
        COPY.rename(ELSEWHERE)
        shutil.rmtree(OUT)
        statusctl("post", "db", "later")
        follow(manual.out, manual.back.replace(str(COPY), str(ELSEWHERE)))
        restored()
        shutil.rmtree(OUT)
        follow(manual.remove)
        equal(statusctl("list"), "")
        # The file that was set aside.
        follow(manual.out)
        ELSEWHERE.rename(COPY)
        for end in ("", "-wal"):
            (COPY / f"statusd.sqlite{end}").rename(COPY / f"statusd.sqlite.newer{end}")
        follow(manual.aside, manual.back)
        restored()
        # To another directory, as the manual says.
        shutil.rmtree(OUT)
        follow(manual.out, manual.copy)
        (DROP_INS["statusd.service"] / "test.conf").write_text("[Service]\nStateDirectory=\nStateDirectory=disk/statusd\nStateDirectoryMode=0750\n")
        systemctl("daemon-reload")
        done("mkdir", "/var/lib/disk")
        try:
            follow(manual.back.replace("/var/lib/statusd", "/var/lib/disk/statusd").replace("/var/lib/disk/statusd.out", str(OUT)))
            restored(pathlib.Path("/var/lib/disk/statusd"))
            systemctl("stop", "statusd.socket", "statusd.service")
        finally:
            shutil.rmtree("/var/lib/disk")


@test("the commands of the manual lose nothing if they fail, and can be repeated", once=True)
def failing_commands():
    with commands_of_manual() as manual, service():
        statusctl("post", "db", "kept")
        follow(manual.out)
        contains(shell(manual.out).err, "File exists")
        contains(shell(manual.back).err, "can't cd to /var/lib/statusd.out/copy")
        for number, command in enumerate((manual.copy, manual.back)):
            # As after a full disk.
            made = pathlib.Path(f"{COPY if number == 0 else STATE}.new")
            made.mkdir()
            contains(shell(command).err, "File exists")
            made.rmdir()
            follow(command)
        contains(statusctl("status", "db"), "kept")
        # There is a state that must not be mixed with the copy.
        contains(shell(manual.back).err, "not empty")
        contains(statusctl("status", "db"), "kept")
        (COPY / "statusd.sqlite").unlink()
        for command in (manual.back, manual.aside):
            contains(shell(command).err, "No such file")


@test("the commands of the manual give no file away if the daemon is compromised", once=True)
def hostile_commands():
    with commands_of_manual() as manual, service(), tempfile.TemporaryDirectory(dir="/var/lib") as folder:
        os.chmod(folder, 0o755)
        victim = pathlib.Path(folder, "victim")
        victim.write_text("secret")
        victim.chmod(0o600)
        # A compromised daemon may leave it, with the help of another user's program with the set-user-ID bit.
        STATE.chmod(0o777)
        for directory in (STATE / "statusd.sqlite.d", STATE / "open"):
            directory.mkdir()
            directory.chmod(0o777)
            (directory / "link").symlink_to(victim)
        program = pathlib.Path(folder, "program")
        shutil.copy("/usr/bin/id", program)
        shutil.chown(program, "nobody")
        program.chmod(0o4755)
        for place in (STATE / "open" / "x", STATE / "statusd.sqlite.linked"):
            place.hardlink_to(program)
        (STATE / "statusd.sqlite.newer").symlink_to(victim)
        os.mkfifo(STATE / "statusd.sqlite.pipe")
        # A user may rename a file of root's in a directory of his own.
        (STATE / "statusd.sqlite.ofroot").write_text("secret")
        follow(manual.out)
        equal([show("ActiveState", unit) for unit in ("statusd.service", "statusd-executor.service")], ["inactive"] * 2)
        assert as_user("ls", str(OUT)).status != 0, "another user can look into root's directory"
        follow(manual.copy)
        equal(sorted(path.name for path in COPY.iterdir()), ["statusd.sqlite"])
        assert shell(manual.aside).status != 0
        follow(manual.runtime, manual.back)
        equal({path.name for path in STATE.iterdir()} - {f"statusd.{end}" for end in ("lock", "lock.next", "sqlite", "sqlite-wal", "sqlite-shm")}, set())
        for path, owner, mode in ((victim, "root", 0o600), (program, "nobody", 0o4755)):
            equal((path.owner(), path.stat().st_mode & 0o7777), (owner, mode), path)


@test("files that another user has created in the runtime directory of a compromised daemon are not used")
def foreign_files():
    runtime = pathlib.Path("/run/statusd")
    with service(configuration="servers: { db: { notify: true } }\n"):
        systemctl("stop", "statusd.socket", "statusd.service")
        shutil.rmtree(runtime / "notify", ignore_errors=True)
        (runtime / "notify").mkdir()
        (runtime / "notify").chmod(0o777)
        shutil.chown(runtime / "notify", "nobody")
        systemctl("start", "statusd.socket", "statusd.service")
        equal((runtime / "notify").owner(), "statusd")
        equal([path.owner() for path in runtime.glob("notify.foreign.*")], ["nobody"])
        notify("db", "well")
        eventually(lambda: describe("db").get("status", {}).get("text") == "well", "the status")
        # Directories that such a daemon has opened to others are not used either.
        systemctl("stop", "statusd.socket", "statusd.service")
        for path in runtime.glob("notify.foreign.*"):
            shutil.rmtree(path)
        shutil.rmtree(runtime / "notify")
        done("setpriv", "--reuid=statusd", "--clear-groups", "sh", "-c", f"mkdir {runtime}/elsewhere && ln -s elsewhere {runtime}/notify")
        systemctl("start", "statusd.socket", "statusd.service")
        notify("db", "better")
        eventually(lambda: describe("db").get("status", {}).get("text") == "better", "the status")
        equal(done("stat", "-c", "%a %F", str(runtime / "notify")), "710 directory\n")
