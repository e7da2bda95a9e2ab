# SPDX-License-Identifier: Apache-2.0
"""unit: the hardened service follows units of a real systemd, and runs checks."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from harness.bus import send_descriptor
from harness.daemon import Follower, environment, run
from harness.expect import contains, equal, eventually
from harness.runner import test
from harness.servers import Certificates, listener, web

from .unit import CONFIGURATION, PROJECT, connect, describe, done, journal, log, main_process, service, show, statusctl, systemctl

UNITS = pathlib.Path("/etc/systemd/system")
SLEEPER = "[Service]\nExecStart=/bin/sleep infinity\n"


def becomes(server, level, text, seconds=15):
    """Waits until the server has this text, then checks its level."""
    try:
        statusctl("wait", server, "--text", text, "--timeout", f"{seconds}s", timeout=seconds + 15)
    except AssertionError as error:
        raise AssertionError(f"{error}; it is {describe(server)}") from None
    equal(describe(server)["status"]["level"], level, f"level of “{text}”")


@contextlib.contextmanager
def units(**texts):
    """Unit files, removed at the end together with their processes."""
    try:
        for name, text in texts.items():
            (UNITS / whole(name)).write_text(text)
        systemctl("daemon-reload")
        yield
    finally:
        for name in map(whole, texts):
            run("systemctl", "unmask", name)
            run("systemctl", "stop", name)
            (UNITS / name).unlink(missing_ok=True)
            run("systemctl", "reset-failed", name)
        systemctl("daemon-reload")


def whole(name):
    """The name of a unit, which is a service unless it has a suffix."""
    return name if "." in name else f"{name}.service"


def following(*names):
    """A configuration that follows the units of these names."""
    return "servers:\n" + "".join(f"  {name}: {{ unit: {whole(name)} }}\n" for name in names)


TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"


def matches(server, level, pattern):
    """Waits until the whole text of the server matches a pattern, then checks its level; returns the text."""
    def matching():
        text = describe(server).get("status", {}).get("text", "")
        assert re.fullmatch(pattern, text), f"“{text}” does not match “{pattern}”"
        return text

    text = eventually(matching, f"{server}: {pattern}")
    equal(describe(server)["status"]["level"], level, f"level of “{text}”")
    return text


def ran(server):
    """Waits until the server shows that its oneshot ran well."""
    matches(server, "ok", f"ran {TIME}")


@test("a unit's states are followed: stopped, started, failed, reset")
def states():
    with units(sleeper=SLEEPER, breaker="[Service]\nExecStart=/bin/sh -c 'exit 7'\n"), service(configuration=following("sleeper", "breaker")):
        becomes("sleeper", "warning", "inactive (dead)")
        systemctl("start", "sleeper")
        becomes("sleeper", "ok", "active (running)")
        run("systemctl", "start", "breaker")
        becomes("breaker", "critical", "failed: exit status 7")
        systemctl("kill", "--signal=KILL", "sleeper")
        becomes("sleeper", "critical", "failed: ended by signal 9, Killed")
        systemctl("reset-failed", "sleeper")
        becomes("sleeper", "warning", "inactive (dead)")
        texts = [entry["STATUSD_TEXT"] for entry in journal("SERVER=sleeper") if entry["_PID"] == str(main_process())]
        for text in ("active (running)", "failed: ended by signal 9, Killed", "inactive (dead)"):
            assert text in texts, texts


@test("a running service's STATUS= is its text; a oneshot that has finished is ok")
def status_text():
    talker = ("[Service]\nType=notify\nNotifyAccess=all\n"
              "ExecStart=/bin/sh -c 'systemd-notify --ready --status=\"Serving 12 clients\"; exec sleep infinity'\n")
    backup = "[Service]\nType=oneshot\nExecStart=/bin/true\n"
    with units(talker=talker, backup=backup, once=backup + "RemainAfterExit=yes\n"), service(
            configuration=following("talker", "backup", "once")):
        becomes("backup", "ok", "inactive (dead)")
        becomes("once", "warning", "inactive (dead)")
        systemctl("start", "once")
        becomes("once", "ok", "active (exited)")
        systemctl("start", "talker", "backup")
        becomes("talker", "ok", "Serving 12 clients")
        systemctl("stop", "talker")
        becomes("talker", "warning", "inactive (dead)")


@test("a oneshot whose dependency failed is critical until it has run successfully; a skipped one keeps its status")
def not_started():
    condition = pathlib.Path("/etc/statusd-test-condition")
    dependency, job = "[Service]\nType=oneshot\nExecStart=/bin/{}\n", "[Unit]\nRequires=dependency.service\nAfter=dependency.service\n[Service]\n{}Type=oneshot\nExecStart=/bin/{}\n"
    with units(dependency=dependency.format("false"), job=job.format("", "true")), service(configuration=following("job")):
        becomes("job", "ok", "inactive (dead)")
        assert run("systemctl", "start", "job").status != 0
        becomes("job", "critical", "inactive (dead), not started: a dependency failed")
        (UNITS / "dependency.service").write_text(dependency.format("true"))
        systemctl("daemon-reload")
        becomes("job", "critical", "inactive (dead), not started: a dependency failed")
        systemctl("start", "job")
        ran("job")
        (UNITS / "job.service").write_text(job.format(f"ExecCondition=/usr/bin/test -e {condition}\n", "false"))
        systemctl("daemon-reload")
        condition.touch()
        run("systemctl", "start", "job")
        becomes("job", "critical", "failed: exit status 1")
        condition.unlink()
        systemctl("start", "job")
        becomes("job", "critical", "inactive (dead) after a failure")


@test("a oneshot that failed or was not started stays critical over a restart of statusd, although the manager has forgotten it")
def failures_over_a_restart():
    job = "[Unit]\n{}\n[Service]\nType=oneshot\nExecStart=/bin/sh -c '{}'\n"
    with units(collected=job.format("CollectMode=inactive-or-failed", "exit 3"), insistent=job.format("AssertPathExists=/nonexistent", "true"),
               dependent=job.format("Requires=broken.service\nAfter=broken.service", "true"), broken=job.format("", "exit 3")), \
            service(configuration=following("collected", "insistent", "dependent")):
        for name in ("collected", "insistent", "dependent"):
            becomes(name, "ok", "inactive (dead)")
            run("systemctl", "start", name)
        becomes("collected", "critical", "failed: exit status 3")
        becomes("dependent", "critical", "inactive (dead), not started: a dependency failed")
        matches("insistent", "critical", r"inactive \(dead\), not started: .*")
        for kill in (False, True):
            eventually(lambda: run("systemctl", "reset-failed").status == 0)
            time.sleep(2.5)  # A killed daemon may lose the last two seconds.
            run("systemctl", "kill", "-s", "KILL", "statusd") if kill else systemctl("restart", "statusd")
            eventually(lambda: "(before restart)" not in statusctl("list") and run("systemctl", "is-active", "statusd").status == 0)
            becomes("collected", "critical", "failed: exit status 3")
            becomes("dependent", "critical", "inactive (dead), not started: a dependency failed")
            matches("insistent", "critical", r"inactive \(dead\), not started: .*")
        (UNITS / "collected.service").write_text(job.format("CollectMode=inactive-or-failed", "true"))
        systemctl("daemon-reload")
        becomes("collected", "critical", "failed: exit status 3")
        systemctl("start", "collected")
        ran("collected")


@test("a service that ran into its start limit says how it ended last; the first process that failed is the reason, also after daemon-reload")
def first_failure():
    def failing(settings):
        return f"[Unit]\nStartLimitIntervalSec=60\n[Service]\n{settings}\n"

    loop = "Restart=always\nRestartSec=10ms\n"
    texts = {"loop": ("ExecStart=/bin/sh -c 'exit 4'", "exit status 4"),
             "crash": ("ExecStart=/bin/sh -c 'kill -KILL $$$$'", "ended by signal 9, Killed"),
             "before": ("ExecStartPre=/bin/sh -c 'exit 5'\nExecStart=/bin/sleep 60", "exit status 5"),
             "after": ("ExecStart=/bin/sleep 60\nExecStartPost=/bin/sh -c 'exit 6'", "exit status 6")}
    files = {name: failing(loop + settings) for name, (settings, _) in texts.items()}
    files["post"] = failing(texts["after"][0])
    files["condition"] = failing("ExecCondition=/bin/sh -c 'exit 255'\nExecStart=/bin/sleep 60")
    files["stop"] = failing("ExecStart=/bin/sleep 60\nExecStop=/bin/sh -c 'exit 9'")
    with units(**files), service(configuration=following(*files)):
        run("systemctl", "start", "--no-block", *files)
        for _ in range(2):
            for name, (_, reason) in texts.items():
                becomes(name, "critical", f"failed: {reason}, started too often")
            becomes("post", "critical", "failed: exit status 6")
            becomes("condition", "critical", "failed: exit status 255")
            systemctl("daemon-reload")
            time.sleep(1)
        becomes("stop", "ok", "active (running)")
        run("systemctl", "stop", "stop")
        becomes("stop", "critical", "failed: exit status 9")


@test("a unit that was not started names the condition or assertion that failed")
def conditions():
    unit = "[Unit]\n{}\n[Service]\nType={}\nExecStart=/bin/true\n"
    with units(plain=unit.format("ConditionPathExists=/nonexistent", "simple"), job=unit.format("ConditionPathExists=!/etc", "oneshot"),
               several=unit.format("ConditionPathExists=/etc\nConditionPathExists=|/nonexistent\nConditionUser=|nobody", "oneshot"),
               insistent=unit.format("AssertPathExists=/nonexistent", "oneshot")), \
            service(configuration=following("plain", "job", "several", "insistent")):
        for server in ("job", "several", "insistent"):
            becomes(server, "ok", "inactive (dead)")
        run("systemctl", "start", "plain", "job", "several", "insistent")
        # The service manager may unload a unit before its condition is read.
        matches("plain", "warning", "condition failed(: ConditionPathExists=/nonexistent)?")
        matches("job", "ok", "condition failed(: ConditionPathExists=!/etc)?")
        matches("several", "ok", r"condition failed(: ConditionPathExists=\|/nonexistent)?")
        matches("insistent", "critical", r"inactive \(dead\), not started: (an )?assertion failed(: AssertPathExists=/nonexistent)?")
    # A unit that another one needs stays loaded.
    with units(job=unit.format("ConditionPathExists=!/etc", "oneshot"), keeper=f"[Unit]\nWants=job.service\n{SLEEPER}"), \
            service(configuration=following("job")):
        systemctl("start", "keeper")
        becomes("job", "ok", "condition failed: ConditionPathExists=!/etc")
        statusctl("refresh", "job")
        becomes("job", "ok", "condition failed: ConditionPathExists=!/etc")


@test("a failed unit says why, whichever of its commands failed")
def reasons():
    def failing(settings):
        return f"[Service]\n{settings}\n"

    core = "ExecStart=/bin/sh -c 'kill -SEGV $$$$'\nLimitCORE=0"
    with units(before=failing("ExecStartPre=/bin/sh -c 'exit 4'\nExecStart=/bin/sleep infinity"),
               forking=failing("Type=forking\nExecStart=/bin/sh -c 'exit 5'"), absent=failing("ExecStart=/nonexistent"),
               slow=failing("Type=notify\nTimeoutStartSec=1s\nExecStart=/bin/sleep infinity"), crash=failing(core),
               silent=failing("Type=notify\nNotifyAccess=all\nWatchdogSec=1s\nExecStart=/bin/sh -c 'systemd-notify --ready; exec sleep infinity'"),
               eager=failing("Restart=always\nRestartSec=10ms\nExecStart=/bin/true")), \
            service(configuration=following("before", "forking", "absent", "slow", "crash", "silent", "eager")):
        systemctl("start", "--no-block", "before", "forking", "absent", "slow", "crash", "silent", "eager")
        becomes("before", "critical", "failed: exit status 4")
        becomes("forking", "critical", "failed: exit status 5")
        becomes("absent", "critical", "failed: exit status 203/EXEC")
        becomes("slow", "critical", "failed: timed out")
        becomes("crash", "critical", "failed: ended by signal 11, Segmentation fault")
        becomes("silent", "critical", "failed: watchdog timed out")
        becomes("eager", "critical", "failed: started too often")
        # One entry for each failure, although how a command ended is read afterwards.
        texts = [entry["STATUSD_TEXT"] for entry in journal("SERVER=before") if entry["_PID"] == str(main_process())]
        equal([text for text in texts if text.startswith("failed")], ["failed: exit status 4"])


@test("a oneshot says when it ran and when its timer starts it again; a timer says so, too, and that its service failed")
def timers():
    job, timer = "[Service]\nType=oneshot\nExecStart=/bin/{}\n", "[Timer]\n{}\n"
    files = {"job": job.format("true"), "job.timer": timer.format("OnCalendar=*-*-* 03:00:00"),
             "once": job.format("true"), "once.timer": timer.format("OnActiveSec=1s\nAccuracySec=1ms"),
             "bad": job.format("false"), "bad.timer": timer.format("OnCalendar=*-*-* 03:00:00")}
    with units(**files), service(configuration=following(*files)):
        becomes("job", "ok", "inactive (dead), no further run is scheduled")
        systemctl("start", "job.timer", "once.timer", "bad.timer")
        next_run = r"next \d{4}-\d\d-\d\d 03:00 UTC"
        matches("job", "ok", rf"inactive \(dead\), {next_run}")
        matches("job.timer", "ok", rf"active \(waiting\), {next_run}")
        matches("once", "ok", f"ran {TIME}, no further run is scheduled")
        matches("once.timer", "ok", rf"active \(elapsed\), ran {TIME}, no further run is scheduled")
        systemctl("start", "job")
        matches("job", "ok", f"ran {TIME}, {next_run}")
        run("systemctl", "start", "bad")
        becomes("bad", "critical", "failed: exit status 1")
        matches("bad.timer", "ok", rf"active \(waiting\), {next_run}; bad.service failed: exit status 1")
        before = [describe(server)["status"]["changedAt"] for server in files]
        systemctl("daemon-reload")
        systemctl("restart", "statusd.service")
        statusctl("refresh", "--all")
        equal([describe(server)["status"]["changedAt"] for server in files], before, "nothing has changed")
        systemctl("stop", "job.timer")
        matches("job", "ok", f"ran {TIME}, no further run is scheduled")


@test("a timer that fires all the time causes two entries in the journal for each run of its service")
def busy_timer():
    files = {"job": "[Unit]\nStartLimitIntervalSec=0\n[Service]\nType=oneshot\nExecStart=/bin/sleep 0.2\n",
             "job.timer": "[Timer]\nOnActiveSec=100ms\nOnUnitInactiveSec=700ms\nAccuracySec=1ms\n"}
    with units(**files), service(configuration=following("job", "job.timer")):
        systemctl("start", "job.timer")
        statusctl("wait", "job", "--text", "activating (start)", "--timeout", "10s")
        time.sleep(6)
        systemctl("stop", "job.timer")
        texts = [entry["STATUSD_TEXT"] for entry in journal("SERVER=job") if entry["_PID"] == str(main_process())]
        began = [number for number, text in enumerate(texts) if text == "activating (start)"]
        assert len(began) > 3 and began[-1] - began[0] == 2 * (len(began) - 1), texts


@test("a unit that is masked while it runs says so")
def masked_while_running():
    with units(sleeper=SLEEPER), service(configuration=following("sleeper")):
        systemctl("start", "sleeper")
        becomes("sleeper", "ok", "active (running)")
        (UNITS / "sleeper.service").unlink()
        systemctl("mask", "sleeper")
        becomes("sleeper", "ok", "active (running), masked")
        systemctl("unmask", "sleeper")
        becomes("sleeper", "ok", "active (running), unit file missing")
        (UNITS / "sleeper.service").write_text(SLEEPER)
        systemctl("daemon-reload")
        becomes("sleeper", "ok", "active (running)")


@test("sockets and paths say why they failed")
def sockets_and_paths():
    files = {"quick": "[Service]\nExecStart=/bin/false\n", "quick.path": "[Path]\nPathExists=/etc\n"}
    with units(**files), service(configuration=following("quick.path")):
        run("systemctl", "start", "quick.path")
        matches("quick.path", "critical", "failed: its unit was started too often|failed: triggered too often")


@test("a frozen unit is a warning until it runs again")
def frozen():
    with units(sleeper=SLEEPER), service(configuration=following("sleeper")):
        systemctl("start", "sleeper")
        becomes("sleeper", "ok", "active (running)")
        # Before 257, systemd sends no signal when it freezes a unit.
        systemctl("freeze", "sleeper")
        statusctl("refresh", "sleeper")
        becomes("sleeper", "warning", "active (running), frozen")
        systemctl("thaw", "sleeper")
        statusctl("refresh", "sleeper")
        becomes("sleeper", "ok", "active (running)")


@test("a unit in a restart loop writes one journal entry for each restart, and is ok when it has run for a while")
def restart_loop():
    flag = pathlib.Path("/etc/statusd-test-stop-looping")
    looper = ("[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestart=always\nRestartSec=300ms\n"
              f"ExecStart=/bin/sh -c '[ -e {flag} ] && exec sleep infinity; sleep 0.3; exit 3'\n")
    with units(looper=looper), service(configuration=following("looper")):
        try:
            systemctl("start", "looper")
            statusctl("wait", "looper", "--text", "activating (auto-restart): exit status 3, 4 times", "--timeout", "20s")
            flag.touch()
            becomes("looper", "ok", "active (running)")
        finally:
            flag.unlink(missing_ok=True)
        restarts = int(done("systemctl", "show", "-P", "NRestarts", "looper.service"))
        texts = [entry["STATUSD_TEXT"] for entry in journal("SERVER=looper") if entry["_PID"] == str(main_process())]
        looped = texts[texts.index("activating (auto-restart): exit status 3"):]
        equal(len(looped), restarts + 1, f"entries of {looped}")
        equal(looped[-2:], [f"activating (auto-restart): exit status 3, {restarts} times", "active (running)"])


@test("a running oneshot is ok until it has run for longer than the configuration allows")
def long_run():
    backup = "[Service]\nType=oneshot\nExecStart=/bin/sleep 60\n"
    with units(backup=backup), service(configuration="servers: { backup: { unit: backup.service, runtime: 2s } }\n"):
        becomes("backup", "ok", "inactive (dead)")
        systemctl("start", "--no-block", "backup")
        becomes("backup", "ok", "activating (start)")
        becomes("backup", "critical", "activating for more than 2s")
        # The same for a daemon that did not see it begin.
        systemctl("restart", "statusd.service")
        becomes("backup", "critical", "activating for more than 2s")


@test("“failures” applies to units, too: only that many failed checks in a row, an interval apart, count")
def unit_failures():
    with units(sleeper=SLEEPER), service(
            configuration="servers: { sleeper: { unit: sleeper.service, failures: 2, interval: 1s } }\n"):
        becomes("sleeper", "warning", "inactive (dead)")
        systemctl("start", "sleeper")
        becomes("sleeper", "ok", "active (running)")
        systemctl("kill", "--signal=KILL", "sleeper")
        eventually(lambda: "failed: ended by signal 9, Killed [critical]; 1 of 2 before it counts" in run("/usr/bin/statusctl", "status", "sleeper").out)
        equal(describe("sleeper")["status"]["level"], "ok")
        becomes("sleeper", "critical", "failed: ended by signal 9, Killed")


@test("a unit that does not exist is unknown; it is followed when it appears, is masked, and disappears")
def comes_and_goes():
    with service(configuration=following("later")):
        becomes("later", "unknown", "unit later.service not found")
        equal(run("/usr/bin/statusctl", "status", "later").status, 3)
        with units(later=SLEEPER):
            becomes("later", "warning", "inactive (dead)")
            systemctl("start", "later")
            becomes("later", "ok", "active (running)")
            systemctl("stop", "later")
            (UNITS / "later.service").unlink()
            systemctl("mask", "later")
            becomes("later", "warning", "masked")
            systemctl("unmask", "later")
            becomes("later", "unknown", "unit later.service not found")
            (UNITS / "later.service").write_text(SLEEPER)
            systemctl("daemon-reload")
            becomes("later", "warning", "inactive (dead)")


@test("units are followed as before after daemon-reload and daemon-reexec, which are not changes")
def reexec():
    with units(sleeper=SLEEPER), service(configuration=following("sleeper")):
        becomes("sleeper", "warning", "inactive (dead)")
        with Follower("/usr/bin/statusctl", "watch", "sleeper", env=environment()) as lines:
            lines.next()
            for command in ("daemon-reload", "daemon-reexec", "daemon-reexec"):
                systemctl(command)
            systemctl("start", "sleeper")
            contains(lines.next(), "active (running)", "[ok]")
            systemctl("daemon-reexec")
            systemctl("stop", "sleeper")
            contains(lines.until("inactive"), "[warning]")


@test("a oneshot that failed stays failed while it runs again, even after a lost bus; a refresh says so at once")
def failing_oneshot():
    job = "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'if test -e /run/statusd-test-slow; then sleep 60; else exit 1; fi'\n"
    slow = pathlib.Path("/run/statusd-test-slow")
    with units(job=job), service(configuration=following("job")):
        becomes("job", "ok", "inactive (dead)")
        run("systemctl", "start", "job")
        result = run("/usr/bin/statusctl", "refresh", "job")
        contains(result.out, "job: failed: exit status 1 [critical]")
        slow.touch()
        try:
            systemctl("start", "--no-block", "job")
            eventually(lambda: show("SubState", "job.service") == "start")
            contains(run("/usr/bin/statusctl", "refresh", "job").out, "job: failed: exit status 1", "[critical]")
            run("systemctl", "restart", "dbus.service")
            eventually(lambda: "follows units again" in log())
            eventually(lambda: describe("job")["phase"] == "loaded")
            equal(describe("job")["status"]["level"], "critical")
        finally:
            slow.unlink()
            run("systemctl", "stop", "job")


@test("a failed oneshot that the service manager forgets stays failed until it has run successfully")
def forgotten_oneshot():
    good = pathlib.Path("/run/statusd-test-good")
    job = f"[Unit]\nCollectMode=inactive-or-failed\n[Service]\nType=oneshot\nExecStart=/bin/test -e {good}\n"
    with units(job=job), service(configuration="servers: { db: { push: true } }\n"):
        drop_in = CONFIGURATION.parent / "conf.d" / "job.yaml"
        drop_in.parent.mkdir()
        drop_in.write_text(following("job"))
        statusctl("reload")
        becomes("job", "ok", "inactive (dead)")
        run("systemctl", "start", "job")
        becomes("job", "critical", "failed: exit status 1")
        # A temporarily invalid configuration does not make it ok either.
        drop_in.write_text(following("job") + "accept: sometimes\n")
        run("/usr/bin/statusctl", "reload")
        equal(describe("job")["phase"], "failed")
        drop_in.write_text(following("job"))
        statusctl("reload")
        # It is read after the manager has forgotten it.
        contains(run("/usr/bin/statusctl", "refresh", "job").out, "job: failed: exit status 1 [critical]")
        good.touch()
        try:
            systemctl("start", "job")
            ran("job")
        finally:
            good.unlink()


@test("if the bus is lost, the server is failed with that reason and its last status until the bus returns")
def bus_restart():
    with units(sleeper=SLEEPER), service(configuration=following("sleeper", "nosuch") + "  db: { push: true }\n"):
        systemctl("start", "sleeper")
        becomes("sleeper", "ok", "active (running)")
        before = len(os.listdir(f"/proc/{main_process()}/fd"))
        try:
            for _ in range(3):
                # The socket stops, too, so that no client starts another dbus-daemon.
                run("systemctl", "stop", "dbus.socket", "dbus.service")
                state = eventually(lambda: (state := describe("sleeper"))["phase"] == "failed" and state)
                contains(state["message"], "bus")
                equal(state["status"]["text"], "active (running)")
                statusctl("post", "db", "still takes posts")
                result = run("/usr/bin/statusctl", "refresh", "sleeper")
                equal(result.status, 1)
                contains(result.err, "cannot refresh sleeper: ", "bus")
                run("systemctl", "reset-failed", "dbus.service", "dbus.socket")
                run("systemctl", "start", "dbus.socket", "dbus.service")
                statusctl("wait", "sleeper", "--timeout", "40s")
                equal(describe("sleeper")["phase"], "loaded")
                becomes("nosuch", "unknown", "unit nosuch.service not found")
        finally:
            run("systemctl", "reset-failed", "dbus.service", "dbus.socket")
            run("systemctl", "start", "dbus.socket", "dbus.service")
        eventually(lambda: len(os.listdir(f"/proc/{main_process()}/fd")) <= before + 2, f"{before} descriptors")
        systemctl("kill", "--signal=KILL", "sleeper")
        becomes("sleeper", "critical", "failed: ended by signal 9, Killed")
        messages = [entry["MESSAGE"] for entry in journal(f"_PID={main_process()}")
                    if entry["MESSAGE"].startswith(("cannot follow units", "follows units"))]
        # Messages that follow soon are combined with the next ones.
        equal([message.split(":")[0] for message in messages[:2]], ["cannot follow units", "follows units again"])


@test("a unit that died while the bus was lost is never ok once the bus is back")
def death_without_bus():
    with units(sleeper=SLEEPER), service(configuration=following("sleeper")):
        systemctl("start", "sleeper")
        becomes("sleeper", "ok", "active (running)")
        process = int(done("systemctl", "show", "-P", "MainPID", "sleeper.service"))
        try:
            run("systemctl", "stop", "dbus.socket", "dbus.service")
            eventually(lambda: describe("sleeper")["phase"] == "failed")
            os.kill(process, signal.SIGKILL)
            with Follower("/usr/bin/statusctl", "wait", "sleeper", "--timeout", "8s") as waiting:
                run("systemctl", "start", "dbus.socket", "dbus.service")
                becomes("sleeper", "critical", "failed: ended by signal 9, Killed")
                equal(waiting.wait(), 75, "exit status of wait")
        finally:
            run("systemctl", "reset-failed", "dbus.service", "dbus.socket")
            run("systemctl", "start", "dbus.socket", "dbus.service")


@test("a refresh fails if the bus is too slow, and the late answer counts, even if it is unchanged")
def slow_bus():
    with units(sleeper=SLEEPER), service(configuration="servers: { sleeper: { unit: sleeper.service, timeout: 300ms } }\n"):
        becomes("sleeper", "warning", "inactive (dead)")
        bus = int(done("systemctl", "show", "-P", "MainPID", "dbus.service"))
        os.kill(bus, signal.SIGSTOP)
        try:
            result = run("/usr/bin/statusctl", "refresh", "sleeper")
            equal((result.status, describe("sleeper")["phase"]), (1, "failed"))
            contains(result.err, "the service manager did not answer within 300ms")
        finally:
            os.kill(bus, signal.SIGCONT)
        eventually(lambda: describe("sleeper")["phase"] == "loaded")
        equal(run("/usr/bin/statusctl", "post", "sleeper", "made up").status, 1)


@test("the daemon accepts no descriptors from the bus, because any user may send some that block when they are closed")
def bus_descriptors():
    with units(sleeper=SLEEPER), service(configuration=following("sleeper")):
        becomes("sleeper", "warning", "inactive (dead)")
        contains(send_descriptor(bus_name(), 0).decode(errors="replace"), "org.freedesktop.DBus.Error.NotSupported")


def bus_name():
    """The daemon's name on the bus."""
    names = [line.split()[0] for line in done("busctl", "list", "--unique", "--no-legend").splitlines()
             if line.split()[1] == str(main_process())]
    equal(len(names), 1, "connections of the daemon to the bus")
    return names[0]


@test("units are not read repeatedly while nothing changes", limit=90, once=True)
def quiet_bus():
    names = [f"nosuch-{number}" for number in range(60)]
    with service(configuration=following(*names)):
        for name in names:
            becomes(name, "unknown", f"unit {name}.service not found")
        command = ["busctl", "monitor", "--json=short", "--match", "type=method_call,member=GetAll", "--match", "type=method_call,member=Ping"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as monitor:
            time.sleep(16)
            monitor.terminate()
            lines = monitor.stdout.read()
        assert lines.count('"Ping"') >= 2, "the service manager is asked for a sign of life"
        equal(lines.count('"GetAll"'), 0, "readings")


@test("while processors are busy and other units restart continuously, a unit's state is shown within 2 s", limit=120, once=True)
def under_load():
    looper = "[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestart=always\nRestartSec=100ms\nExecStart=/bin/false\n"
    loopers = {f"looper-{number}": looper for number in range(30)}
    with units(sleeper=SLEEPER, **loopers), service(configuration=following("sleeper", *loopers)), \
            contextlib.ExitStack() as stack:
        systemctl("start", "sleeper", *loopers)
        for _ in range(2 * os.cpu_count()):
            stack.callback(subprocess.Popen(["sh", "-c", "while :; do :; done"]).kill)
        becomes("sleeper", "ok", "active (running)")
        for _ in range(5):
            systemctl("kill", "--signal=KILL", "sleeper")
            becomes("sleeper", "critical", "failed: ended by signal 9, Killed", seconds=2)
            systemctl("start", "sleeper")
            becomes("sleeper", "ok", "active (running)", seconds=2)
            systemctl("stop", "sleeper")
            becomes("sleeper", "warning", "inactive (dead)", seconds=2)
            systemctl("start", "sleeper")
            becomes("sleeper", "ok", "active (running)", seconds=2)
        for looper in loopers:
            contains(describe(looper)["status"]["text"], "activating (auto-restart): exit status")


@test("a service manager or bus that hangs without disconnecting is noticed, and its units are failed", limit=120)
def frozen_bus():
    with units(sleeper=SLEEPER), service(configuration=following("sleeper")):
        systemctl("start", "sleeper")
        becomes("sleeper", "ok", "active (running)")
        bus = int(done("systemctl", "show", "-P", "MainPID", "dbus.service"))
        os.kill(bus, signal.SIGSTOP)
        try:
            state = eventually(lambda: (state := describe("sleeper"))["phase"] == "failed" and state, patience=25)
            contains(state["message"], "the service manager did not answer within 10 s")
        finally:
            os.kill(bus, signal.SIGCONT)
        eventually(lambda: describe("sleeper")["phase"] == "loaded")


@test("statusctl refresh reads a unit again")
def refresh():
    with units(sleeper=SLEEPER), service(configuration=following("sleeper")):
        becomes("sleeper", "warning", "inactive (dead)")
        contains(statusctl("refresh", "sleeper"), "sleeper: inactive (dead) [warning]")
        systemctl("start", "sleeper")
        contains(statusctl("refresh", "sleeper"), "sleeper: active (running) [ok]")


@test("checks work in the hardened service: Debian's plugins, tcp, and https with the system's and a private authority")
def hardened():
    with Certificates() as authority, web(authority.make("good")) as server, listener() as port:
        # The service has its own /tmp.
        shutil.copy(authority.ca, "/etc/statusd-test-ca.pem")
        plugins = "/usr/lib/nagios/plugins"
        configuration = f"""defaults: {{ interval: 1h, timeout: 10s }}
servers:
  disk: {{ exec: [{plugins}/check_disk, -w, 0%, -c, 0%, -p, /] }}
  dummy: {{ exec: [{plugins}/check_dummy, '1', careful] }}
  load: {{ exec: [{plugins}/check_load, -w, '1000,1000,1000', -c, '2000,2000,2000'] }}
  tcp: {{ exec: [{plugins}/check_tcp, -H, 127.0.0.1, -p, '{port}'] }}
  http: {{ exec: [{plugins}/check_http, -H, localhost, -p, '{server.port}', -S, -s, ready] }}
  port: {{ tcp: 'localhost:{port}' }}
  site: {{ http: {{ url: 'https://localhost:{server.port}/', contains: ready, ca: /etc/statusd-test-ca.pem }} }}
  strange: {{ http: 'https://localhost:{server.port}/' }}
  slow: {{ exec: [/bin/sleep, '1000'], timeout: 300ms }}
"""
        try:
            with service(configuration=configuration):
                for name, level, part in (
                        ("disk", "ok", "DISK OK"), ("dummy", "warning", "WARNING: careful"),
                        ("load", "ok", "LOAD OK"), ("tcp", "ok", "TCP OK"),
                        ("http", "ok", "HTTP OK"), ("port", "ok", "connected in "), ("site", "ok", "HTTP 200 in "),
                        ("strange", "critical", "certificate is not trusted")):
                    result = run("/usr/bin/statusctl", "wait", name, "--level", level, "--timeout", "15s")
                    assert result.status == 0, f"{name}: {result.err}{describe(name)}{log()}"
                    contains(describe(name)["status"]["text"], part)
                becomes("slow", "critical", "timed out after 300ms")
                equal(done("systemctl", "show", "-P", "NRestarts", "statusd.service").strip(), "0")
                complaints = [entry["MESSAGE"] for entry in journal(f"_PID={main_process()}") if entry["_TRANSPORT"] != "journal"]
                equal(complaints, [], "what libraries complain of in the journal")
        finally:
            os.unlink("/etc/statusd-test-ca.pem")


@test("plugins that see processes and send ICMP work with the drop-in that statusd(8) shows")
def more_than_usual():
    drop_in = re.search(r"```ini\n(.*?)```", (PROJECT / "packaging/man/statusd.8.md").read_text(), re.DOTALL)[1]
    plugins = "/usr/lib/nagios/plugins"
    configuration = f"""servers:
  procs: {{ exec: [{plugins}/check_procs, -c, '1:', -C, systemd] }}
  ping: {{ exec: [{plugins}/check_icmp, -H, 127.0.0.1] }}
"""
    with service(configuration=configuration, executor_drop_in=drop_in):
        for name, part in (("procs", "PROCS OK"), ("ping", "OK - 127.0.0.1")):
            result = run("/usr/bin/statusctl", "wait", name, "--timeout", "15s")
            assert result.status == 0, f"{name}: {result.err}{describe(name)}{log()}"
            contains(describe(name)["status"]["text"], part)


@test("systemctl stop ends plugins with the service; none is left, and the stop does not wait for them")
def stop():
    with service(configuration="servers: { slow: { exec: [/bin/sleep, '86405'], timeout: 1h } }\n"):
        eventually(lambda: run("pgrep", "-f", "sleep 86405").status == 0, "the plugin")
        systemctl("stop", "statusd.socket", "statusd.service")
        eventually(lambda: run("pgrep", "-f", "sleep 86405").status == 1, "no plugin left")
        equal(done("systemctl", "show", "-P", "Result", "statusd.service").strip(), "success")


@test("the hardened service follows files, even through a restart; verify warns of files that it cannot see")
def files():
    folder = pathlib.Path("/var/statusd-test")
    configuration = (f"defaults: {{ interval: 1h }}\nservers:\n  backup: {{ file: {{ path: {folder}/db.dump, age: 1h, size: 3 }} }}\n"
                     "  home: { file: /home/a }\n  tmp: { file: /tmp/a/b }\n  secret: { file: /root/a }\n"
                     "  homes: { file: '/home/*/a' }\n  process: { file: /proc/1/status }\n  disk: { file: /dev/statusd-test }\n  shared: { file: /dev/shm/a }\n")
    folder.mkdir()
    try:
        with service(configuration=configuration):
            hidden = pathlib.Path("/etc/statusd/conf.d/hidden.yaml")
            hidden.parent.mkdir()
            hidden.symlink_to("/dev/null")
            becomes("backup", "critical", f"no such file: {folder}/db.dump")
            (folder / "db.dump").write_text("dump")
            becomes("backup", "ok", "db.dump: changed in the last 1h, 4 B")
            systemctl("restart", "statusd")
            (folder / "db.dump").unlink()
            becomes("backup", "critical", f"no such file: {folder}/db.dump")
            result = run("/usr/bin/statusctl", "verify")
            shutil.rmtree(hidden.parent)
            warnings = result.err
            equal(result.status, 0, warnings)
            for path, setting in (("/home/a", "ProtectHome= of statusd.service hides /home"), ("/home/*", "ProtectHome= of statusd.service hides /home"), ("/root/a", "ProtectHome= of statusd.service hides /root"),
                                  ("/tmp/a/b", "PrivateTmp= of statusd.service hides /tmp"),
                                  ("/proc/1/status", "ProtectProc= of statusd.service hides /proc"),
                                  ("/dev/statusd-test", "PrivateDevices= of statusd.service hides /dev")):
                contains(warnings, setting)
                contains(warnings, path)
            if "/dev/shm/a" in warnings:
                raise AssertionError(warnings)
    finally:
        shutil.rmtree(folder)


@test("a file that the service cannot see is failed, and neither missing nor ok, also through links and patterns")
def hidden_files():
    folder = pathlib.Path("/opt/statusd-test")
    # The setting that each path leads to.
    paths = {"/proc/1/stat": "ProtectProc=", "/proc/[1]/stat": "ProtectProc=", "/dev/console": "PrivateDevices=",
             "/dev/disk/by-label/x": "PrivateDevices=", "/dev/sd?": "PrivateDevices=", "/dev/mqueue/x": "PrivateDevices=", "/home/x": "ProtectHome=", "/root/x": "ProtectHome=",
             "/run/user/0/x": "ProtectHome=", "/var/run/user/0/x": "ProtectHome=", "/tmp/statusd-test": "PrivateTmp=", "/tmp*/statusd-test": "PrivateTmp=", "/var/tmp/*": "PrivateTmp=",
             f"{folder}/file": "PrivateTmp=", f"{folder}/folder/*": "PrivateTmp=", f"{folder}/fold*/statusd-test": "PrivateTmp=", f"{folder}/first": "ProtectProc="}
    visible = {"/dev/null": True, "/proc/loadavg": True, "/proc/sys/kernel/panic": True, "/dev/shm/statusd-test": False, "/run/statusd-none": False, "/usr/lib/statusd-test": False, f"{folder}/none*": False}
    folder.mkdir()
    (folder / "file").symlink_to("/tmp/statusd-test")
    (folder / "folder").symlink_to("/tmp")
    (folder / "first").symlink_to("/proc/1/stat")
    pathlib.Path("/tmp/statusd-test").touch()
    servers = "".join(f"  {kind}{number}: {{ file: {{ path: '{path}', exists: {kind == 'is'} }} }}\n" for number, path in enumerate([*paths, *visible]) for kind in ("is", "no"))
    authority = "  web: { http: { url: 'https://127.0.0.1:9/', ca: /tmp/statusd-test } }\n  plugin: { exec: [/run/statusd-test] }\n"
    try:
        with service(configuration=f"defaults: {{ interval: 1h }}\nservers:\n{servers}{authority}".replace("True", "true").replace("False", "false")):
            for number, (path, setting) in enumerate(paths.items()):
                for kind in "is", "no":
                    name = f"{kind}{number}"
                    message = eventually(lambda: (found := describe(name))["phase"] == "failed" and found["message"], f"{path} failed")
                    contains(message, "cannot access", f"{setting}", "of the service hides")
            for number, (path, exists) in enumerate(visible.items(), len(paths)):
                for kind, level in ("is", "ok" if exists else "critical"), ("no", "critical" if exists else "ok"):
                    eventually(lambda: (describe(f"{kind}{number}").get("status") or {}).get("level") == level, f"{path} {level}")
            contains(run("/usr/bin/statusctl", "refresh", "web").err, "cannot read certificates from /tmp/statusd-test: PrivateTmp= of the service hides /tmp")
            contains(run("/usr/bin/statusctl", "refresh", "plugin").err, "cannot run /run/statusd-test: TemporaryFileSystem= of the service hides /run")
    finally:
        shutil.rmtree(folder)
        os.unlink("/tmp/statusd-test")


@test("a oneshot says that it was skipped, not that it ran")
def skipped_run():
    job = "[Service]\nType=oneshot\nExecCondition=/bin/false\nExecStart=/bin/true\n"
    with units(job=job), service(configuration=following("job")):
        becomes("job", "ok", "inactive (dead)")
        systemctl("start", "job")
        becomes("job", "ok", "condition failed: ExecCondition=")
        statusctl("refresh", "job")
        becomes("job", "ok", "condition failed: ExecCondition=")


@test("a oneshot whose timer was stopped, disabled or masked says that no further run is scheduled; a timer says that its service is masked")
def stopped_timers():
    job, timer = "[Service]\nType=oneshot\nExecStart=/bin/true\n", "[Timer]\nOnCalendar=*-*-* 03:00:00\n{}\n[Install]\nWantedBy=timers.target\n"
    files = {"job": job, "job.timer": timer.format(""), "other": job, "daily.timer": timer.format("Unit=other.service")}
    with units(**files), service(configuration=following(*files)):
        systemctl("enable", "--now", "job.timer", "daily.timer")
        systemctl("start", "job", "other")
        for name in ("job", "other"):
            matches(name, "ok", rf"ran {TIME}, next \d{{4}}-\d\d-\d\d 03:00 UTC")
        systemctl("disable", "--now", "job.timer", "daily.timer")
        for name in ("job", "other"):
            matches(name, "ok", f"ran {TIME}, no further run is scheduled")
        systemctl("restart", "statusd")
        statusctl("refresh", "--all")
        matches("job", "ok", rf"(ran {TIME}|inactive \(dead\)), no further run is scheduled")
        (UNITS / "job.timer").unlink()
        systemctl("mask", "job.timer")
        statusctl("refresh", "--all")
        matches("job", "ok", rf"(ran {TIME}|inactive \(dead\)), no further run is scheduled")
        systemctl("start", "daily.timer")
        (UNITS / "other.service").unlink()
        systemctl("mask", "other")
        matches("daily.timer", "ok", r"active \(waiting\), (ran .*, )?next \d{4}-\d\d-\d\d 03:00 UTC; other.service masked")
