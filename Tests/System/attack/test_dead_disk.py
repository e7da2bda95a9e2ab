# SPDX-License-Identifier: Apache-2.0
"""Checks that block on a dead disk. They delay no other check, client, reload or shutdown."""

import os

from harness.bystander import Bystander
from harness.daemon import Daemon
from harness.dead_disk import dead_disk
from harness.expect import contains, equal, eventually
from harness.runner import test

from .test_freezing import stop_and_time


def configuration(folder):
    """Servers whose plugins access a dead disk, or are stored on it, and one healthy server."""
    return ("defaults: { interval: 1h, timeout: 300ms }\nlimits: { processes: 1 }\nservers:\n"
            f"  reads: {{ exec: [/bin/ls, {folder}/dead/file] }}\n"
            f"  starts: {{ exec: [{folder}/dead/plugin] }}\n"
            "  well: { exec: [/bin/echo, well] }\n"
            "  db: { push: true }\n")


def uninterruptible():
    """The number of processes started by this one, or by these, that cannot be killed now."""
    states, children = {}, {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
                states[int(process)], parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        children.setdefault(int(parent), []).append(int(process))
    family = [os.getpid()]
    for process in family:
        family += children.get(process, [])
    return sum(states.get(process) == "D" for process in family)


@test("plugins that cannot be killed time out on time, delay nobody, and are not started a second time", limit=60)
def dead():
    with Daemon(configuration, start=False) as daemon:
        with dead_disk(daemon.folder / "dead"):
            daemon.start()
            with Bystander(daemon) as bystander:
                for name in ("reads", "starts"):
                    daemon.done("wait", name, "--text", "timed out after 300ms", "--timeout", "10s")
                # The only check slot is free again.
                contains(daemon.done("refresh", "well"), "well: well [ok]")
                contains(daemon.done("refresh", "reads"), "reads: the previous check cannot be ended; no new check is started [critical]")
                contains(daemon.done("refresh", "starts"), "starts: the previous check cannot be ended (1 other server affected); no new check is started")
                stuck = uninterruptible()
                assert stuck >= 2, f"{stuck} processes are stuck"
                contains(daemon.done("refresh", "reads"), "1 other server affected")
                equal(uninterruptible(), stuck, "processes that are stuck")
                daemon.file.write_text(configuration(daemon.folder).replace("1h", "2h"))
                daemon.done("reload")
                contains(daemon.done("refresh", "well"), "well: well [ok]")
                bystander.finish("plugins on a dead disk")
        # Once the disk is gone, its waiting processes end.
        eventually(lambda: "No such file" in daemon.done("refresh", "reads"), "the plugin runs again")


@test("plugins that cannot be killed do not delay the shutdown", limit=60)
def dead_at_the_end():
    with Daemon(configuration, start=False) as daemon, dead_disk(daemon.folder / "dead"):
        daemon.start()
        daemon.done("wait", "reads", "--text", "timed out after 300ms", "--timeout", "10s")
        stop_and_time(daemon)


@test("a file of authorities on a dead disk delays only the checks that use it", limit=60)
def dead_authorities():
    def servers(folder):
        return ("defaults: { interval: 1h, timeout: 300ms }\nservers:\n"
                f"  site: {{ http: {{ url: 'https://127.0.0.1:9/', ca: {folder}/dead/ca.pem }} }}\n"
                "  plain: { http: 'http://127.0.0.1:9/' }\n  db: { push: true }\n")

    with Daemon(servers, start=False) as daemon:
        with dead_disk(daemon.folder / "dead"):
            daemon.start()
            with Bystander(daemon) as bystander:
                contains(daemon.ctl("refresh", "site").err, f"no answer within 300ms; {daemon.folder}/dead/ca.pem may be on a disk")
                for _ in range(3):
                    contains(daemon.ctl("refresh", "site").err, f"the previous check cannot be ended; no new check is started; {daemon.folder}/dead/ca.pem may be on a disk")
                contains(daemon.done("refresh", "plain"), "connection refused [critical]")
                eventually(lambda: len(daemon.children("statusd-http")) == 1, "one process, which waits for the disk")
                bystander.finish("a file of authorities on a dead disk")
        eventually(lambda: "no such file or directory" in daemon.ctl("refresh", "site").err, "the file is missing, but the disk is there")
        stop_and_time(daemon)


@test("a file on a dead disk delays only its own checks, and not the shutdown", limit=60)
def dead_file():
    def servers(folder):
        return ("defaults: { interval: 1h, timeout: 300ms }\nservers:\n"
                + "".join(f"  backup{number}: {{ file: {folder}/dead/sub/{number} }}\n" for number in range(20))
                + f"  plain: {{ file: {folder} }}\n  db: {{ push: true }}\n")

    with Daemon(servers, start=False) as daemon, dead_disk(daemon.folder / "dead"):
        daemon.start()
        with Bystander(daemon) as bystander:
            for number in range(20):
                daemon.done("wait", f"backup{number}", "--text", f"the check timed out after 300ms; the disk of {daemon.folder}/dead/sub/{number} may not answer", "--timeout", "20s")
            contains(daemon.done("refresh", "backup0"), "the previous check cannot be ended", "dead/sub/0 may not answer")
            contains(daemon.done("refresh", "plain"), "exists [ok]")
            equal(uninterruptible(), 20, "processes that wait for the disk")
            bystander.finish("files on a dead disk")
        stop_and_time(daemon)
