# SPDX-License-Identifier: Apache-2.0
"""The installed service, as an administrator handles it."""

import contextlib
import glob
import json
import os
import pathlib
import re
import shutil

from harness.daemon import environment, run
from harness.expect import eventually
from harness.varlink import Connection

PROJECT = pathlib.Path(__file__).resolve().parents[3]
SOCKET = "/run/statusd/org.statusd.monitor"
CONFIGURATION = pathlib.Path("/etc/statusd/statusd.yaml")
UNITS = ("statusd.socket", "statusd.service", "statusd-executor.socket", "statusd-executor.service", "statusd-alerts.socket", "statusd-alerts.service",
         "statusd-metrics.timer", "statusd-metrics.service")
DROP_INS = {unit: pathlib.Path(f"/etc/systemd/system/{unit}.d") for unit in UNITS}


def done(*command, **options):
    """Runs a command that must succeed; returns its output."""
    result = run(*command, **options)
    assert result.status == 0, f"{result.command} ended with {result.status}: {result.err}{result.out}{log()}"
    return result.out


def install(*arguments):
    """Runs packaging/install from the project's folder; the binaries are built already."""
    return done(PROJECT / "packaging" / "install", *(arguments or ("--no-build",)))


def systemctl(*arguments, **options):
    """Runs systemctl, which must succeed."""
    return done("systemctl", *arguments, **options)


def statusctl(*arguments, **options):
    """Runs the installed statusctl, which must succeed."""
    return done("/usr/bin/statusctl", *arguments, **options)


def show(name, unit="statusd.service"):
    """A property of a unit."""
    return systemctl("show", "-P", name, unit).strip()


def systemd_version():
    """The version of the running systemd, such as 252."""
    return int(done("systemctl", "--version").split()[1])


def log():
    """The service's last lines in the journal, for messages of failed tests."""
    return "\n" + run("journalctl", "--no-pager", "-n", "15", "-o", "cat", "-u", "statusd").out


def journal(*matches):
    """Journal entries with all of their fields."""
    done("journalctl", "--sync")
    return [json.loads(line) for line in done("journalctl", "--no-pager", "-o", "json", "-u", "statusd", *matches).splitlines()]


def main_process():
    """The process id of the running daemon."""
    return int(show("MainPID"))


def as_user(*command, groups=()):
    """Runs a command as an ordinary user with these supplementary groups."""
    more = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return run("setpriv", "--reuid", "12345", "--regid", "12345", *more, "--", *command)


@contextlib.contextmanager
def service(start=("statusd.socket", "statusd.service"), configuration=None, drop_in=None, executor_drop_in=None, alerts_drop_in=None):
    """A freshly started service without the state of earlier tests; stopped at the end."""
    clean()
    if configuration is not None:
        CONFIGURATION.parent.mkdir(exist_ok=True)
        CONFIGURATION.write_text(configuration)
    for unit, text in (("statusd.service", drop_in), ("statusd-executor.service", executor_drop_in), ("statusd-alerts.service", alerts_drop_in)):
        if text is not None:
            DROP_INS[unit].mkdir(exist_ok=True)
            (DROP_INS[unit] / "test.conf").write_text(text)
    systemctl("daemon-reload")
    try:
        for unit in start:
            systemctl("start", unit)
        yield
    finally:
        clean()


def clean():
    """Stops the service and removes everything that it or a test left."""
    run("systemctl", "unmask", "--runtime", "statusd.socket")
    run("systemctl", "stop", *UNITS)
    run("systemctl", "disable", *UNITS)
    run("systemctl", "reset-failed", *UNITS)
    for path in (*DROP_INS.values(), CONFIGURATION.parent, *glob.glob("/var/lib/statusd/*")):
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)
    run("systemctl", "daemon-reload")


class Service:
    """The running service, in the form that a bystander expects of a daemon."""

    socket = SOCKET

    def __init__(self):
        self.process = main_process()

    def resident(self):
        status = pathlib.Path(f"/proc/{self.process}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process}/fd"))


def connect():
    """A raw connection to the control socket."""
    return Connection(SOCKET)


def describe(server):
    """A server as Describe returns it."""
    with connect() as connection:
        return connection.call("Describe", {"server": server})["server"]


def notify(server, status, prefix=()):
    """Runs systemd-notify on the notify socket of a server; returns when its barrier was answered."""
    return run(*prefix, "systemd-notify", f"--status={status}", env=environment(NOTIFY_SOCKET=f"/run/statusd/notify/{server}"))


def restarted(before):
    """Waits until the daemon runs as another process than `before`, is active and answers."""

    def check():
        return show("ActiveState") == "active" and main_process() not in (0, before)

    eventually(check, f"another process than {before}")
    return main_process()
