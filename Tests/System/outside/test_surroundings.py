# SPDX-License-Identifier: Apache-2.0
"""Surroundings that fail: a clock that jumps, a kernel without inotify, no descriptors, a check without memory."""

import os
import resource
import signal
import subprocess
import tempfile

from harness.attacker import need_root
from harness.daemon import STATUSCTL, STATUSD, Daemon, run
from harness.expect import contains, equal, eventually, one_sentence
from harness.preload import preloaded
from harness.runner import test
from harness.store import wait_until_saved
from harness.varlink import VarlinkError

YEAR = 365 * 86_400
CLOCK = """\
servers:
  db: { push: true }
  login: { push: true, ttl: 10m }
  plugin: { exec: [/bin/sh, -c, 'echo $$ >>FOLDER/runs; echo ok'], interval: 1h }
"""


class Clock:
    """The wall clock of a daemon that is not yet started."""

    def __init__(self, daemon):
        self.file = daemon.folder / "clock"
        daemon.environment.update(preloaded("set_clock"), SET_CLOCK=str(self.file))

    def set(self, years):
        fresh = self.file.with_suffix(".new")
        fresh.write_text(str(years * YEAR))
        os.replace(fresh, self.file)


@test("a wall clock that is set by years, while the daemon runs and while it is down, spoils no status, no time to live and no history")
def clock_set():
    with Daemon(lambda folder: CLOCK.replace("FOLDER", str(folder)), start=False) as daemon:
        clock = Clock(daemon)
        clock.set(0)
        daemon.start()
        eventually(lambda: daemon.text("plugin"), "the first check")
        daemon.done("post", "login", "Signed In")
        down = {3: 150, 5: 0}
        for number, years in enumerate((0, 3, -30, -55, 200, 0)):
            clock.set(years)
            daemon.done("post", "db", f"Step {number}", "--level", "warning" if number % 2 else "ok")
            wait_until_saved(daemon, "db", f"Step {number}")
            if number in down:
                daemon.stop(signal.SIGKILL if number == 3 else signal.SIGTERM)
                clock.set(down[number])
                daemon.start()
            for server in ("db", "login", "plugin"):
                equal(daemon.describe(server)["stale"], False, f"{server} in step {number}")
        equal(len((daemon.folder / "runs").read_text().splitlines()), 1, "one check in an hour")
        entries = daemon.history(server="db")
        changes = [entry for entry in entries if entry["kind"] == "changed"]
        equal([change["text"] for change in changes], [f"Step {number}" for number in range(6)])
        assert all(0 <= change["lasted"] < 60_000 for change in changes[:-1]), changes
        contains(daemon.done("history", "db", "--summary", "--since", "1970-01-02"), "100 % available")


@test("without inotify, a file is still checked in each interval, and at a refresh")
def no_inotify():
    prefix = ["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"', "sh"]
    with Daemon(lambda folder: (
            f"servers:\n  often: {{ file: '{folder}/state.txt', interval: 1s }}\n  seldom: {{ file: '{folder}/state.txt', interval: 1h }}\n"),
            prefix=prefix) as daemon:
        file, descriptors = daemon.folder / "state.txt", f"/proc/{daemon.process.pid}/fd"
        equal([link for link in map(os.readlink, map(f"{descriptors}/{{}}".format, os.listdir(descriptors))) if "inotify" in link], [])
        for text, change in (("exists", file.touch), ("no such file", file.unlink)):
            change()
            eventually(lambda t=text: t in (daemon.text("often") or ""), text)
            daemon.ctl("refresh", "seldom")
            contains(daemon.text("seldom"), text)


@test("a user database that cannot be asked is not taken for an unknown user, by the daemon and by verify")
def no_user_database():
    need_root()
    with tempfile.NamedTemporaryFile("w") as services:
        services.write("passwd: nosuch\ngroup: nosuch\n")
        services.flush()
        prefix = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/nsswitch.conf && exec "$@"', services.name]
        with Daemon("servers: { web: { notify: { users: [www-data] } } }\n", prefix=prefix) as daemon:
            reason = "cannot look up the user “www-data”: no service in nsswitch.conf(5) has answered"
            state = daemon.describe("web")
            equal(state["phase"], "failed")
            contains(state["message"], reason, "run “statusctl reload”")
            contains(daemon.log(), reason)
            verified = run(*prefix, STATUSCTL, "verify", daemon.file)
            contains(one_sentence(verified, 0), reason)


@test("when its descriptors are used up, the daemon still answers and saves, and says why there is no history")
def no_descriptors():
    with Daemon("accept: any\n") as daemon, daemon.connect() as client:
        client.call("Post", {"server": "db", "text": "before"})
        wait_until_saved(daemon, "db", "before")
        usual = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (daemon.descriptors(), usual[1]))
        client.call("Post", {"server": "db", "text": "meanwhile"})
        wait_until_saved(daemon, "db", "meanwhile")
        contains(history_refusal(client)["reason"], "too many open files", "LimitNOFILE=")
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, usual)
        equal([entry.get("text") for entry in daemon.history(server="db")], [None, "before", "meanwhile"])


def history_refusal(client):
    """The parameters of the error with which the daemon answers Summary."""
    try:
        client.call("Summary", {"server": "db"})
    except VarlinkError as error:
        equal(error.name, "org.statusd.monitor.HistoryUnavailable")
        return error.parameters
    raise AssertionError("the history was read")


@test("a check that runs out of memory, or is killed for that, says so, and nothing else suffers")
def no_memory():
    hungry = "ulimit -v 50000 && exec tail /dev/zero"
    killed = "kill -9 $$"  # as the kernel does if the machine has no memory left
    with Daemon("servers:\n  db: { push: true }\n" + "".join(
            f"  {name}: {{ exec: [/bin/sh, -c, '{command}'] }}\n" for name, command in (("hungry", hungry), ("killed", killed)))) as daemon:
        for name, level, text in (("hungry", "warning", "memory exhausted"), ("killed", "unknown", "Killed")):
            eventually(lambda n=name: daemon.text(n), f"the check {name}")
            status = daemon.describe(name)["status"]
            contains(status["text"], text)
            equal(status["level"], level)
        daemon.done("post", "db", "Signed In")


@test("a plugin gets the soft limit of descriptors that the daemon was started with, although the daemon raises its own")
def plugin_limit():
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (300, 4096))}
    with Daemon("servers: { plugin: { exec: [/bin/sh, -c, ulimit -Sn; ulimit -Hn >&2] } }\n", **few) as daemon:
        eventually(lambda: daemon.text("plugin") == "300")
        equal(resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE), (4096, 4096))


@test("an interrupt that was ignored at the start, as for a program in the background of a script, ends neither the daemon nor watch")
def ignored_interrupt():
    background = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    with Daemon("servers: { db: { push: true } }\n", **background) as daemon, daemon.follow("watch", "db", **background) as lines:
        lines.until("db")
        for process in (daemon.process, lines.process):
            process.send_signal(signal.SIGINT)
        for text in ("one", "two", "three"):
            daemon.done("post", "db", text)
            lines.until(text)
        equal(lines.end(signal.SIGTERM), 0)


@test("help that cannot be written is an error")
def unwritten_help():
    for program in (STATUSD, STATUSCTL):
        for option in ("--help", "--version"):
            with open("/dev/full", "w") as full:
                done = subprocess.run([program, option], stdout=full, stderr=subprocess.PIPE, text=True)
            equal(done.returncode, 1, program)
            contains(done.stderr, "No space left on device")
