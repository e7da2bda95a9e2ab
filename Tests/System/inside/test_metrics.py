# SPDX-License-Identifier: Apache-2.0
"""statusd-metrics.timer and its service, which write metrics for node_exporter."""

import contextlib
import os
import pathlib
import re
import shutil

from harness.daemon import run
from harness.expect import contains, equal, eventually
from harness.prometheus import check_metrics
from harness.runner import test

from .unit import done, service, show, statusctl, systemctl

FOLDER = pathlib.Path("/var/lib/prometheus/node-exporter")
FILE = FOLDER / "statusd.prom"
UNIT = "statusd-metrics.service"


@contextlib.contextmanager
def folder():
    """The folder of node_exporter's textfile collector, as Debian makes it; empty."""
    shutil.rmtree(FOLDER.parent, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        yield
    finally:
        shutil.rmtree(FOLDER.parent, ignore_errors=True)


def write():
    """Runs the service once; returns its result."""
    run("systemctl", "start", UNIT)
    return show("Result", UNIT)


@test("the timer is not enabled by installation; started, it writes valid metrics, again and again, which every user may read")
def timer():
    with service(), folder():
        equal((show("UnitFileState", "statusd-metrics.timer"), show("ActiveState", "statusd-metrics.timer")), ("disabled", "inactive"))
        statusctl("post", "db", "down", "--level", "critical")
        # The timer of the package waits for the next quarter of a minute.
        drop_in = pathlib.Path("/run/systemd/system/statusd-metrics.timer.d/test.conf")
        drop_in.parent.mkdir(parents=True, exist_ok=True)
        drop_in.write_text("[Timer]\nOnCalendar=\nOnCalendar=*:*:*\nAccuracySec=1ms\n")
        try:
            systemctl("daemon-reload")
            systemctl("start", "statusd-metrics.timer")
            eventually(lambda: FILE.exists() and 'statusd_server_level{server="db"} 2' in FILE.read_text(), "the metrics")
            # The test outside has Prometheus itself.
            if shutil.which("promtool"):
                check_metrics(FILE.read_text())
            equal((FILE.stat().st_mode & 0o777, os.listdir(FOLDER)), (0o644, ["statusd.prom"]))
            statusctl("post", "db", "up")
            eventually(lambda: 'statusd_server_level{server="db"} 0' in FILE.read_text(), "newer metrics")
        finally:
            systemctl("stop", "statusd-metrics.timer")
            shutil.rmtree(drop_in.parent)
            systemctl("daemon-reload")


@test("a run writes nothing to the journal; without a daemon it fails with the reason, and removes the file; without the folder it does nothing", once=True)
def failures():
    def journal():
        done("journalctl", "--sync")
        return run("journalctl", "--no-pager", "-o", "cat", "-u", UNIT, "--cursor-file=/tmp/metrics-cursor").out

    with service(), folder():
        journal()
        equal((write(), FILE.exists()), ("success", True))
        equal(journal(), "")
        systemctl("stop", "statusd.socket", "statusd.service")
        equal((write(), os.listdir(FOLDER)), ("exit-code", []))
        contains(journal(), "cannot reach the daemon")
        systemctl("reset-failed", UNIT)
        systemctl("start", "statusd.socket", "statusd.service")
        equal((write(), FILE.exists()), ("success", True))
        shutil.rmtree(FOLDER.parent)
        equal((write(), show("ConditionResult", UNIT)), ("success", "no"))


@test("a file is replaced as a whole; links that the user prometheus could make in the folder lead nowhere", once=True)
def links():
    victim = pathlib.Path("/etc/metrics-victim")
    with service(), folder():
        equal(write(), "success")
        before = FILE.stat().st_ino
        with open(FILE, encoding="utf-8") as reader:
            equal(write(), "success")
            assert FILE.stat().st_ino != before
            contains(reader.read(), "statusd_servers")
        victim.write_text("unharmed\n")
        try:
            for name in ("statusd.prom.new", "statusd.prom"):
                FILE.unlink(missing_ok=True)
                (FOLDER / name).symlink_to(victim)
                write()
                equal(victim.read_text(), "unharmed\n", name)
                (FOLDER / name).unlink(missing_ok=True)
            elsewhere = pathlib.Path("/etc/metrics-elsewhere")
            elsewhere.mkdir()
            FOLDER.rename(FOLDER.with_name("other"))
            FOLDER.symlink_to(elsewhere)
            write()
            assert set(os.listdir(elsewhere)) <= {"statusd.prom"}, os.listdir(elsewhere)
        finally:
            victim.unlink()
            shutil.rmtree("/etc/metrics-elsewhere", ignore_errors=True)
            run("systemctl", "reset-failed", UNIT)


@test("the service sees no user's files, no secrets, no other service, and no network")
def sandbox():
    with service(), folder():
        drop_in = pathlib.Path(f"/run/systemd/system/{UNIT}.d/test.conf")
        drop_in.parent.mkdir(parents=True, exist_ok=True)
        look = "ls -A /etc /var/lib /root /home /srv; find /run -type s; ls /sys/class/net; id -u; grep CapEff /proc/self/status"
        drop_in.write_text(f"[Service]\nExecStart=\nExecStart=/bin/sh -c '({look}) >statusd.prom 2>&1'\n")
        try:
            systemctl("daemon-reload")
            equal(write(), "success")
            seen = FILE.read_text()
        finally:
            shutil.rmtree(drop_in.parent)
            systemctl("daemon-reload")
        # Only the daemon's user may list /run/statusd; there is no other socket.
        assert re.search(r"find: .*/run/statusd.: Permission denied", seen), seen
        rest = [line for line in seen.splitlines() if line and not line.endswith(": Permission denied")]
        equal(rest, ["/etc:", "/srv:", "/var/lib:", "prometheus", "lo", "0", "CapEff:\t0000000000000000"])
