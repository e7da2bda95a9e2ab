# SPDX-License-Identifier: Apache-2.0
"""The unit files: whether systemd accepts them, how the service starts, and the rights of each user."""

import os
import pwd
import re
import stat
import sys

from harness.daemon import run
from harness.expect import contains, equal, eventually, one_sentence
from harness.runner import test

from .unit import (CONFIGURATION, SOCKET, UNITS, as_user, done, install, main_process, notify, service, show,
                   statusctl, systemctl)


@test("systemd-analyze verify reports no problem in the units")
def verified():
    for unit in UNITS:
        result = run("systemd-analyze", "verify", "--man=no", f"/usr/lib/systemd/system/{unit}")
        complaints = [line for line in (result.out + result.err).splitlines() if "statusd" in line]
        equal((result.status, complaints), (0, []), unit)


@test("systemd-analyze security rates the exposure of the daemon at most 1.2, of the executor at most 1.5, of the service for alerts at most 6.3, of that for metrics at most 0.8")
def security():
    with service():
        for unit, limit in (("statusd.service", 1.2), ("statusd-executor.service", 1.5), ("statusd-alerts.service", 6.3), ("statusd-metrics.service", 0.8)):
            for options in ((), ("--offline=true", f"--threshold={int(limit * 10 + 5)}")):
                out = done("systemd-analyze", "security", "--no-pager", *options, unit)
                exposure = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", out)[1])
                assert exposure <= limit, out


@test("the command that install suggests next works: the service runs, enabled, as the user statusd")
def next_command():
    with service(start=()):
        command = install().splitlines()[-1]
        contains(command, "Next:  ")
        done("sh", "-c", command.removeprefix("Next:  "))
        equal((show("ActiveState"), show("UnitFileState")), ("active", "enabled"))
        equal(show("UnitFileState", "statusd.socket"), "enabled")
        equal(os.stat(f"/proc/{main_process()}").st_uid, pwd.getpwnam("statusd").pw_uid, "user of the daemon")
        equal(show("StatusText"), "hello: Hello, world")


@test("with socket activation, the first client starts the daemon, on the socket of the socket unit")
def socket_activation():
    with service(start=("statusd.socket",)):
        equal(show("ActiveState"), "inactive")
        statusctl("list")
        equal(show("ActiveState"), "active")
        equal(stat.S_IMODE(os.stat(SOCKET).st_mode), 0o666, "mode of the socket")
        systemctl("stop", "statusd.service")
        equal((show("ActiveState"), os.path.exists(SOCKET)), ("inactive", True), "service and socket after a stop")
        statusctl("list")
        equal(show("ActiveState"), "active")


@test("the backlog is a user's limit of connections; a service with its own runtime directory still reaches the daemon")
def newcomers():
    with service():
        equal(show("Backlog", "statusd.socket"), "128")
        done("systemd-run", "--quiet", "--wait", "--pipe", "-p", "RuntimeDirectory=web", "/usr/bin/statusctl", "list")


@test("a restart refuses no client: the socket stays, and clients that connect during it wait")
def restart_refuses_nobody():
    with service():
        number = os.stat(SOCKET).st_ino
        for _ in range(5):
            systemctl("restart", "--no-block", "statusd.service")
            statusctl("list")
        equal(os.stat(SOCKET).st_ino, number, "inode of the socket")


@test("without the socket unit the daemon opens the same socket itself")
def without_socket_unit():
    with service(start=()):
        systemctl("mask", "--runtime", "statusd.socket")
        systemctl("start", "statusd.service")
        statusctl("post", "db", "Signed In")
        equal(as_user("/usr/bin/statusctl", "status", "db").status, 0, "status as another user")
        systemctl("restart", "statusd.service")
        statusctl("list")


@test("a user outside the group statusd may read, and changes end with 77; a member may do everything")
def groups():
    with service():
        statusctl("post", "db", "Signed In")
        group = pwd.getpwnam("statusd").pw_gid
        for arguments in (("select", "db"), ("post", "db", "x"), ("reload",)):
            one_sentence(as_user("/usr/bin/statusctl", *arguments), 77)
            result = as_user("/usr/bin/statusctl", *arguments, groups=(group,))
            equal(result.status, 0, f"{arguments} in the group: {result.err}")
        contains(as_user("/usr/bin/statusctl", "list").out, "db")


@test("programs of root and of configured users reach a notify socket; the kernel refuses others")
def notify_as_other_user():
    other = ("setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups", "--")
    with service(configuration="servers: { web: { notify: true } }\n"):
        equal(notify("web", "Serving").status, 0)
        contains(statusctl("status", "web"), "Serving")
        forged = notify("web", "Forged", other)
        assert forged.status != 0, "a forged status was sent"
        contains(forged.err, "Permission denied")
        contains(statusctl("status", "web"), "Serving")
    with service(configuration="servers: { web: { notify: { users: [12345] } } }\n"):
        equal(notify("web", "Serving 12 clients", other).status, 0)
        contains(statusctl("status", "web"), "Serving 12 clients")


@test("after a reload, a program's notifications count if its user was configured before and may now send as a group member")
def member_named_before():
    member = ("setpriv", "--reuid", "12345", "--regid", "12345", "--groups", str(pwd.getpwnam("statusd").pw_gid), "--")
    with service(configuration="servers: { web: { notify: { users: [12345] } } }\n"):
        CONFIGURATION.write_text("servers: { web: { notify: true } }\n")
        statusctl("reload")
        script = "import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'STATUS=here\\nWATCHDOG_USEC=2000000', '/run/statusd/notify/web')"
        equal(run(*member, sys.executable, "-c", script).status, 0)
        eventually(lambda: "here" in run("/usr/bin/statusctl", "status", "web").out)
        eventually(lambda: run("/usr/bin/statusctl", "status", "--json", "web").out.count('"stale":true'), "its own time holds")


@test("install --uninstall leaves no unit and no file behind, and install brings them back")
def uninstall():
    with service():
        statusctl("list")
        try:
            install("--uninstall")
            equal(run("systemctl", "cat", "statusd.service").status, 1, "systemctl cat")
            for path in ("/usr/bin/statusd", "/usr/bin/statusctl", "/usr/lib/sysusers.d/statusd.conf",
                         "/usr/lib/systemd/catalog/statusd.catalog", "/run/statusd"):
                assert not os.path.exists(path), path
        finally:
            install()
