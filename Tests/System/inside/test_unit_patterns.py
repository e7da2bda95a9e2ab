# SPDX-License-Identifier: Apache-2.0
"""units: the hardened service follows all units that have failed, and all that match a pattern."""

import os
import pathlib
import time

from harness.daemon import run
from harness.expect import contains, equal, eventually
from harness.runner import test

from .test_units import SLEEPER, UNITS, becomes, describe, matches, units
from .unit import done, journal, main_process, service, show, statusctl, systemctl

FAILED = "servers: { failed: { units: { match: 'st-*', state: failed } } }\n"
PATTERN = "servers: { all: { units: 'st-*.service' } }\n"
ONESHOT = "[Service]\nType=oneshot\nExecStart=/bin/{}\n"


def texts(server):
    """The texts of the server in the journal, in order."""
    entries = [entry for entry in journal(f"SERVER={server}") if entry["_PID"] == str(main_process())]
    return [entry["STATUSD_TEXT"] for entry in entries if "STATUSD_TEXT" in entry]


@test("units: failed is critical soon after a failure, with the reason, and ok again after reset-failed")
def failed():
    with units(**{"st-a": ONESHOT.format("false"), "st-b": ONESHOT.format("sh -c 'exit 3'"), "st-c": SLEEPER}), \
            service(configuration="servers: { failed: { units: failed } }\n"):
        run("systemctl", "reset-failed")
        becomes("failed", "ok", "no unit has failed")
        run("systemctl", "start", "st-a")
        becomes("failed", "critical", "1 failed: st-a.service (exit status 1)")
        run("systemctl", "start", "st-b", "st-c")
        becomes("failed", "critical", "2 failed: st-a.service (exit status 1), st-b.service (exit status 3)")
        systemctl("kill", "--signal=KILL", "st-c")
        # systemd loads this one only now.
        run("systemd-run", "--unit=st-d", "/bin/false")
        becomes("failed", "critical", "4 failed: st-a.service (exit status 1), st-b.service (exit status 3), "
                "st-c.service (ended by signal 9, Killed), st-d.service (exit status 1)")
        systemctl("restart", "statusd.service")
        contains(statusctl("refresh", "failed"), "failed: 4 failed: st-a.service (exit status 1), ", "[critical]")
        systemctl("reset-failed", "st-b", "st-c", "st-d")
        becomes("failed", "critical", "1 failed: st-a.service (exit status 1)")
        systemctl("reset-failed", "st-a")
        becomes("failed", "ok", "no unit has failed")
        run("systemctl", "start", "st-a")
        contains(run("/usr/bin/statusctl", "refresh", "failed").out, "1 failed: st-a.service (exit status 1) [critical]")


@test("units: a full name is followed while it is stopped, and if it does not exist; a pattern is not")
def names():
    with units(**{"st-a": SLEEPER, "st-b": SLEEPER}), \
            service(configuration="servers:\n  both: { units: [st-a, st-b] }\n  missing: { units: [st-none, 'st-*.service'] }\n"):
        systemctl("start", "st-a", "st-b")
        becomes("both", "ok", "2 active")
        becomes("missing", "unknown", "1 of 3 not ok: st-none.service not found")
        systemctl("stop", "st-b")
        becomes("both", "warning", "1 of 2 not ok: st-b.service inactive (dead)")
        becomes("missing", "unknown", "1 of 2 not ok: st-none.service not found")
        systemctl("start", "st-b")
        becomes("both", "ok", "2 active")
        contains(run("/usr/bin/statusctl", "verify").err, "unit st-none.service not found")


@test("a unit in a restart loop has not failed until systemd gives up; with a pattern, it is a warning meanwhile")
def flapping():
    looper = "[Unit]\nStartLimitIntervalSec=60\nStartLimitBurst=12\n[Service]\nRestart=always\nRestartSec=100ms\nExecStart=/bin/sh -c 'sleep 0.2; exit 7'\n"
    configuration = "servers:\n  failed: { units: { match: 'st-*', state: failed } }\n  all: { units: 'st-*.service' }\n"
    with units(**{"st-loop": looper, "st-b": SLEEPER}), service(configuration=configuration):
        systemctl("start", "st-b")
        becomes("all", "ok", "1 active")
        systemctl("start", "st-loop")
        matches("all", "warning", r"1 of 2 not ok: st-loop\.service activating \(auto-restart\): exit status 7(, \d+ times)?")
        # Which reason systemd gives depends on its version.
        text = matches("failed", "critical", r"1 failed: st-loop\.service \(.+\)")
        matches("all", "critical", r"1 of 2 not ok: st-loop\.service failed.+")
        equal(texts("failed")[-2:], ["no unit has failed", text])
        shown = texts("all")
        began = next(number for number, text in enumerate(shown) if "auto-restart" in text)
        assert not any("2 active" in text for text in shown[began:]), shown


@test("all units that match must be ok; they come and go, and those that are masked or do not exist do not count")
def pattern():
    with service(configuration=PATTERN):
        becomes("all", "unknown", "no unit matches st-*.service")
        with units(**{"st-a": SLEEPER, "st-b": SLEEPER, "st-job": ONESHOT.format("true"),
                      "st-keeper": "[Unit]\nWants=st-nosuch.service st-c.service\n" + SLEEPER, "st-c": SLEEPER, "other": SLEEPER}):
            systemctl("start", "other", "st-a")
            becomes("all", "ok", "1 active")
            systemctl("start", "st-b", "st-keeper")
            becomes("all", "ok", "4 active")
            systemctl("stop", "st-c")
            becomes("all", "warning", "1 of 4 not ok: st-c.service inactive (dead)")
            (UNITS / "st-c.service").unlink()
            systemctl("mask", "st-c")
            becomes("all", "ok", "3 active")
            systemctl("kill", "--signal=KILL", "st-b")
            becomes("all", "critical", "1 of 3 not ok: st-b.service failed: ended by signal 9, Killed")
            systemctl("daemon-reload")
            systemctl("daemon-reexec")
            systemctl("start", "st-b")
            becomes("all", "ok", "3 active")
            equal([text for text in texts("all") if "cannot" in text], [])
            systemctl("unmask", "st-c")
        becomes("all", "unknown", "no unit matches st-*.service")


@test("“failures” counts once in each interval, and a reload that changes it keeps what is known")
def failures():
    with units(**{"st-a": ONESHOT.format("false")}), service(
            configuration="servers: { failed: { units: { match: 'st-*', state: failed }, failures: 2, interval: 1s } }\n"):
        becomes("failed", "ok", "no unit has failed")
        run("systemctl", "start", "st-a")
        eventually(lambda: "1 failed: st-a.service (exit status 1) [critical]; 1 of 2 before it counts" in run("/usr/bin/statusctl", "status", "failed").out)
        equal(describe("failed")["status"]["level"], "ok")
        becomes("failed", "critical", "1 failed: st-a.service (exit status 1)")
        path = pathlib.Path("/etc/statusd/statusd.yaml")
        path.write_text(path.read_text().replace("interval: 1s", "interval: 1h"))
        statusctl("reload")
        becomes("failed", "critical", "1 failed: st-a.service (exit status 1)")
        systemctl("reset-failed", "st-a")
        becomes("failed", "ok", "no unit has failed")


@test("if the bus is lost, the server is failed with that reason and its last status until the bus returns")
def lost_bus():
    with units(**{"st-a": SLEEPER, "st-b": SLEEPER}), service(configuration=PATTERN):
        systemctl("start", "st-a", "st-b")
        becomes("all", "ok", "2 active")
        process = int(show("MainPID", "st-b.service"))
        try:
            run("systemctl", "stop", "dbus.socket", "dbus.service")
            state = eventually(lambda: (state := describe("all"))["phase"] == "failed" and state)
            contains(state["message"], "bus")
            equal(state["status"]["text"], "2 active")
            equal(run("/usr/bin/statusctl", "refresh", "all").status, 1)
            os.kill(process, 9)
        finally:
            run("systemctl", "reset-failed", "dbus.service", "dbus.socket")
            run("systemctl", "start", "dbus.socket", "dbus.service")
        becomes("all", "critical", "1 of 2 not ok: st-b.service failed: ended by signal 9, Killed", seconds=40)
        # The second one is that of the failed server.
        equal(texts("all")[-3:], ["2 active", "2 active", "1 of 2 not ok: st-b.service failed: ended by signal 9, Killed"])


@test("a host with many units that change all the time costs few listings, and a failure is still shown soon", limit=120, once=True)
def busy():
    looper = "[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestart=always\nRestartSec=100ms\nExecStart=/bin/true\n"
    loopers = {f"other-{number}": looper for number in range(30)}
    with units(**{"st-a": ONESHOT.format("false")}, **loopers), service(configuration=FAILED):
        systemctl("start", *loopers)
        becomes("failed", "ok", "no unit has failed")
        # At most one listing in 300 ms.
        before = time.monotonic()
        command = ["timeout", "5", "busctl", "monitor", "--match", "type=method_call,member=ListUnitsByPatterns"]
        listings = run(*command).out.count("Member=ListUnitsByPatterns")
        seconds = time.monotonic() - before
        assert 0 < listings <= seconds / 0.3 + 1, f"{listings} listings in {seconds} s"
        run("systemctl", "start", "st-a")
        becomes("failed", "critical", "1 failed: st-a.service (exit status 1)", seconds=2)


@test("a pattern that matches more than 100 units is refused, and says so; failed is not", once=True)
def many():
    files = {f"st-{number}": ONESHOT.format("false") for number in range(103)}
    with units(**files), service(configuration="servers: { all: { units: 'st-*' }, failed: { units: { match: 'st-*', state: failed } } }\n"):
        run("systemctl", "start", *files)
        becomes("failed", "critical", "103 failed: " + ", ".join(f"st-{number}.service (exit status 1)" for number in (0, 1, 10, 100, 101)) + " and 98 more")
        state = eventually(lambda: (state := describe("all"))["phase"] == "failed" and state)
        equal(state["message"], "103 units match, but at most 100 are followed; use a narrower pattern")
        systemctl("reset-failed", "st-7", "st-8", "st-9")
        eventually(lambda: describe("all")["phase"] == "loaded")
        contains(describe("all")["status"]["text"], "100 of 100 not ok: ")
