# SPDX-License-Identifier: Apache-2.0
"""The resources that the programs take from the machine."""

import time

from harness.daemon import Daemon
from harness.expect import eventually
from harness.runner import test

CONFIGURATION = """
accept: any
servers:
  login: { push: true }
  backup: { notify: true }
"""


def status(daemon, field):
    for line in open(f"/proc/{daemon.process.pid}/status", encoding="ascii"):
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise KeyError(field)


@test("the daemon has one thread, whatever its clients and checks do, even after a reload")
def one_thread():
    with Daemon(CONFIGURATION + "  port: { tcp: '127.0.0.1:9', interval: 100ms }\n"
                "  disk: { exec: [/bin/echo, well], interval: 100ms }\n") as daemon:
        daemon.done("post", "login", "Signed In")
        daemon.done("select", "login")
        daemon.done("wait", "port", "--level", "critical", "--timeout", "10s")
        daemon.done("wait", "disk", "--text", "well", "--timeout", "10s")
        daemon.ctl("wait", "login", "--text", "never", "--timeout", "100ms")
        daemon.done("reload")
        # The thread that reads the configuration ends afterwards.
        eventually(lambda: status(daemon, "Threads") == 1, "one thread")


@test("an idle daemon with servers and a selection never wakes up")
def not_woken():
    def switches():
        return status(daemon, "voluntary_ctxt_switches")

    def is_quiet():
        before = switches()
        time.sleep(2)
        return switches() == before

    with Daemon(CONFIGURATION) as daemon:
        daemon.done("post", "login", "Signed In")
        daemon.done("select", "login")
        # The journal's limits recover within a second or two.
        eventually(is_quiet, "no wake-up in two seconds")
