# SPDX-License-Identifier: Apache-2.0
"""A status goes stale if no post arrives for its time to live."""

import os
import signal
import time

from harness.daemon import Daemon
from harness.expect import contains, equal, eventually
from harness.runner import test

from .test_notify_clients import send, systemd_notify


def is_stale(daemon, server):
    """Whether Describe reports the status as stale."""
    return daemon.describe(server)["stale"]


@test("status ends with 0 for a server that is ok, and with 3 for one that is empty, loading or failed")
def exit_statuses():
    configuration = ("servers:\n  well: { push: true }\n  silent: { push: true }\n  slow: { exec: [/bin/sleep, '60'], timeout: 50s }\n"
                     "  broken: { exec: [/nonexistent/plugin] }\n  wrong: { push: maybe }\n")
    with Daemon(configuration) as daemon:
        daemon.done("post", "well", "here")
        eventually(lambda: daemon.describe("broken")["phase"] == "failed", "the plugin that does not exist")
        phases = {"well": "loaded", "silent": "empty", "slow": "loading", "broken": "failed", "wrong": "failed"}
        for name, phase in phases.items():
            equal((daemon.describe(name)["phase"], daemon.ctl("status", name).status), (phase, 0 if phase == "loaded" else 3), name)


@test("past its ttl a status is stale, everywhere it is shown; the same status again makes it fresh; both are changes")
def goes_stale():
    with Daemon("servers: { backup: { notify: true, ttl: 300ms }, db: { push: true } }\n") as daemon:
        daemon.done("select", "backup")
        with daemon.follow("watch", "backup") as lines:
            lines.next()
            systemd_notify(daemon, "backup", "--status=5 files saved")
            contains(lines.until("5 files saved"), "[ok]")
            contains(lines.until("5 files saved"), "[stale]")
            eventually(lambda: daemon.manager.status() == "backup: 5 files saved (stale)")
            equal(daemon.ctl("status", "backup").status, 3)
            contains(daemon.done("list"), "stale")
            systemd_notify(daemon, "backup", "--status=5 files saved")
            contains(lines.until("5 files saved"), "[ok]")
        changed = daemon.describe("backup")["status"]
        assert changed["changedAt"] < changed["updatedAt"], changed
        contains(daemon.log(), "backup: 5 files saved (stale)")


@test("a status becomes stale if its check gets no check slot for too long", limit=60)
def no_place():
    with Daemon("""limits: { processes: 1 }
servers:
  good: { exec: [/bin/true], interval: 1s, timeout: 1s }
  slow: { exec: [/bin/sleep, '14'], interval: 1h, timeout: 1min, failures: 1 }
""") as daemon:
        daemon.done("wait", "good", "--timeout", "30s")
        eventually(lambda: is_stale(daemon, "good"), "a stale status", patience=15)
        equal(daemon.ctl("status", "good").status, 3)
        eventually(lambda: not is_stale(daemon, "good"))
        contains(daemon.log(), "for a check slot, longer than its interval")


@test("WATCHDOG=1 keeps it fresh, and WATCHDOG_USEC= says for how long")
def watchdog():
    with Daemon("servers: { web: { notify: true } }\n") as daemon:
        send(daemon.notify_path("web"), "STATUS=Serving\nWATCHDOG_USEC=2000000\n")
        eventually(lambda: daemon.text("web") == "Serving")
        with daemon.connect() as connection:
            connection.send("Watch", {"server": "web"}, more=True)
            equal(connection.receive()["parameters"]["event"]["server"]["stale"], False)
            for _ in range(25):
                send(daemon.notify_path("web"), "WATCHDOG=1")
                time.sleep(0.1)  # the program's own rhythm, twenty times as fast as necessary
            send(daemon.notify_path("web"), "STATUS=last word")
            text = connection.receive()["parameters"]["event"]["server"]
            equal((text["status"]["text"], text["stale"]), ("last word", False))
            equal(connection.receive()["parameters"]["event"]["server"]["stale"], True)
            send(daemon.notify_path("web"), "WATCHDOG_USEC=0\n")
            equal(connection.receive()["parameters"]["event"]["server"]["stale"], False)


@test("wait ignores a stale status")
def wait():
    with Daemon("servers: { web: { push: true, ttl: 200ms } }\n") as daemon:
        daemon.done("post", "web", "Serving")
        eventually(lambda: is_stale(daemon, "web"))
        equal(daemon.ctl("wait", "web", "--timeout", "50ms").status, 75)


@test("wait ignores the status of a failed or loading server")
def not_current():
    failed = "servers: { a: { push: maybe } }\n"
    loading = "servers: { a: { exec: [/bin/sleep, '60'] } }\n"
    with Daemon("servers: { a: { push: true } }\n") as daemon:
        daemon.done("post", "a", "Serving")
        for servers, status in ((failed, 3), (loading, 3)):
            daemon.file.write_text(servers)
            daemon.ctl("reload")
            equal(daemon.ctl("status", "a").status, status)
            equal(daemon.ctl("wait", "a", "--timeout", "50ms").status, 75)


@test("a daemon that was stopped reads its input before a status becomes stale")
def held_up():
    servers = "".join(f"  s{number}: {{ notify: true, ttl: 500ms }}\n" for number in range(50))
    with Daemon(f"servers:\n{servers}") as daemon:
        for number in range(50):
            send(daemon.notify_path(f"s{number}"), "STATUS=Serving")
        eventually(lambda: daemon.text("s49") == "Serving")
        with daemon.connect() as connection:
            connection.send("Watch", {"all": True}, more=True)
            connection.receive()
            daemon.process.send_signal(signal.SIGSTOP)
            time.sleep(2.5)  # longer than the ttl, and than the daemon allows for an ordinary delay
            for number in range(50):
                send(daemon.notify_path(f"s{number}"), "STATUS=Still serving")
            daemon.process.send_signal(signal.SIGCONT)
            for _ in range(50):
                server = connection.receive()["parameters"]["event"]["server"]
                equal((server["status"]["text"], server["stale"]), ("Still serving", False))


@test("a restart makes no status stale")
def restart():
    with Daemon("servers: { web: { push: true, ttl: 1h } }\n") as daemon:
        daemon.done("post", "web", "Serving")
        daemon.stop()
        daemon.start()
        equal(is_stale(daemon, "web"), False)
        daemon.done("post", "web", "Serving")
        equal(is_stale(daemon, "web"), False)
        assert os.path.exists(daemon.socket)
